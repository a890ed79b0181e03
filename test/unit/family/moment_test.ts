import { expect, test } from 'bun:test'
import { readConfig } from '../../../src/config/config.ts'
import { refuseToConnect } from '../../../src/family/contract.ts'
import { FAMILIES } from '../../../src/family/mod.ts'
import { readParameters } from '../../../src/http/request/parameters.ts'
import type { Route } from '../../../src/http/route/route.ts'
import { toBracedTemplate } from '../../../src/http/route/route_table.ts'
import { CodedError } from '../../../src/lib/error.ts'
import { createServiceRoutes, describeServices } from '../../../src/service/routes.ts'

const config = readConfig({}, () => '')
const routes = createServiceRoutes(config, refuseToConnect)
const ofSolana = new Set(FAMILIES.filter(({ network }) => network !== 'evm').map(({ name }) => name))

/** What a route says to a query alone, before anything else is looked at. */
async function refusal(route: Route, query: string): Promise<string> {
  try {
    const accepted = await route.accept({
      parameters: () => readParameters(route.input, { params: {}, query }),
      body: async () => ({ value: () => ({}) }),
    })
    accepted.call()
    return 'accepted'
  } catch (error) {
    return error instanceof CodedError ? `${error.code}: ${error.message}` : String(error)
  }
}

test('every route of Solana refuses a moment, and says why', async () => {
  const solana = routes.filter(({ path }) => ofSolana.has(path.split('/')[3] ?? ''))
  expect(solana.length).toBeGreaterThan(0)
  for (const route of solana) {
    for (const moment of ['at_block=5', 'at_time=2026-01-31']) {
      expect(await refusal(route, moment)).toMatch(
        /^INVALID_PARAMETER: Cannot read parameter "at_\w+": .* because endpoints of Solana keep no past state$/,
      )
    }
    const operations = JSON.parse(describeServices(config)).paths[toBracedTemplate(route.path)]
    const described = operations[route.method.toLowerCase()].parameters
    expect(described.map(({ name }: { name: string }) => name)).not.toContain('at_time')
  }
})

test('every route refuses a parameter that it does not have', async () => {
  for (const route of routes) {
    expect(await refusal(route, 'chainid=137')).toMatch(/^INVALID_PARAMETER: Unknown parameter "chainid": /)
  }
})
