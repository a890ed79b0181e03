import { expect, test } from 'bun:test'
import { CrowdedError, createSlots, type Priority } from '../../../src/chain/rpc/slots.ts'
import { AbortedError } from '../../../src/lib/error.ts'

const never = new AbortController().signal

test('run() runs so many at a time, in order, and frees the slot of one that fails', async () => {
  const slots = createSlots({ runningMax: 2, runningMin: 1, waitingMax: 10 })
  const order: number[] = []
  let running = 0
  let most = 0
  const tasks = [0, 1, 2, 3, 4].map((index) =>
    slots.run(async () => {
      most = Math.max(most, ++running)
      await Bun.sleep(2)
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
  const slots = createSlots({ runningMax: 1, runningMin: 1, waitingMax: 2 })
  const gate = Promise.withResolvers<void>()
  const first = slots.run(() => gate.promise, never)
  const leaving = new AbortController()
  const second = slots.run(async () => 'second', leaving.signal).catch((error: Error) => error)
  const third = slots.run(async () => 'third', never)
  expect(await slots.run(async () => 'fourth', never).catch((error: Error) => error)).toBeInstanceOf(CrowdedError)
  leaving.abort()
  expect(await second).toBeInstanceOf(AbortedError)
  gate.resolve()
  await first
  expect(await third).toBe('third')
  expect(await slots.run(async () => 'fifth', never)).toBe('fifth')
})

test('run() loses no slot if its owner leaves around the moment of getting it', async () => {
  for (let ticks = 0; ticks < 16; ticks++) {
    const slots = createSlots({ runningMax: 1, runningMin: 1, waitingMax: 2 })
    const gate = Promise.withResolvers<void>()
    const leaving = new AbortController()
    const first = slots.run(() => gate.promise, never)
    const second = slots.run(async () => 'second', leaving.signal).catch((error: Error) => error.name)
    gate.resolve()
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
    leaving.abort()
    await first
    expect(['second', 'AbortedError']).toContain(await second)
    const third = slots.run(async () => 'third', never)
    expect(await Promise.race([third, Bun.sleep(100)])).toBe('third')
  }
})

/** Starts `count` tasks that run until they are released, and counts those that run. */
function hold(slots: ReturnType<typeof createSlots>, { count, priority }: { count: number; priority?: Priority }) {
  const gates: (() => void)[] = []
  const tasks = Array.from({ length: count }, () =>
    slots.run(() => new Promise<void>((resolve) => gates.push(resolve)), never, priority),
  )
  return { running: () => gates.length, endOne: () => gates.shift()?.(), tasks }
}

test('background work has a quarter of the slots, and never one that a caller waits for', async () => {
  const slots = createSlots({ runningMax: 8, runningMin: 1, waitingMax: 100 })
  const background = hold(slots, { count: 10, priority: 'background' })
  await Bun.sleep(1)
  expect(background.running()).toBe(2)
  const callers = hold(slots, { count: 9 })
  await Bun.sleep(1)
  expect(callers.running()).toBe(8)
  background.endOne()
  background.endOne()
  await Bun.sleep(1)
  expect([background.running(), callers.running()]).toEqual([0, 8])
  callers.endOne()
  await Bun.sleep(1)
  expect([background.running(), callers.running()]).toEqual([0, 8])
  callers.endOne()
  await Bun.sleep(1)
  expect([background.running(), callers.running()]).toEqual([1, 7])
})

test('an endpoint that asks for less gets half as many calls, once per burst, and slowly more again', async () => {
  const slots = createSlots({ runningMax: 8, runningMin: 2, waitingMax: 100 })
  const most = async () => {
    let running = 0
    let seen = 0
    const task = async () => {
      seen = Math.max(seen, ++running)
      await Bun.sleep(1)
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
  await Bun.sleep(1)
  expect(callers.running()).toBe(2)
})
