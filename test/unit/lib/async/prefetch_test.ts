import { expect, test } from 'bun:test'
import { createPrefetcher } from '../../../../src/lib/async/prefetch.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'

const never = createWork(new AbortController().signal)

test('a read is started once and taken once', async () => {
  const ahead = createPrefetcher<number>({ readsMax: 2 })
  let reads = 0
  const read = async () => ++reads
  expect(await ahead.take('a')).toBeUndefined()
  ahead.start('a', read, never)
  ahead.start('a', read, never)
  expect(await ahead.take('a')).toBe(1)
  expect(await ahead.take('a')).toBeUndefined()
  expect(reads).toBe(1)
})

test('no read starts beyond readsMax until one is taken', async () => {
  const ahead = createPrefetcher<string>({ readsMax: 2 })
  for (const key of ['a', 'b', 'c']) ahead.start(key, async () => key, never)
  expect(await ahead.take('c')).toBeUndefined()
  await ahead.take('a')
  ahead.start('c', async () => 'c', never)
  expect(await ahead.take('c')).toBe('c')
})

test('a failed read is undefined, and an aborted read is dropped and receives the signal', async () => {
  const ahead = createPrefetcher<string>({ readsMax: 2 })
  ahead.start('broken', () => Promise.reject(new Error('It broke')), never)
  expect(await ahead.take('broken')).toBeUndefined()
  const left = new AbortController()
  const seen: AbortSignal[] = []
  const read = (work: Work) => {
    seen.push(work.signal)
    return Promise.resolve('late')
  }
  ahead.start('left', read, createWork(left.signal))
  left.abort()
  expect(await ahead.take('left')).toBeUndefined()
  ahead.start('left', read, createWork(left.signal))
  expect(await ahead.take('left')).toBeUndefined()
  expect(seen.map(({ aborted }) => aborted)).toEqual([true])
})
