import { expect, test } from 'bun:test'
import type { Example } from '../../../src/http/openapi/example.ts'
import kept from '../../../src/service/examples.json' with { type: 'json' }
import { askExamples, type Examples } from './examples.ts'

/** Places of all values and their kinds: `data[].id string`. */
function listShape(value: unknown, place = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => listShape(each, `${place}[]`))
  if (typeof value !== 'object' || value === null) return [`${place} ${value === null ? 'null' : typeof value}`]
  return Object.entries(value).flatMap(([name, each]) => listShape(each, `${place}.${name}`))
}

/** Whether a delivery was tried before it is asked for depends on the machine. */
const BY_CHANCE = '.data[].tries[].'

const listShapes = (value: unknown) =>
  [...new Set(listShape(value))].filter((each) => !each.startsWith(BY_CHANCE)).sort()

/** A request without the ids that its world gave at random. */
function withoutIds(asked: object): object {
  return JSON.parse(JSON.stringify(asked).replace(/\b(trg|whk)_[\w-]+/g, '$1_'))
}

test('the answers that the document shows are those that the service gives', async () => {
  const fresh = await askExamples()
  expect(Object.keys(fresh)).toEqual(Object.keys(kept))
  for (const [operation, { answer, ...asked }] of Object.entries(fresh)) {
    const { answer: before, ...askedBefore }: Partial<Example> = (kept as Examples)[operation] ?? {}
    // Addresses of the demo never change, so that the request of the document works there too.
    expect<object>({ operation, asked: withoutIds(asked) }).toEqual({ operation, asked: withoutIds(askedBefore) })
    expect({ operation, shape: listShapes(answer) }).toEqual({ operation, shape: listShapes(before) })
  }
}, 300_000)
