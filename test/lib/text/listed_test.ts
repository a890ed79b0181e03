import { expect, test } from 'bun:test'
import { listed } from '../../../src/lib/text/listed.ts'

test('listed() names the first items and counts the rest', () => {
  expect(listed([], 2)).toBe('')
  expect(listed(['a', 'b'], 2)).toBe('a, b')
  expect(listed(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more')
})
