import { beforeEach, expect, test } from 'bun:test'
import { type Cache, type Cacheable, createCache } from '../../../../src/lib/async/cache.ts'
import { createWork, noteUnwitnessed, type Work } from '../../../../src/lib/async/work.ts'
import { AbortedError } from '../../../../src/lib/error.ts'
import { createFixedClock, settle } from '../../../support/test_clock.ts'

const never = createWork(new AbortController().signal)

let nowMs = 0
const clock = createFixedClock(() => nowMs)

beforeEach(() => {
  nowMs = 1_000
})

/** A read that the test completes by hand. */
function slowRead<T>() {
  const { promise, resolve, reject } = Promise.withResolvers<Cacheable<T>>()
  const works: Work[] = []
  const read = (work: Work) => {
    works.push(work)
    return promise
  }
  return { read, resolve, reject, works }
}

function put(cache: Cache<string>, key: string, lifeMs = 1_000): Promise<string> {
  return cache.get({ key, read: async () => ({ value: `${key}!`, lifeMs }) }, never)
}

async function isKept(cache: Cache<string>, key: string): Promise<boolean> {
  return (await cache.get({ key, read: async () => ({ value: 'anew', lifeMs: 0 }) }, never)) !== 'anew'
}

test('get() reads once for concurrent callers, and reuses the value until it expires', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  const slow = slowRead<string>()
  const asked = Array.from({ length: 100 }, () => cache.get({ key: 'a', read: slow.read }, never))
  await Promise.resolve()
  slow.resolve({ value: 'first', lifeMs: 50 })
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['first']))
  expect(slow.works.length).toBe(1)
  nowMs += 49
  expect(await cache.get({ key: 'a', read: slow.read }, never)).toBe('first')
  expect(slow.works.length).toBe(1)
  nowMs += 1
  expect(await cache.get({ key: 'a', read: async () => ({ value: 'second', lifeMs: 50 }) }, never)).toBe('second')
})

test('get() does not store values with a lifetime of zero, below or NaN', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  for (const lifeMs of [0, -5, Number.NaN]) await put(cache, 'a', lifeMs)
  expect(cache.size).toBe(0)
})

test('get() rejects all waiting callers on an error and stores no error', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  const slow = slowRead<string>()
  const asked = [1, 2].map(() => cache.get({ key: 'a', read: slow.read }, never))
  slow.reject(new TypeError('No'))
  for (const outcome of await Promise.allSettled(asked)) expect(outcome.status).toBe('rejected')
  expect(await put(cache, 'a')).toBe('a!')
  const thrown = cache.get(
    {
      key: 'b',
      read: () => {
        throw new TypeError('At once')
      },
    },
    never,
  )
  expect(await thrown.catch((error: Error) => error.name)).toBe('TypeError')
})

test('get() lets one waiter leave without stopping the others', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  const slow = slowRead<string>()
  const leaving = new AbortController()
  const first = cache.get({ key: 'a', read: slow.read }, createWork(leaving.signal))
  const second = cache.get({ key: 'a', read: slow.read }, never)
  await Promise.resolve()
  leaving.abort()
  expect(await first.catch((error: Error) => error)).toBeInstanceOf(AbortedError)
  expect(slow.works[0]?.signal.aborted).toBe(false)
  slow.resolve({ value: 'value', lifeMs: 50 })
  expect(await second).toBe('value')
})

test('get() aborts the read when all callers have left, and starts a new one for the next caller', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  const slow = slowRead<string>()
  const leaving = [new AbortController(), new AbortController()]
  const asked = leaving.map(({ signal }) =>
    cache.get({ key: 'a', read: slow.read }, createWork(signal)).catch((error: Error) => error.name),
  )
  await Promise.resolve()
  for (const each of leaving) each.abort()
  expect(await Promise.all(asked)).toEqual(['AbortedError', 'AbortedError'])
  expect(slow.works[0]?.signal.aborted).toBe(true)
  expect(await put(cache, 'a')).toBe('a!')
  slow.resolve({ value: 'late', lifeMs: 1_000 })
  await settle()
  expect(await put(cache, 'a')).toBe('a!')
})

