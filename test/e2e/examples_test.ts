import { expect, test } from 'bun:test'
import type { Example } from '../../src/http/openapi/example.ts'
import kept from '../../src/service/examples.json' with { type: 'json' }
import { askExamples, type Examples } from './examples.ts'

/** Places of all values and their kinds: `data[].id string`. */
function shapeOf(value: unknown, place = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => shapeOf(each, `${place}[]`))
  if (typeof value !== 'object' || value === null) return [`${place} ${value === null ? 'null' : typeof value}`]
  return Object.entries(value).flatMap(([name, each]) => shapeOf(each, `${place}.${name}`))
}

test('the answers that the document shows are those that the service gives', async () => {
  const fresh = await askExamples()
  expect(Object.keys(fresh)).toEqual(Object.keys(kept))
  for (const [operation, { answer, ...asked }] of Object.entries(fresh)) {
    const { answer: before, ...askedBefore }: Partial<Example> = (kept as Examples)[operation] ?? {}
    // Addresses of the demo never change, so that the request of the document works there too.
    expect<object>({ operation, asked }).toEqual({ operation, asked: askedBefore })
    expect({ operation, shape: [...new Set(shapeOf(answer))].sort() }).toEqual({
      operation,
      shape: [...new Set(shapeOf(before))].sort(),
    })
  }
}, 300_000)
