import { expect, test } from 'bun:test'
import { findInvalidText, isWithinJsonLimits } from '../../../../src/lib/text/json.ts'
import { cpuSeconds } from '../../../support/cpu.ts'

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
  [String.raw`["\\\"[[[",1]`, true],
  [String.raw`"a\"[[[`, true],
  ['"[[[[', true],
  ['', true],
] as const)('isWithinJsonLimits() counts levels and values of %s outside of strings', (text, fits) => {
  expect(isWithinJsonLimits(text, LIMITS)).toBe(fits)
})

test('isWithinJsonLimits() takes linear time for any text', async () => {
  const seconds = await cpuSeconds(() => {
    for (const piece of ['[', '"\\"', '"\\\\', '\\', '"",', ' ']) isWithinJsonLimits(piece.repeat(2_000_000), LIMITS)
  })
  expect(seconds).toBeLessThan(2)
})

test.each([
  ['plain', { a: ['b', { c: 'd' }], e: null, f: 1 }, undefined],
  ['an emoji', { a: '\u{1f600}' }, undefined],
  ['NUL', { a: ['b', { c: 'd\0' }] }, 'a[1][c]'],
  ['half a character', ['\ud83d'], '0'],
  ['half a character in a name', { a: { '\ude00': 1 } }, 'a[\ude00]'],
  ['text alone', '\0', ''],
])('findInvalidText() finds %s', (_name, value, place) => {
  expect(findInvalidText(value)).toBe(place)
})
