import { expect, test } from 'bun:test'
import { EndpointError } from '../../../../src/chain/rpc/error.ts'
import { createRetrier } from '../../../../src/chain/rpc/retrier.ts'
import { AbortedError, UpstreamError } from '../../../../src/lib/error.ts'
import { createTestClock } from '../../../support/test_clock.ts'

const never = new AbortController().signal

/** Retries a request that fails with each error in turn, then answers; when it was sent, milliseconds. */
async function retry(
  errors: readonly Error[],
  options: {
    readonly budgetMs?: number
    readonly isBegun?: boolean
    readonly isAlone?: boolean
    readonly signal?: AbortSignal
  } = {},
) {
  const { budgetMs = 60_000, signal = never, ...facts } = options
  const clock = createTestClock()
  const sentMs: number[] = []
  const pauses: (number | undefined)[] = []
  const request = createRetrier({
    clock,
    remainingMs: () => budgetMs - clock.monotonicMs(),
    onRateLimited: (pauseMs) => pauses.push(pauseMs),
    random: () => 0,
    ...facts,
  })
  const outcome = request(async () => {
    sentMs.push(clock.monotonicMs())
    const error = errors[sentMs.length - 1]
    if (error !== undefined) throw error
    return 'answer'
  }, signal).catch((error: unknown) => error)
  while (await clock.advanceToNext());
  return { outcome: await outcome, sentMs, pauses }
}

const lost = new UpstreamError('The endpoint failed')

test('a request of a begun read is sent again up to four times, after twice the pause each time', async () => {
  expect(await retry([lost, lost, lost, lost], { isBegun: true })).toMatchObject({
    outcome: 'answer',
    sentMs: [0, 50, 150, 350, 750],
  })
  expect((await retry([lost, lost, lost, lost, lost], { isBegun: true })).outcome).toBe(lost)
})

test('the first request of a read is not: another endpoint may be asked', async () => {
  expect(await retry([lost])).toMatchObject({ outcome: lost, sentMs: [0] })
  expect(await retry([lost], { isAlone: true })).toMatchObject({ outcome: lost, sentMs: [0] })
})

test('a rate limit is waited for as long as the endpoint asks, if no other endpoint is left', async () => {
  const limited = new EndpointError('busy', 'Slow down', { retryAfterMs: 2_000 })
  expect(await retry([limited])).toMatchObject({ outcome: limited, sentMs: [0], pauses: [] })
  expect(await retry([limited], { isAlone: true })).toEqual({ outcome: 'answer', sentMs: [0, 2_000], pauses: [2_000] })
})

test('no pause is longer than the time that is left, and a late answer is not asked for again', async () => {
  expect(await retry([lost, lost, lost], { isBegun: true, budgetMs: 150 })).toMatchObject({
    outcome: lost,
    sentMs: [0, 50],
  })
  const late = new EndpointError('late', 'No answer')
  expect(await retry([late], { isBegun: true })).toMatchObject({ outcome: late, sentMs: [0] })
})

test('a pause ends when the caller leaves', async () => {
  const { outcome, sentMs } = await retry([lost], { isBegun: true, signal: AbortSignal.abort() })
  expect(outcome).toBeInstanceOf(AbortedError)
  expect(sentMs).toEqual([0])
})
