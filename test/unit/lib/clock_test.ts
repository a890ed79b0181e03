import { expect, spyOn, test } from 'bun:test'
import { repeat, systemClock } from '../../../src/lib/clock.ts'
import { AbortedError } from '../../../src/lib/error.ts'
import { createSkippingClock, createTestClock } from '../../support/test_clock.ts'

const HOUR_MS = 3_600_000

test('timers of the machine take whole milliseconds, rounded up and at least 0: Node rejects anything else', () => {
  const timeout = spyOn(AbortSignal, 'timeout')
  const timers = spyOn(globalThis, 'setTimeout')
  try {
    for (const ms of [0, 0.2, 1_999.3, -3.5]) {
      systemClock.timeout(ms)
      systemClock.after(ms, () => {})()
    }
    expect(timeout.mock.calls).toEqual([[0], [1], [2_000], [0]])
    expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([0, 1, 2_000, 0])
  } finally {
    timeout.mockRestore()
    timers.mockRestore()
  }
})

test.each([
  ['of the machine', systemClock],
  ['of a test', createTestClock()],
])('sleep() of the clock %s ends with the signal', async (_, clock) => {
  const caller = new AbortController()
  const waiting = clock.sleep(HOUR_MS, caller.signal)
  caller.abort()
  await expect(waiting).rejects.toBeInstanceOf(AbortedError)
  await expect(clock.sleep(HOUR_MS, caller.signal)).rejects.toBeInstanceOf(AbortedError)
})

test('the clocks of the machine and of a test call what is due, and time out for the same reason', async () => {
  const testClock = createTestClock()
  const reasons = await Promise.all(
    [systemClock, testClock].map(async (clock) => {
      const events: string[] = []
      clock.after(0, () => events.push('cancelled'))()
      clock.after(0, () => events.push('called'))
      const signal = clock.timeout(0)
      const whenSlept = clock.sleep(1)
      if (clock === testClock) await testClock.advance(1)
      await whenSlept
      const { name, message } = signal.reason
      return { events, name, message }
    }),
  )
  expect(reasons[0]).toEqual({ events: ['called'], name: 'TimeoutError', message: 'The operation timed out.' })
  expect(reasons[1]).toEqual(reasons[0])
})

test('repeat() calls until it is stopped, also by the call itself', async () => {
  const clock = createTestClock()
  const times: number[] = []
  const stop = repeat(clock, 10, () => {
    times.push(clock.monotonicMs())
    if (times.length === 3) stop()
  })
  await clock.advance(100)
  expect([times, clock.pending]).toEqual([[10, 20, 30], 0])
})

test('a test clock moves only when told, and calls in the order of their time, then of their making', async () => {
  const clock = createTestClock({ nowMs: 1_000 })
  const events: string[] = []
  const note = (text: string) => events.push(`${text} at ${clock.now()}`)
  clock.after(20, () => note('second'))
  clock.after(20, () => note('third'))
  clock.after(10, () => {
    note('first')
    void clock.sleep(15).then(() => note('slept'))
  })
  await clock.advance(9)
  expect([events, clock.monotonicMs()]).toEqual([[], 9])
  await clock.advance(16)
  expect(events).toEqual(['first at 1010', 'second at 1020', 'third at 1020', 'slept at 1025'])
  expect([await clock.advanceToNext(), clock.now()]).toEqual([false, 1_025])
})

test('a skipping clock ends each sleep at once, later by its length', async () => {
  const clock = createSkippingClock()
  await clock.sleep(HOUR_MS)
  await clock.sleep(5)
  expect([clock.sleeps, clock.monotonicMs()]).toEqual([[HOUR_MS, 5], HOUR_MS + 5])
})
