import { expect, test } from 'bun:test'
import { createDeadlines } from '../../../../src/http/exchange/deadline.ts'
import type { RouteCall } from '../../../../src/http/route/route.ts'
import { createTestClock } from '../../../support/test_clock.ts'

const reader = () => ({
  callerSignal: new AbortController().signal,
  organizationId: 'organization',
  apiKeyId: '',
  requestedAtMs: 0,
})

/** A read that never ends by itself. */
function endless(budgetMs?: number): RouteCall {
  return {
    receipt: undefined,
    restsOnLogs: false,
    atTimeSec: undefined,
    creditsMin: 1,
    budgetMs,
    read: () => new Promise(() => {}),
  }
}

const readFailure = (read: Promise<unknown>) => read.catch((error: Error) => error.message)

test('a route with its own budget is ended by it, and delays no other route', async () => {
  const clock = createTestClock()
  const deadlines = createDeadlines({ budgetMs: 20, clock })
  const ended: unknown[] = []
  const reads = [endless(60), endless(), endless(40)].map(async (call) =>
    ended.push(await readFailure(deadlines.read(call, reader()))),
  )
  for (const count of [0, 1, 2, 3]) {
    await clock.advance(19)
    expect(ended).toEqual([0.02, 0.04, 0.06].slice(0, count).map((sec) => `Cannot answer within ${sec} s`))
    await clock.advance(1)
  }
  await Promise.all(reads)
})

test('reads of one budget that begin one after another end one after another, on one timer', async () => {
  const clock = createTestClock()
  const deadlines = createDeadlines({ budgetMs: 100, clock })
  const ended: number[] = []
  for (let index = 0; index < 3; index++) {
    void readFailure(deadlines.read(endless(), reader())).then(() => ended.push(clock.monotonicMs()))
    expect(clock.pending).toBe(1)
    await clock.advance(30)
  }
  await clock.advance(1_000)
  expect([ended, clock.pending]).toEqual([[100, 130, 160], 0])
})

test('cancel() ends the reads of all budgets', async () => {
  const deadlines = createDeadlines({ budgetMs: 60_000, clock: createTestClock() })
  const reads = [endless(), endless(90_000)].map((call) => readFailure(deadlines.read(call, reader())))
  deadlines.cancel()
  expect(await Promise.all(reads)).toEqual(Array(2).fill('Cannot answer: the service stops'))
})
