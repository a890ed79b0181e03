import { expect, test } from 'bun:test'
import { CrowdedError, createSlots } from '../../src/chain/slots.ts'
import { AbortedError } from '../../src/lib/error.ts'

const never = new AbortController().signal

test('run() runs so many at a time, in order, and frees the slot of one that fails', async () => {
  const slots = createSlots({ runningMax: 2, waitingMax: 10 })
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

test('run() turns away who finds the queue full, and lets who waits leave without losing a slot', async () => {
  const slots = createSlots({ runningMax: 1, waitingMax: 2 })
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

test('run() loses no slot whenever its owner leaves around the moment of getting it', async () => {
  for (let ticks = 0; ticks < 16; ticks++) {
    const slots = createSlots({ runningMax: 1, waitingMax: 2 })
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
