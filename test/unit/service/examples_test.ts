import { expect, test } from 'bun:test'
import { readConfig } from '../../../src/config/config.ts'
import { refuseToConnect } from '../../../src/family/contract.ts'
import type { Example } from '../../../src/http/openapi/example.ts'
import { findCsvTable, isList } from '../../../src/http/route/csv.ts'
import { toRouteEndpoint } from '../../../src/http/route/route_table.ts'
import examples from '../../../src/service/examples.json' with { type: 'json' }
import { createServiceRoutes, describeServices } from '../../../src/service/routes.ts'
import { findMismatches } from '../../support/json_schema.ts'

interface Operation {
  readonly operationId: string
  readonly security?: unknown
  readonly parameters?: readonly {
    readonly name: string
    readonly description?: string
    readonly example?: unknown
    readonly examples?: { readonly default: { readonly value: unknown } }
    readonly schema: object
  }[]
}

const config = readConfig({}, () => {
  throw new Error('Expected no file')
})
const document = JSON.parse(describeServices(config))

test('every parameter is described and has an example, which its schema takes', () => {
  for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths)) {
    for (const { security, parameters = [] } of Object.values(methods)) {
      if (security !== undefined) continue
      for (const { name, description = '', example, examples: others, schema } of parameters) {
        const where = `${path} ${name}`
        expect({ where, isSaid: description.length > 15 }).toEqual({ where, isSaid: true })
        expect({ where, mismatches: findMismatches(schema, example ?? others?.default.value, document) }).toEqual({
          where,
          mismatches: [],
        })
      }
    }
  }
})

test('no document shows the names that the specification has in place of real ones', () => {
  expect(JSON.stringify(document)).not.toMatch(/market_[bc]|amm_a|lending_[abc]/)
})

test('operations have names as a person writes them', () => {
  const ids = Object.values<Record<string, Operation>>(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z0-9]+)+$/)
  for (const id of ['listUniswapPositions', 'getUniswapPnl', 'batchAavePositions', 'listUsageLogs']) {
    expect(ids).toContain(id)
  }
})

/** Places of a row's values: `position_state.pool.id`. */
function listPaths(value: unknown, path: readonly string[] = []): string[] {
  if (value === null) return []
  if (typeof value !== 'object' || Array.isArray(value)) return [path.join('.')]
  return Object.entries(value).flatMap(([name, each]) => listPaths(each, [...path, name]))
}

test('the CSV of every list has a column for each of its figures', () => {
  const lists = createServiceRoutes(config, refuseToConnect).filter(isList)
  expect(lists.length).toBeGreaterThan(10)
  for (const route of lists) {
    const { name } = toRouteEndpoint(route)
    const answer = (examples as Readonly<Record<string, Example>>)[name]?.answer as { data: readonly object[] }
    const sheet = findCsvTable(route, { query: 'format=csv', accept: null })
    const { body } = sheet?.write(JSON.stringify(answer)) ?? { body: '' }
    const [head = ''] = body.split('\r\n')
    const columns = new Set(head.split(','))
    const places = new Set(answer.data.flatMap((row) => listPaths(row)))
    // An object with fields of any name has one column for all of it.
    const isTold = (place: string) => columns.has(place) || columns.has(place.slice(0, place.lastIndexOf('.')))
    expect({ name, missing: [...places].filter((place) => !isTold(place)) }).toEqual({ name, missing: [] })
    expect({ name, lines: body.split('\r\n').length }).toEqual({ name, lines: answer.data.length + 2 })
  }
})

// A route without one: ask for it in test/system/program/examples.ts, then `bun run examples`.
test('every operation that needs a key shows a real answer, which fits its schema', () => {
  const operations = Object.entries<Record<string, { security?: unknown; responses: Record<string, unknown> }>>(
    document.paths,
  ).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security }]) => security === undefined)
      .map(([method, { responses }]) => ({ name: `${method.toUpperCase()} ${path}`, responses })),
  )
  expect(operations.map(({ name }) => name).sort()).toEqual(Object.keys(examples).sort())
  for (const { name, responses } of operations) {
    const { schema, example } = (responses['200'] as { content: Record<string, Record<string, object>> }).content[
      'application/json'
    ] as { schema: object; example: object }
    expect({ name, example }).toEqual({ name, example: (examples as Record<string, Example>)[name]?.answer as object })
    expect({ name, mismatches: findMismatches(schema, example, document) }).toEqual({ name, mismatches: [] })
  }
})
