import { expect, test } from 'bun:test'
import { delay, timeoutSignal, untilAborted } from '../../../src/lib/async/abort.ts'
import { AbortedError } from '../../../src/lib/error.ts'

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

test('delay() ends with the signal', async () => {
  const caller = new AbortController()
  const waiting = delay(60_000, caller.signal)
  caller.abort()
  await expect(waiting).rejects.toBeInstanceOf(AbortedError)
})

test('timeoutSignal() rounds up to whole milliseconds, at least 0: Node rejects anything else', () => {
  const asked: number[] = []
  const { timeout } = AbortSignal
  AbortSignal.timeout = (ms) => {
    asked.push(ms)
    return timeout.call(AbortSignal, ms)
  }
  try {
    for (const ms of [0, 0.2, 1_999.3, -3.5]) timeoutSignal(ms)
  } finally {
    AbortSignal.timeout = timeout
  }
  expect(asked).toEqual([0, 1, 2_000, 0])
})
