import { expect, test } from 'bun:test'
import { type BatcherOptions, createBatcher } from '../../../../src/lib/async/batch.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createTestClock } from '../../../support/test_clock.ts'

interface Flight {
  readonly items: readonly number[]
  readonly land: (error?: Error) => void
}

/** A batcher whose flushes end when the test says so. */
function scene(options: Partial<BatcherOptions<number, number>> = {}) {
  const clock = createTestClock()
  const flights: Flight[] = []
  const batcher = createBatcher<number, number>({
    flush: (items) =>
      new Promise((resolve, reject) => {
        flights.push({
          items,
          land: (error) => (error === undefined ? resolve(items.map((item) => item * 10)) : reject(error)),
        })
      }),
    clock,
    itemsMax: 100,
    queueMax: 1_000,
    flightsMax: 1,
    ...options,
  })
  return { batcher, flights, clock }
}

/** Long enough for a flush to land and the next one to start. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve))
}

test('items of one event-loop turn share a flush, and each gets its own result', async () => {
  const { batcher, flights } = scene()
  const results = Promise.all([1, 2, 3].map((item) => batcher.submit(item)))
  await turn()
  expect(flights.map((flight) => flight.items)).toEqual([[1, 2, 3]])
  flights[0]?.land()
  expect(await results).toEqual([10, 20, 30])
})

test('a flush waits while each event-loop turn brings more items, for at most four turns', async () => {
  const { batcher, flights } = scene()
  const all: Promise<number>[] = []
  for (let item = 1; item <= 6; item++) {
    all.push(batcher.submit(item))
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(flights.map((flight) => flight.items)).toEqual([[1, 2, 3, 4]])
  flights[0]?.land()
  await turn()
  expect(flights.map((flight) => flight.items)).toEqual([
    [1, 2, 3, 4],
    [5, 6],
  ])
  flights[1]?.land()
  expect(await Promise.all(all)).toEqual([10, 20, 30, 40, 50, 60])
})

test('a flush that is large enough does not wait for another turn', async () => {
  const { batcher, flights } = scene()
  const all = Array.from({ length: 64 }, (_, item) => batcher.submit(item))
  await new Promise((resolve) => setImmediate(resolve))
  all.push(batcher.submit(64))
  await turn()
  expect(flights.map((flight) => flight.items.length)).toEqual([64])
  flights[0]?.land()
  await turn()
  flights[1]?.land()
  expect(await Promise.all(all)).toHaveLength(65)
})

test('items that arrive during a flush are in the next one, in order of arrival', async () => {
  const { batcher, flights } = scene()
  const first = batcher.submit(1)
  await turn()
  const later = [2, 3, 4].map((item) => batcher.submit(item))
  await turn()
  expect(flights).toHaveLength(1)
  flights[0]?.land()
  expect(await first).toBe(10)
  await turn()
  expect(flights.map((flight) => flight.items)).toEqual([[1], [2, 3, 4]])
  flights[1]?.land()
  expect(await Promise.all(later)).toEqual([20, 30, 40])
})

test('a flush takes no more than itemsMax', async () => {
  const { batcher, flights } = scene({ itemsMax: 2 })
  const all = Promise.all([1, 2, 3].map((item) => batcher.submit(item)))
  await turn()
  flights[0]?.land()
  await turn()
  expect(flights.map((flight) => flight.items)).toEqual([[1, 2], [3]])
  flights[1]?.land()
  expect(await all).toEqual([10, 20, 30])
})

test('another flush starts while an old one is running, up to flightsMax', async () => {
  const { batcher, flights, clock } = scene({ flightsMax: 2, flightAgeMs: 5 })
  const all: Promise<number>[] = [batcher.submit(1)]
  await turn()
  all.push(batcher.submit(2))
  await turn()
  await clock.advance(4)
  expect(flights).toHaveLength(1)
  await clock.advance(1)
  expect(flights.map((flight) => flight.items)).toEqual([[1], [2]])
  all.push(batcher.submit(3))
  await clock.advance(1_000)
  expect(flights).toHaveLength(2)
  for (const flight of flights) flight.land()
  await turn()
  flights[2]?.land()
  expect(await Promise.all(all)).toEqual([10, 20, 30])
})

test('a full queue rejects at once', async () => {
  const { batcher, flights } = scene({ queueMax: 2 })
  const first = batcher.submit(1)
  const second = batcher.submit(2)
  expect(batcher.submit(3)).rejects.toBeInstanceOf(UnavailableError)
  await turn()
  flights[0]?.land()
  expect(await Promise.all([first, second])).toEqual([10, 20])
})

test('a failed flush fails its own items only, and idle() waits for all', async () => {
  const { batcher, flights } = scene()
  const first = batcher.submit(1)
  first.catch(() => {})
  await turn()
  const second = batcher.submit(2)
  let idle = false
  const waiting = batcher.idle().then(() => {
    idle = true
  })
  flights[0]?.land(new Error('broken'))
  expect(first).rejects.toThrow('broken')
  await turn()
  expect(idle).toBe(false)
  flights[1]?.land()
  expect(await second).toBe(20)
  await waiting
  expect(batcher.size).toBe(0)
})

test('queued items are flushed before the results of the previous flush are delivered', async () => {
  const { batcher, flights } = scene()
  const seen: number[] = []
  const first = batcher.submit(1).then(() => seen.push(flights.length))
  await turn()
  const second = batcher.submit(2)
  flights[0]?.land()
  await first
  expect(seen).toEqual([2])
  flights[1]?.land()
  expect(await second).toBe(20)
})

test.each([
  ['a hole', Object.assign(new Array<number>(2), { 0: 1 })],
  ['too many results', [1, 2, 3]],
])('a flush that answers %s fails its items instead of leaving them waiting', async (_, answer) => {
  const batcher = createBatcher<number, number>({
    flush: async () => answer,
    clock: createTestClock(),
    itemsMax: 10,
    queueMax: 10,
  })
  const results = await Promise.allSettled([batcher.submit(1), batcher.submit(2)])
  expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected'])
  await batcher.idle()
})

test('a flush that returns too few results rejects its items', async () => {
  const batcher = createBatcher<number, number>({
    flush: async () => [1],
    clock: createTestClock(),
    itemsMax: 10,
    queueMax: 10,
  })
  const results = await Promise.allSettled([batcher.submit(1), batcher.submit(2)])
  expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected'])
})
