import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { isBytes } from '../../../../src/chain/rpc/value.ts'

const digits = fc.array(fc.constantFrom(...'0123456789abcdefABCDEF')).map((all) => `0x${all.join('')}`)
// Some of their low bytes are digits.
const others = fc.constantFrom('g', '/', ':', '@', '`', 'x', ' ', '\n', '\0', 'ı', 'İ', 'š', '０', '\ud800', '😀')

test('isBytes() is true for 0x and an even number of digits in any case', () => {
  fc.assert(fc.property(digits, (text) => expect(isBytes(text)).toBe(/^0x(?:[0-9a-f]{2})*$/i.test(text))))
})

test('isBytes() is false if any character is no digit', () => {
  const spoiled = fc.tuple(digits, others, digits).map(([before, other, after]) => before + other + after.slice(2))
  fc.assert(fc.property(spoiled, (text) => expect(isBytes(text)).toBe(false)))
})

test('isBytes() is false without 0x and for other types', () => {
  expect(['', 'ab', '0', 'x0ab', 16, null, undefined, {}, ['0x']].filter(isBytes)).toEqual([])
})

test('isBytes() looks at every digit of long texts', () => {
  const text = `0x${'ab'.repeat(100_000)}`
  expect(isBytes(text)).toBe(true)
  for (const at of [2, 65_537, 65_538, 131_073, 131_074, text.length - 1]) {
    expect(isBytes(`${text.slice(0, at)}g${text.slice(at + 1)}`)).toBe(false)
  }
  expect(isBytes(`${text}a`)).toBe(false)
})
