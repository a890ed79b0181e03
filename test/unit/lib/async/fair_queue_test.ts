import { expect, test } from 'bun:test'
import { createFairQueue } from '../../../../src/lib/async/fair_queue.ts'

test('createFairQueue() serves requesters in turn, and the items of each in their order', () => {
  const queue = createFairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) queue.add(item.charAt(0), item)
  queue.delete('a', 'a2')
  queue.delete('b', 'a1')
  expect(queue.size).toBe(6)
  expect([queue.countItems('a'), queue.countItems('d')]).toEqual([3, 0])
  expect([queue.next(), queue.next()]).toEqual(['a1', 'b1'])
  queue.add('b', 'b2')
  const rest = Array.from({ length: 6 }, () => queue.next())
  expect(rest).toEqual(['c1', 'a3', 'b2', 'c2', 'a4', undefined])
  expect(queue.size).toBe(0)
})
