import { expect, test } from 'bun:test'
import { UnavailableError } from '../../../src/lib/error.ts'
import { createJobMetrics, type Job, startJob } from '../../../src/lib/job.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { createTestClock } from '../../support/test_clock.ts'

const HOUR_MS = 3_600_000
const SOON = { least: 1, most: 1 }

/** A job that does `round` and counts what happened. */
function counted(round: (count: number) => Promise<number | undefined>, facts: Partial<Job> = {}) {
  const seen = { rounds: 0, failures: [] as unknown[], signal: undefined as AbortSignal | undefined }
  const job: Job = {
    name: 'test',
    retryMs: SOON,
    round(signal) {
      seen.signal = signal
      return round(++seen.rounds)
    },
    onError: (error) => seen.failures.push(error),
    ...facts,
  }
  return { job, seen }
}

async function nothing(): Promise<undefined> {}

test('a job begins with a round, and has one after each pause', async () => {
  const clock = createTestClock()
  const { job, seen } = counted(nothing, { everyMs: 10 })
  startJob(job, { clock })
  await clock.advance(0)
  expect(seen.rounds).toBe(1)
  await clock.advance(9)
  expect(seen.rounds).toBe(1)
  await clock.advance(11)
  expect(seen.rounds).toBe(3)
})

test('a round can say how long the pause after it is, whatever the schedule says', async () => {
  const clock = createTestClock()
  const { job, seen } = counted(async (count) => (count < 3 ? 1 : HOUR_MS), { everyMs: HOUR_MS })
  startJob(job, { clock })
  await clock.advance(2)
  expect(seen.rounds).toBe(3)
  await clock.advance(HOUR_MS - 1)
  expect(seen.rounds).toBe(3)
  await clock.advance(1)
  expect(seen.rounds).toBe(4)
})

/** When the first rounds of a job begin, milliseconds. */
async function listStarts(job: Job, count: number, random?: () => number): Promise<number[]> {
  const clock = createTestClock()
  const starts: number[] = []
  const round: Job['round'] = (signal) => {
    starts.push(clock.monotonicMs())
    return job.round(signal)
  }
  const started = startJob({ ...job, round }, { clock, ...(random && { random }) })
  while (starts.length < count) expect(await clock.advanceToNext()).toBe(true)
  started.stop()
  expect(clock.pending).toBe(0)
  return starts
}

test('chance makes a pause a little longer, never shorter', async () => {
  const { job } = counted(nothing, { everyMs: 1_000 })
  expect(await listStarts(job, 2, () => 0)).toEqual([0, 1_000])
  expect(await listStarts(job, 2, () => 0.5)).toEqual([0, 1_050])
  expect((await listStarts(job, 2, () => 0.999)).map(Math.round)).toEqual([0, 1_100])
})

test('without a schedule it waits until it is woken, and one round does what has gathered', async () => {
  const clock = createTestClock()
  const { job, seen } = counted(nothing, { gatherMs: 5 })
  const started = startJob(job, { clock })
  await clock.advance(HOUR_MS)
  expect(seen.rounds).toBe(1)
  for (let count = 0; count < 10; count++) started.wake()
  await clock.advance(4)
  expect(seen.rounds).toBe(1)
  await clock.advance(HOUR_MS)
  expect(seen.rounds).toBe(2)
})

test('who wakes it during a round gets another one, never two at a time', async () => {
  const clock = createTestClock()
  let end = () => {}
  let atOnce = 0
  const { job, seen } = counted(async () => {
    expect(++atOnce).toBe(1)
    await new Promise<void>((resolve) => {
      end = resolve
    })
    atOnce--
    return undefined
  })
  const started = startJob(job, { clock })
  await clock.advance(0)
  started.wake()
  started.wake()
  await clock.advance(HOUR_MS)
  expect(seen.rounds).toBe(1)
  end()
  await clock.advance(0)
  expect(seen.rounds).toBe(2)
  end()
  await clock.advance(HOUR_MS)
  expect(seen.rounds).toBe(2)
})

test('a round that fails is tried again; only what is not the database is told', async () => {
  const clock = createTestClock()
  const errors = [new UnavailableError('The database does not answer'), new Error('A fault of ours')]
  const metrics = createMetrics()
  const { job, seen } = counted(async (count) => {
    const error = errors[count - 1]
    if (error !== undefined) throw error
    return undefined
  })
  startJob(job, { clock, ...createJobMetrics(metrics) })
  await clock.advance(HOUR_MS)
  expect(seen).toMatchObject({ rounds: 3, failures: [errors[1]] })
  const lines = metrics.render().split('\n')
  expect(lines).toContain('walletscope_job_rounds_total{job="test",outcome="failed"} 2')
  expect(lines).toContain('walletscope_job_rounds_total{job="test",outcome="done"} 1')
})

test('the pause after failures doubles up to its limit, and waking the job does not shorten it', async () => {
  const fail = async () => Promise.reject(new Error('No'))
  const { job } = counted(fail, { retryMs: { least: 100, most: 300 }, everyMs: 1 })
  expect(await listStarts(job, 5)).toEqual([0, 100, 300, 600, 900])
  const clock = createTestClock()
  const slow = counted(fail, { retryMs: { least: HOUR_MS, most: HOUR_MS } })
  const started = startJob(slow.job, { clock })
  await clock.advance(0)
  started.wake()
  await clock.advance(HOUR_MS - 1)
  expect(slow.seen.rounds).toBe(1)
  await clock.advance(1)
  expect(slow.seen.rounds).toBe(2)
})

test('a job that is stopped hears it, begins nothing more, and is told nothing', async () => {
  const clock = createTestClock()
  let fail = (_error: Error) => {}
  const { job, seen } = counted(
    () =>
      new Promise((_, reject) => {
        fail = reject
      }),
    { everyMs: 1 },
  )
  const started = startJob(job, { clock })
  await clock.advance(0)
  started.stop()
  expect(seen.signal?.aborted).toBe(true)
  fail(new Error('Ended'))
  started.wake()
  await clock.advance(HOUR_MS)
  expect(seen).toMatchObject({ rounds: 1, failures: [] })
})
