import { expect, test } from 'bun:test'
import { findMismatches } from '../../support/json_schema.ts'

const DOCUMENT = { components: { Id: { type: 'string', pattern: '^[0-9]+$' } } }
const SCHEMA = {
  type: 'object',
  properties: {
    id: { $ref: '#/components/Id' },
    counts: { type: 'array', items: { type: 'integer', minimum: 0 }, maxItems: 2 },
    next: { type: ['string', 'null'] },
    code: { anyOf: [{ const: 'MAX' }, { type: 'number' }] },
  },
  required: ['id'],
  additionalProperties: false,
}

test('findMismatches() finds nothing in valid values', () => {
  expect(findMismatches(SCHEMA, { id: '7', counts: [0, 1], next: null, code: 'MAX' }, DOCUMENT)).toEqual([])
})

test.each<[unknown, string]>([
  [[], 'body: expected type object'],
  [{}, 'body: expected field id'],
  [{ id: 'x' }, '.id: expected pattern ^[0-9]+$'],
  [{ id: '7', counts: [1, -1] }, '.counts[1]: expected at least 0'],
  [{ id: '7', counts: [1, 1.5] }, '.counts[1]: expected type integer'],
  [{ id: '7', counts: [1, 1, 1] }, '.counts: expected ≤ 2 items'],
  [{ id: '7', next: 1 }, '.next: expected type string,null'],
  [{ id: '7', code: 'MIN' }, '.code: expected one of several schemas'],
  [{ id: '7', more: 1 }, 'body: unknown field more'],
])('mismatches() names what is wrong with %j', (value, expected) => {
  expect(findMismatches(SCHEMA, value, DOCUMENT)).toEqual([expected])
})

test('findMismatches() refuses an unsupported keyword', () => {
  expect(() => findMismatches({ uniqueItems: true }, [], DOCUMENT)).toThrow('uniqueItems')
})
