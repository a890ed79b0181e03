import { expect, test } from 'bun:test'
import type { Priority } from '../../../../src/chain/rpc/client.ts'
import { createRequestLimiter } from '../../../../src/chain/rpc/limiter.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import { AbortedError } from '../../../../src/lib/error.ts'
import { settle } from '../../../support/test_clock.ts'

const never = createWork(new AbortController().signal)

test('run() limits concurrent tasks, keeps their order, and frees the slot of a failed one', async () => {
  const slots = createRequestLimiter({ runningMax: 2, runningMin: 1, waitingMax: 10 })
  const order: number[] = []
  let running = 0
  let most = 0
  const tasks = [0, 1, 2, 3, 4].map((index) =>
    slots.run(async () => {
      most = Math.max(most, ++running)
      await settle()
      order.push(index)
      running--
      if (index === 1) throw new TypeError('No')
    }, never),
  )
  const outcomes = await Promise.allSettled(tasks)
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  expect(order).toEqual([0, 1, 2, 3, 4])
  expect(most).toBe(2)
})

test('run() throws if the queue is full, and loses no slot if a waiting caller leaves', async () => {
  const slots = createRequestLimiter({ runningMax: 1, runningMin: 1, waitingMax: 2 })
  const gate = Promise.withResolvers<void>()
  const first = slots.run(() => gate.promise, never)
  const leaving = new AbortController()
  const second = slots.run(async () => 'second', createWork(leaving.signal)).catch((error: Error) => error)
  const third = slots.run(async () => 'third', never)
  expect(await slots.run(async () => 'fourth', never).catch((error: Error) => error)).toMatchObject({
    fault: 'queue_full',
  })
  leaving.abort()
  expect(await second).toBeInstanceOf(AbortedError)
  gate.resolve()
  await first
  expect(await third).toBe('third')
  expect(await slots.run(async () => 'fifth', never)).toBe('fifth')
})

test('run() loses no slot if its owner leaves around the moment of getting it', async () => {
  for (let ticks = 0; ticks < 16; ticks++) {
    const slots = createRequestLimiter({ runningMax: 1, runningMin: 1, waitingMax: 2 })
    const gate = Promise.withResolvers<void>()
    const leaving = new AbortController()
    const first = slots.run(() => gate.promise, never)
    const second = slots.run(async () => 'second', createWork(leaving.signal)).catch((error: Error) => error.name)
    gate.resolve()
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
    leaving.abort()
    await first
    expect(['second', 'AbortedError']).toContain(await second)
    const third = slots.run(async () => 'third', never)
    expect(await Promise.race([third, settle()])).toBe('third')
  }
})

/** Work for these requesters. */
function asking(...askers: string[]): Work {
  return createWork(new AbortController().signal, { requesters: new Set(askers) })
}

/** Starts `count` tasks that run until they are released, and counts those that run. */
function hold(
  slots: ReturnType<typeof createRequestLimiter>,
  { count, priority, work = never }: { count: number; priority?: Priority; work?: Work },
) {
  const gates: (() => void)[] = []
  const tasks = Array.from({ length: count }, () =>
    slots.run(() => new Promise<void>((resolve) => gates.push(resolve)), work, priority),
  )
  return { running: () => gates.length, endOne: () => gates.shift()?.(), tasks }
}

test('background work has a quarter of the slots, and never one that a caller waits for', async () => {
  const slots = createRequestLimiter({ runningMax: 8, runningMin: 1, waitingMax: 100 })
  const background = hold(slots, { count: 10, priority: 'background' })
  await settle()
  expect(background.running()).toBe(2)
  const callers = hold(slots, { count: 9 })
  await settle()
  expect(callers.running()).toBe(8)
  background.endOne()
  background.endOne()
  await settle()
  expect([background.running(), callers.running()]).toEqual([0, 8])
  callers.endOne()
  await settle()
  expect([background.running(), callers.running()]).toEqual([0, 8])
  callers.endOne()
  await settle()
  expect([background.running(), callers.running()]).toEqual([1, 7])
})

