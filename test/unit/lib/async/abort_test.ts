import { expect, test } from 'bun:test'
import { startDeadline, untilAborted, withinDeadline } from '../../../../src/lib/async/abort.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { AbortedError } from '../../../../src/lib/error.ts'
import { createTestClock } from '../../../support/test_clock.ts'

const pending = () => new Promise<never>(() => {})

test('untilAborted() settles like its promise', async () => {
  const { signal } = new AbortController()
  expect(await untilAborted(Promise.resolve(7), signal)).toBe(7)
  await expect(untilAborted(Promise.reject(new RangeError('no')), signal)).rejects.toBeInstanceOf(RangeError)
})

test('untilAborted() ends with the signal, even if the promise never settles', async () => {
  const caller = new AbortController()
  const waiting = untilAborted(pending(), caller.signal)
  caller.abort()
  await expect(waiting).rejects.toBeInstanceOf(AbortedError)
  await expect(untilAborted(pending(), caller.signal)).rejects.toBeInstanceOf(AbortedError)
})

test('startDeadline() fires once its time is over, and then has none left', async () => {
  const clock = createTestClock()
  const deadline = startDeadline(100, { parent: new AbortController().signal, clock })
  await clock.advance(99)
  expect([deadline.signal.aborted, deadline.remainingMs()]).toEqual([false, 1])
  await clock.advance(1)
  expect([deadline.signal.aborted, deadline.remainingMs()]).toEqual([true, 0])
})

test('startDeadline() ends with its parent, and leaves nothing behind when it is stopped', async () => {
  const clock = createTestClock()
  const parent = new AbortController()
  const [first, second] = [1, 2].map(() => startDeadline(100, { parent: parent.signal, clock }))
  second?.stop()
  expect(clock.pending).toBe(1)
  parent.abort()
  expect([first?.signal.aborted, first?.remainingMs()]).toEqual([true, 0])
  expect([second?.signal.aborted, second?.remainingMs()]).toEqual([false, 100])
})

test('withinDeadline() returns what the work returns, and tells work that takes too long', async () => {
  const clock = createTestClock()
  const work = createWork(new AbortController().signal)
  expect(await withinDeadline(async () => 7, { ms: 100, work, clock })).toBe(7)
  expect(clock.pending).toBe(0)
  const late = withinDeadline((deadline) => untilAborted(pending(), deadline.work.signal), { ms: 100, work, clock })
  const outcome = late.catch((error: unknown) => error)
  await clock.advance(100)
  expect(await outcome).toBeInstanceOf(AbortedError)
})
