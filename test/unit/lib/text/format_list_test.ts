import { expect, test } from 'bun:test'
import { formatList } from '../../../../src/lib/text/text_format.ts'

test('formatList() names the first items and counts the omitted ones', () => {
  expect(formatList([], 2)).toBe('')
  expect(formatList(['a', 'b'], 2)).toBe('a, b')
  expect(formatList(['a', 'b', 'c', 'd'], 2)).toBe('a, b and 2 more')
})
