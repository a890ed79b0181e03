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

test('values that are over go as others come, wherever one with a longer life stands', () => {
  let now = 0
  const recent = createLru<number>({ entriesMax: 10_000, isOver: (untilMs) => untilMs <= now })
  for (let index = 0; index < 1_000; index++) {
    // Every hundredth lives for ever.
    recent.set(`old ${index}`, index % 100 === 0 ? Number.POSITIVE_INFINITY : 1)
  }
  expect(recent.size).toBe(1_000)
  now = 1
  for (let index = 0; index < 1_000; index++) recent.set(`new ${index}`, 9)
  expect(recent.size).toBe(10 + 1_000)
  expect([recent.get('old 1'), recent.get('old 900'), recent.get('new 0')]).toEqual([undefined, Infinity, 9])
  now = 9
  for (let index = 0; index < 1_010; index++) recent.set('same', 10)
  expect(recent.size).toBe(10 + 1)
})

test('of short lives, a steady stream keeps those that live and few that are over', () => {
  let now = 0
  const recent = createLru<number>({ entriesMax: 10_000, isOver: (untilMs) => untilMs <= now })
  const hot = Array.from({ length: 10 }, (_, index) => `for ever ${index}`)
  for (const key of ['cold', ...hot]) recent.set(key, Number.POSITIVE_INFINITY)
  let most = 0
  for (; now < 5_000; now++) {
    for (const key of hot) recent.get(key)
    recent.set(`${now}`, now + 20)
    most = Math.max(most, recent.size)
  }
  expect(most).toBeLessThanOrEqual(2 * (11 + 20))
})
