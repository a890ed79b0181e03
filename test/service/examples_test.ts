import { expect, test } from 'bun:test'
import { readConfig } from '../../src/service/config/config.ts'
import examples from '../../src/service/examples.json' with { type: 'json' }
import { describeServices } from '../../src/service/routes.ts'
import { mismatches } from '../support/json_schema.ts'

const document = JSON.parse(
  describeServices(
    readConfig({}, () => {
      throw new Error('Expected no file')
    }),
  ),
)

// A route without one: ask for it in test/e2e/examples.ts, then `bun run examples`.
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
    expect({ name, example }).toEqual({ name, example: (examples as Record<string, object>)[name] as object })
    expect({ name, mismatches: mismatches(schema, example, document) }).toEqual({ name, mismatches: [] })
  }
})
