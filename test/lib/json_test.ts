import { expect, test } from 'bun:test'
import { fitsJson, stringEnd } from '../../src/lib/json.ts'

const LIMITS = { levelsMax: 2, valuesMax: 4 }

test.each([
  ['[[]]', true],
  ['[[[]]]', false],
  ['{"a":{"b":[]}}', false],
  ['[[],[],[],[]]', true],
  ['[[],[],[],[],[]]', false],
  ['{"a":1,"b":2,"c":3,"d":4}', true],
  ['{"a":1,"b":2,"c":3,"d":4,"e":5}', false],
  ['"[[[,,,,,"', true],
  [String.raw`"\"[[[,,,,,"`, true],
  [String.raw`["\\",[[]]]`, false],
  ['"[[[[', true],
  ['', true],
] as const)('fitsJson() counts levels and values of %s outside of texts', (text, fits) => {
  expect(fitsJson(text, LIMITS)).toBe(fits)
})

test.each([
  ['"a"', 2],
  [String.raw`"\""`, 3],
  [String.raw`"\\"`, 3],
  [String.raw`"\\\"" "`, 5],
  ['"a', -1],
  [String.raw`"a\"`, -1],
] as const)('stringEnd() finds the closing quote of %s', (text, end) => {
  expect(stringEnd(text, 0)).toBe(end)
})

test('fitsJson() takes a time that grows with the length alone, whatever the text is made of', () => {
  const started = performance.now()
  for (const piece of ['[', '"\\"', '"\\\\', '\\', '"",', ' ']) fitsJson(piece.repeat(2_000_000), LIMITS)
  expect(performance.now() - started).toBeLessThan(2_000)
})
