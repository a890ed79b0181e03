import { expect, test } from 'bun:test'
import * as v from 'valibot'
import { readConfig } from '../../../src/config/config.ts'
import { address, defineFamily } from '../../../src/family/contract.ts'
import { FAMILIES, familyAliases } from '../../../src/family/mod.ts'
import { openapiDocument } from '../../../src/http/openapi/document.ts'
import { defineRoute } from '../../../src/http/route/route.ts'
import { callRoute } from '../../support/call_route.ts'

const CELLAR = '0x5D39E06b825C1F2B80bf2756a73e28eFAA128ba0'

/** A protocol that nothing else knows of: its folder would hold this, and `mod.ts` one line more. */
const CELLARS = defineFamily({
  name: 'cellars',
  aliases: ['cellar_a'],
  network: 'evm',
  entries: { cellars: v.optional(v.array(v.strictObject({ cellar: address }))) },
  builtIn: new Map([[1, [{ cellar: CELLAR }]]]),
  getSetting: ({ cellars }) => cellars,
  findMistakes: (cellars, chainId) => (cellars.length === 0 ? [`chain ${chainId} has an empty list of cellars`] : []),
  routes: ({ settings, connect }) => [
    defineRoute({
      method: 'GET',
      path: '/v1/cellars/cellars',
      summary: 'Lists cellars.',
      input: v.object({}),
      output: v.object({ data: v.array(v.string()) }),
      charge: { credits: 1 },
      read: async () => [...connect().clients.keys()].flatMap((id) => settings.get(id) ?? []),
      present: (cellars) => ({ data: cellars.map(({ cellar }) => cellar) }),
    }),
  ],
})

const families = [...FAMILIES, CELLARS]

function createConfig(cellars: unknown) {
  const chains = [{ id: 31_337, name: 'Devnet', rpcUrls: ['http://127.0.0.1:1'], cellars }]
  return readConfig({ CHAINS_FILE: 'f', CHAINS: '1,31337' }, () => JSON.stringify({ chains }), families)
}

test('a further protocol is a folder and a line: configuration, aliases, OpenAPI and routes find it', async () => {
  const config = createConfig([{ cellar: CELLAR.toLowerCase() }])
  const [family] = config.families.filter(({ name }) => name === 'cellars')
  const clients = new Map([[31_337, undefined as never]])
  const services = { clients, solana: undefined } as never
  const routes = family?.routes({ chainIds: [1, 31_337], servesSolana: false, connect: () => services }) ?? []
  expect(familyAliases(config.families).get('cellar_a')).toBe('cellars')
  expect(openapiDocument({ routes })).toContain('"/v1/cellars/cellars"')
  const [only] = routes
  if (only === undefined) throw new Error('Expected a route')
  expect((await callRoute(only, {})).reply.data).toEqual([CELLAR])
})

test('a mistake in its rows is a mistake of the configuration, named by its path', () => {
  expect(() => createConfig([])).toThrow('CHAINS_FILE: chain 31337 has an empty list of cellars')
  expect(() => createConfig([{ cellar: '0x1' }])).toThrow(
    'CHAINS_FILE: chains.0.cellars.0.cellar: expected an EVM address',
  )
  expect(() => createConfig([{ cellar: CELLAR, other: 1 }])).toThrow(
    'chains.0.cellars.0.other: there is no such setting',
  )
})
