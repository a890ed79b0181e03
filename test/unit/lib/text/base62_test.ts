import { expect, test } from 'bun:test'
import { encodeBase62, randomBase62 } from '../../../../src/lib/text/base62.ts'

test('encodeBase62() pads with zeros and throws if the number does not fit', () => {
  expect(encodeBase62(0, 6)).toBe('000000')
  expect(encodeBase62(61, 2)).toBe('0z')
  expect(encodeBase62(62, 2)).toBe('10')
  expect(encodeBase62(0xffffffff, 6)).toBe('4gfFC3')
  expect(() => encodeBase62(62 ** 2, 2)).toThrow(RangeError)
})

test('randomBase62() uses every digit about equally often', () => {
  const counts = new Map<string, number>()
  const text = randomBase62(62_000)
  for (const digit of text) counts.set(digit, (counts.get(digit) ?? 0) + 1)
  expect(text).toHaveLength(62_000)
  expect(counts.size).toBe(62)
  // 1,000 each, six standard deviations.
  for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(190)
})
