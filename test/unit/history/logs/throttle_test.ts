import { expect, test } from 'bun:test'
import { createThrottle } from '../../../../src/history/logs/reader.ts'
import { createSkippingClock, settle } from '../../../support/test_clock.ts'

const PATIENT = new AbortController().signal

/** A throttle on a clock of its own. */
function open() {
  const clock = createSkippingClock()
  const { time, sleeps: pauses } = clock
  time.nowMs = 1
  const throttle = createThrottle(clock)
  /** The endpoint limits its rate, and that pause goes by. */
  const limit = (pauseMs?: number) => {
    throttle.recordRateLimit(pauseMs)
    time.nowMs += 60_000
  }
  /** How many of twenty tasks run at once; all of them end. */
  const widest = async () => {
    let running = 0
    let most = 0
    const task = async () => {
      running++
      most = Math.max(most, running)
      await settle()
      running--
    }
    await Promise.all(Array.from({ length: 20 }, () => throttle.run(task, { signal: PATIENT })))
    return most
  }
  return { throttle, pauses, limit, widest }
}

test('each rate limit halves what runs at once, down to one, and answers raise it again', async () => {
  for (const [limits, most] of [
    [0, 8],
    [1, 4],
    [2, 2],
    [3, 1],
    [5, 1],
  ] as const) {
    const { throttle, limit } = open()
    for (let count = 0; count < limits; count++) limit()
    let running = 0
    const held = Array.from({ length: 20 }, () => throttle.run(() => new Promise(() => running++), { signal: PATIENT }))
    await settle()
    expect([limits, running, held.length]).toEqual([limits, most, 20])
    if (limits !== 3) continue
    const again = open()
    for (let count = 0; count < limits; count++) again.limit()
    expect(await again.widest()).toBe(3)
    for (let round = 0; round < 20; round++) await again.widest()
    expect(await again.widest()).toBe(8)
  }
})

test('the pause is the one that was asked for, or doubles with each limit in a row, up to a minute', async () => {
  const { throttle, pauses } = open()
  const run = () => throttle.run(async () => {}, { signal: PATIENT })
  throttle.recordRateLimit(7_000)
  // Of the requests that were under way then.
  throttle.recordRateLimit(9_000)
  await run()
  throttle.recordRateLimit(100_000)
  await run()
  throttle.recordRateLimit(undefined)
  await run()
  expect(pauses).toEqual([7_000, 60_000, 200])
})
