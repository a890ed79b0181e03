import { expect, test } from 'bun:test'
import { createDeadlines } from '../../../src/http/exchange/deadline.ts'
import type { RouteCall } from '../../../src/http/route/route.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const reader = () => ({
  callerSignal: new AbortController().signal,
  organizationId: 'organization',
  apiKeyId: '',
  requestedAtMs: 0,
})

/** A read that never ends by itself. */
function endless(budgetMs?: number): RouteCall {
  return { receipt: undefined, restsOnLogs: false, creditsMin: 1, budgetMs, read: () => new Promise(() => {}) }
}

const readFailure = (read: Promise<unknown>) => read.catch((error: Error) => error.message)

test('a route with its own budget is ended by it, and delays no other route', async () => {
  const deadlines = createDeadlines({ budgetMs: 20, clock: systemClock })
  const ended: unknown[] = []
  const reads = [endless(60), endless(), endless(40)].map(async (call) =>
    ended.push(await readFailure(deadlines.read(call, reader()))),
  )
  await Promise.all(reads)
  expect(ended).toEqual([0.02, 0.04, 0.06].map((sec) => `Cannot answer within ${sec} s`))
})

test('cancel() ends the reads of all budgets', async () => {
  const deadlines = createDeadlines({ budgetMs: 60_000, clock: systemClock })
  const reads = [endless(), endless(90_000)].map((call) => readFailure(deadlines.read(call, reader())))
  deadlines.cancel()
  expect(await Promise.all(reads)).toEqual(Array(2).fill('Cannot answer: the service stops'))
})
