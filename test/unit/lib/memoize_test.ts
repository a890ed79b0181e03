import { expect, test } from 'bun:test'
import { memoize, memoizeText } from '../../../src/lib/memoize.ts'

test('memoize() calculates once for each object, not for equal ones', () => {
  let calls = 0
  const double = memoize(({ value }: { readonly value: number }) => {
    calls++
    return { twice: value * 2 }
  })
  const [one, other] = [{ value: 4 }, { value: 4 }]
  expect([double(one), double(one), double(other)]).toEqual([{ twice: 8 }, { twice: 8 }, { twice: 8 }])
  expect(double(one)).toBe(double(one))
  expect(calls).toBe(2)
})

test('memoizeText() calculates once while the text is among the most recently used', () => {
  const asked: string[] = []
  const measure = memoizeText((text: string): string => {
    asked.push(text)
    return `${text.length}`
  }, 6)
  expect(['abc', 'abc', 'de', 'abc', 'fg', 'abc', 'de', ''].map(measure)).toEqual([
    '3',
    '3',
    '2',
    '3',
    '2',
    '3',
    '2',
    '0',
  ])
  expect(asked).toEqual(['abc', 'de', 'fg', 'de', ''])
})

test('memoizeText() calculates each time for text longer than the cache', () => {
  let asked = 0
  const once = memoizeText(() => String(++asked), 3)
  expect([once('long'), once('long'), once('abc'), once('abc')]).toEqual(['1', '2', '3', '3'])
})
