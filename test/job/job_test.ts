import { expect, test } from 'bun:test'
import { type Job, type RunningJob, startJob } from '../../src/job/job.ts'
import { createJobMetrics } from '../../src/job/metrics.ts'
import { UnavailableError } from '../../src/lib/error.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { waitFor } from '../support/wait_for.ts'

/** Longer than a test may take. */
const NEVER_MS = 3_600_000
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

/** Long enough for a round that must not happen. */
function aMoment(): Promise<void> {
  return Bun.sleep(30)
}

async function running(job: RunningJob, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } finally {
    job.stop()
  }
}

test('a job begins with a round, and has one after each pause', async () => {
  const { job, seen } = counted(nothing, { everyMs: 1 })
  await running(startJob(job), () => waitFor('3 rounds', () => seen.rounds >= 3))
})

test('a round can say how long the pause after it is, whatever the schedule says', async () => {
  const { job, seen } = counted(async (count) => (count < 3 ? 1 : NEVER_MS), { everyMs: NEVER_MS })
  await running(startJob(job), async () => {
    await waitFor('3 rounds', () => seen.rounds === 3)
    await aMoment()
    expect(seen.rounds).toBe(3)
  })
})

/** The pauses that are begun while something is done, milliseconds. */
async function pausesDuring(work: () => Promise<void>): Promise<number[]> {
  const pauses: number[] = []
  const set = globalThis.setTimeout
  globalThis.setTimeout = Object.assign(
    (...[run, ms, ...rest]: Parameters<typeof set>) => {
      pauses.push(ms ?? 0)
      return set(run, ms, ...rest)
    },
    { __promisify__: set.__promisify__ },
  )
  try {
    await work()
  } finally {
    globalThis.setTimeout = set
  }
  return pauses
}

test('chance makes a pause a little longer, never shorter', async () => {
  const pauses = await pausesDuring(async () => {
    for (const chance of [0, 0.5, 0.999]) {
      const { job, seen } = counted(nothing, { everyMs: NEVER_MS })
      await running(startJob(job, { random: () => chance }), () => waitFor('1 round', () => seen.rounds === 1))
    }
  })
  expect(pauses.filter((ms) => ms >= NEVER_MS).map((ms) => Math.round((100 * ms) / NEVER_MS))).toEqual([100, 105, 110])
})

test('without a schedule it waits until it is woken, and one round does what has gathered', async () => {
  const { job, seen } = counted(nothing, { gatherMs: 5 })
  const started = startJob(job)
  await running(started, async () => {
    await waitFor('1 rounds', () => seen.rounds === 1)
    await aMoment()
    expect(seen.rounds).toBe(1)
    for (let count = 0; count < 10; count++) started.wake()
    await waitFor('2 rounds', () => seen.rounds === 2)
    await aMoment()
    expect(seen.rounds).toBe(2)
  })
})

test('who wakes it during a round gets another one, never two at a time', async () => {
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
  const started = startJob(job)
  await running(started, async () => {
    await waitFor('1 rounds', () => seen.rounds === 1)
    started.wake()
    started.wake()
    await aMoment()
    expect(seen.rounds).toBe(1)
    end()
    await waitFor('2 rounds', () => seen.rounds === 2)
    end()
    await aMoment()
    expect(seen.rounds).toBe(2)
  })
})

test('a round that fails is tried again; only what is not the database is told', async () => {
  const errors = [new UnavailableError('The database does not answer'), new Error('A fault of ours')]
  const metrics = createMetrics()
  const { job, seen } = counted(async (count) => {
    const error = errors[count - 1]
    if (error !== undefined) throw error
    return undefined
  })
  await running(startJob(job, createJobMetrics(metrics)), () => waitFor('3 rounds', () => seen.rounds === 3))
  expect(seen.failures).toEqual([errors[1]])
  const lines = metrics.render().split('\n')
  expect(lines).toContain('walletscope_job_rounds_total{job="test",outcome="failed"} 2')
  expect(lines).toContain('walletscope_job_rounds_total{job="test",outcome="done"} 1')
})

test('the pause after failures doubles up to its limit, and waking the job does not shorten it', async () => {
  const quick = counted(async () => Promise.reject(new Error('No')), { retryMs: { least: 1, most: 3 }, everyMs: 1 })
  const pauses = await pausesDuring(() =>
    running(startJob(quick.job), () => waitFor('4 rounds', () => quick.seen.rounds >= 4)),
  )
  // The first round is begun at once, and `waitFor` pauses for 10 ms.
  expect(pauses.filter((ms) => ms < 10).slice(0, 4)).toEqual([0, 1, 2, 3])
  const slow = counted(async () => Promise.reject(new Error('No')), { retryMs: { least: NEVER_MS, most: NEVER_MS } })
  const other = startJob(slow.job)
  await running(other, async () => {
    await waitFor('1 rounds', () => slow.seen.rounds === 1)
    other.wake()
    await aMoment()
    expect(slow.seen.rounds).toBe(1)
  })
})

test('a job that is stopped hears it, begins nothing more, and is told nothing', async () => {
  let fail = (_error: Error) => {}
  const { job, seen } = counted(
    () =>
      new Promise((_, reject) => {
        fail = reject
      }),
    { everyMs: 1 },
  )
  const started = startJob(job)
  await waitFor('1 rounds', () => seen.rounds === 1)
  started.stop()
  expect(seen.signal?.aborted).toBe(true)
  fail(new Error('Ended'))
  started.wake()
  await aMoment()
  expect(seen).toMatchObject({ rounds: 1, failures: [] })
})
