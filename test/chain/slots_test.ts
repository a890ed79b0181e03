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

test('run() passes a slot on when its owner leaves in the moment of getting it', async () => {
  const slots = createSlots({ runningMax: 1, waitingMax: 2 })
  const gate = Promise.withResolvers<void>()
  const leaving = new AbortController()
  const first = slots.run(() => gate.promise.then(() => leaving.abort()), never)
  const second = slots.run(async () => 'second', leaving.signal).catch((error: Error) => error.name)
  const third = slots.run(async () => 'third', never)
  gate.resolve()
  await first
  expect(['second', 'AbortedError']).toContain(await second)
  expect(await third).toBe('third')
})