test('get() rejects an aborted caller without reading', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  let reads = 0
  const read = async () => ({ value: String(reads++), lifeMs: 1 })
  const error = await cache.get({ key: 'a', read }, createWork(AbortSignal.abort())).catch((cause: Error) => cause)
  expect(error).toBeInstanceOf(AbortedError)
  expect(reads).toBe(0)
})

test('get() joins no read older than joinMs, and stores the result of the newer one', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  const [older, newer] = [slowRead<string>(), slowRead<string>()]
  const first = cache.get({ key: 'a', read: older.read, joinMs: 100 }, never)
  nowMs += 100
  const second = cache.get({ key: 'a', read: newer.read, joinMs: 100 }, never)
  newer.resolve({ value: 'newer', lifeMs: 1_000 })
  expect(await second).toBe('newer')
  older.resolve({ value: 'older', lifeMs: 1_000 })
  expect(await first).toBe('older')
  expect(await put(cache, 'a')).toBe('newer')
})

test('a cache stores at most entriesMax values and evicts the least recently used first', async () => {
  const cache = createCache<string>({ clock, entriesMax: 2 })
  await put(cache, 'a')
  await put(cache, 'b')
  await put(cache, 'a')
  await put(cache, 'c')
  expect(cache.size).toBe(2)
  expect([await isKept(cache, 'a'), await isKept(cache, 'c'), await isKept(cache, 'b')]).toEqual([true, true, false])
})

test('a cache stores at most bytesMax bytes, and no larger single value', async () => {
  const cache = createCache<string>({ clock, entriesMax: 100, bytesMax: 10, getSize: (value) => value.length })
  await put(cache, 'aaa')
  await put(cache, 'bbb')
  expect(cache.size).toBe(2)
  await put(cache, 'cc')
  expect([await isKept(cache, 'aaa'), await isKept(cache, 'bbb'), await isKept(cache, 'cc')]).toEqual([
    false,
    true,
    true,
  ])
  await put(cache, 'd'.repeat(10))
  expect(cache.size).toBe(2)
  // Expired bytes are released.
  nowMs += 1_000
  await put(cache, 'bbb')
  await put(cache, 'eeeee')
  expect(await isKept(cache, 'bbb')).toBe(true)
})

test('get() reads on behalf of all concurrent requesters', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  const slow = slowRead<string>()
  const ask = (asker: string) => {
    const work = createWork(new AbortController().signal, { requesters: new Set([asker]) })
    return cache.get({ key: 'a', read: slow.read }, work)
  }
  const first = ask('first')
  await Promise.resolve()
  const [work = never] = slow.works
  expect([...work.requesters]).toEqual(['first'])
  const second = ask('second')
  expect([...work.requesters]).toEqual(['first', 'second'])
  slow.resolve({ value: 'x', lifeMs: 0 })
  await Promise.all([first, second])
})

test('get() tells every caller of a value whose word it rests on: who waits, who joins, and who finds it later', async () => {
  const cache = createCache<string>({ clock, entriesMax: 10 })
  const slow = Promise.withResolvers<void>()
  const read = async (work: Work) => {
    await slow.promise
    noteUnwitnessed(work, [10])
    return { value: 'a', lifeMs: 1_000 }
  }
  const ask = async (key: string) => {
    const work = createWork(new AbortController().signal)
    await cache.get({ key, read }, work)
    return [...work.unwitnessed]
  }
  const early = [ask('a'), ask('a')]
  await settle()
  slow.resolve()
  expect(await Promise.all([...early, ask('a')])).toEqual([[10], [10], [10]])
  expect(await ask('a')).toEqual([10])
  const proven = createWork(new AbortController().signal)
  await cache.get({ key: 'b', read: async () => ({ value: 'b', lifeMs: 1_000 }) }, proven)
  expect([...proven.unwitnessed]).toEqual([])
})