test('slowDown() halves the slots once per burst, and successes raise them again', async () => {
  const slots = createRequestLimiter({ runningMax: 8, runningMin: 2, waitingMax: 100 })
  const most = async () => {
    let running = 0
    let seen = 0
    const task = async () => {
      seen = Math.max(seen, ++running)
      await settle()
      running--
    }
    await Promise.all(Array.from({ length: 16 }, () => slots.run(task, never)))
    return seen
  }
  expect(await most()).toBe(8)
  for (let refused = 0; refused < 8; refused++) slots.slowDown()
  expect(await most()).toBeLessThanOrEqual(7)
  for (let burst = 0; burst < 10; burst++) await most()
  expect(await most()).toBe(8)
  for (let burst = 0; burst < 5; burst++) {
    slots.slowDown()
    await Promise.allSettled(Array.from({ length: 8 }, () => slots.run(() => Promise.reject(new Error('busy')), never)))
  }
  const callers = hold(slots, { count: 8 })
  await settle()
  expect(callers.running()).toBe(2)
})

test('however many greedy requesters there are, a new one finds a free slot', async () => {
  for (const [greedy, most] of [
    [1, 24],
    [2, 15],
    [4, 8],
    [12, 3],
  ] as const) {
    const slots = createRequestLimiter({ runningMax: 36, runningMin: 4, waitingMax: 10_000 })
    const held = Array.from({ length: 50 }, () =>
      Array.from({ length: greedy }, (_, index) => hold(slots, { count: 1, work: asking(`greedy ${index}`) })),
    )
    await settle()
    const running = (index: number) => held.reduce((sum, round) => sum + (round[index]?.running() ?? 0), 0)
    expect(Math.max(...Array.from({ length: greedy }, (_, index) => running(index)))).toBe(most)
    const next = hold(slots, { count: 1, work: asking('next') })
    await settle()
    expect(next.running()).toBe(1)
  }
})

test('a freed slot goes to the requester with the fewest running tasks, not to the longest waiting one', async () => {
  const slots = createRequestLimiter({ runningMax: 6, runningMin: 1, waitingMax: 100 })
  const [first, second, last] = [4, 8, 3].map((count, index) => hold(slots, { count, work: asking(String(index)) }))
  if (first === undefined || second === undefined || last === undefined) throw new Error('Three hold')
  const running = () => [first, second, last].map((each) => each.running())
  await settle()
  expect(running()).toEqual([4, 2, 0])
  for (const expected of [
    [3, 2, 1],
    [2, 2, 2],
    [1, 2, 2],
    [0, 3, 2],
  ]) {
    first.endOne()
    await settle()
    expect(running()).toEqual(expected)
  }
})

test('a shared task counts for the requester with the fewest, also if that one joins later', async () => {
  const slots = createRequestLimiter({ runningMax: 6, runningMin: 1, waitingMax: 100 })
  const greedy = hold(slots, { count: 10, work: asking('greedy') })
  const askers = new Set(['greedy'])
  const shared = hold(slots, { count: 1, work: createWork(new AbortController().signal, { requesters: askers }) })
  await settle()
  expect([greedy.running(), shared.running()]).toEqual([4, 0])
  askers.add('other')
  greedy.endOne()
  await settle()
  expect(shared.running()).toBe(1)
})

test('a requester that fills the queue blocks only itself', async () => {
  const slots = createRequestLimiter({ runningMax: 3, runningMin: 1, waitingMax: 9 })
  const greedy = hold(slots, { count: 20, work: asking('greedy') })
  const outcomes = Promise.allSettled(greedy.tasks)
  const other = hold(slots, { count: 3, work: asking('other') })
  await settle()
  expect([greedy.running(), other.running()]).toEqual([2, 1])
  for (let ended = 0; ended < 20; ended++) {
    greedy.endOne()
    other.endOne()
    await settle()
  }
  await Promise.all(other.tasks)
  const refused = (await outcomes).flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []))
  // Two run and six wait.
  expect(refused).toHaveLength(12)
  for (const error of refused) expect(error).toMatchObject({ fault: 'queue_full' })
})
