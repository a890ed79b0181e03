import { expect, test } from 'bun:test'
import { createLru } from '../../../src/lib/lru.ts'

test('createLru() evicts the least recently used value first', () => {
  const recent = createLru<number>({ entriesMax: 2 })
  recent.set('a', 1)
  recent.set('b', 2)
  expect(recent.get('a')).toBe(1)
  recent.set('c', 3)
  expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual([1, undefined, 3])
  expect(recent.size).toBe(2)
})

test('createLru() evicts values until the total weight is within its limit', () => {
  const recent = createLru<number>({ entriesMax: 10, weightMax: 10, getWeight: (value) => value })
  for (const [name, weight] of [
    ['a', 3],
    ['b', 4],
    ['c', 3],
    ['d', 7],
  ] as const)
    recent.set(name, weight)
  expect(['a', 'b', 'c', 'd'].map((name) => recent.get(name))).toEqual([undefined, undefined, 3, 7])
})

test('a value that is too heavy evicts only the value of its own key', () => {
  const recent = createLru<string>({
    entriesMax: 10,
    weightMax: 3,
    getWeight: (value, name) => value.length + name.length,
  })
  recent.set('a', '1')
  recent.set('b', '')
  recent.set('b', '123')
  expect([recent.get('a'), recent.get('b'), recent.size]).toEqual(['1', undefined, 1])
})

test('replaced and deleted values do not count towards the weight', () => {
  const recent = createLru<number>({ entriesMax: 10, weightMax: 10, getWeight: (value) => value })
  recent.set('a', 9)
  recent.set('a', 5)
  recent.set('b', 5)
  recent.delete('b')
  recent.delete('absent')
  recent.set('c', 5)
  expect(['a', 'b', 'c'].map((name) => recent.get(name))).toEqual([5, undefined, 5])
})

test('values that are over go with the next one, but for those behind one that lives', () => {
  let now = 0
  const recent = createLru<number>({ entriesMax: 10, isOver: (untilMs) => untilMs <= now })
  for (const [name, untilMs] of [
    ['a', 1],
    ['b', 2],
    ['c', 9],
    ['d', 2],
  ] as const)
    recent.set(name, untilMs)
  expect(recent.size).toBe(4)
  now = 5
  recent.set('e', 7)
  expect([recent.size, recent.get('a'), recent.get('b'), recent.get('c'), recent.get('e')]).toEqual([
    3,
    undefined,
    undefined,
    9,
    7,
  ])
  now = 9
  recent.set('f', 10)
  expect([recent.size, recent.get('f')]).toEqual([1, 10])
})
