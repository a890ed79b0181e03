import { beforeEach, expect, test } from 'bun:test'
import { createHealth } from '../../../../src/chain/rpc/endpoint_state.ts'
import { EndpointError } from '../../../../src/chain/rpc/error.ts'
import { createRotation, type RotationFailure } from '../../../../src/chain/rpc/rotation.ts'
import { type Deadline, withinDeadline } from '../../../../src/lib/async/abort.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createTestClock, settle, type TestClock } from '../../../support/test_clock.ts'

const BUDGET_MS = 4_500
/** Time limit of a probe whose endpoint is silent. */
const SILENCE_MS = 1_000

/** What an endpoint does: it never answers, fails at once, or answers after so many milliseconds. */
type Behavior = 'silent' | 'failing' | number

interface Outcome {
  readonly tookMs: number
  readonly answered: number | undefined
  readonly failure: RotationFailure | undefined
}

class Exhausted extends Error {
  readonly failure: RotationFailure

  constructor(failure: RotationFailure) {
    super('No endpoint answered')
    this.failure = failure
  }
}

let clock: TestClock

beforeEach(() => {
  clock = createTestClock()
})

/** A rotation over endpoints of which each behaves as `behaviors` says at the time. */
function createScene(behaviors: Behavior[]) {
  const probedMs: number[][] = behaviors.map(() => [])
  const endpoints = behaviors.map((_, index) => ({ index, health: createHealth({ clock, random: () => 0 }) }))

  async function respond(index: number): Promise<void> {
    const behavior = behaviors[index] ?? 'failing'
    if (behavior === 'failing') throw new UpstreamError('Down')
    await clock.sleep(behavior === 'silent' ? SILENCE_MS : behavior)
    if (behavior === 'silent') throw new EndpointError('late', 'Silent')
  }

  const rotation = createRotation({
    endpoints,
    chainId: 1,
    clock,
    log: silentLog,
    random: () => 0,
    policy: { triesMax: 2, retryMs: 0, lostState: 'open', firstProbeMs: 10_000, blamesRefusals: false },
    getHead: () => undefined,
    isBehind: () => false,
    async probe({ index }) {
      probedMs[index]?.push(clock.monotonicMs())
      await respond(index)
    },
    toError: (failure) => new Exhausted(failure),
  })
  const past = { getRank: () => 0, toError: (failure: RotationFailure) => new Exhausted(failure), blames: false }

  /** Asks now. The time moves only when the test says so. */
  async function ask({ isPast = false } = {}): Promise<Outcome> {
    const sentMs = clock.monotonicMs()
    const read = (deadline: Deadline) =>
      rotation.ask(
        async ({ index }) => {
          await respond(index)
          return index
        },
        deadline,
        ...(isPast ? [past] : []),
      )
    const work = createWork(new AbortController().signal)
    const result = await withinDeadline(read, { ms: BUDGET_MS, work, clock }).catch((error: unknown) => error)
    if (typeof result !== 'number' && !(result instanceof Exhausted)) throw result
    const tookMs = clock.monotonicMs() - sentMs
    return typeof result === 'number'
      ? { tookMs, answered: result, failure: undefined }
      : { tookMs, answered: undefined, failure: result.failure }
  }

  /** Lets endpoints fail as often as opens their circuits. */
  function open(...indexes: number[]): void {
    for (const index of indexes) for (let times = 0; times < 3; times++) endpoints[index]?.health.recordFailure()
  }

  return { ask, open, probedMs, endpoints }
}

test('a request that finds all endpoints down fails after 300 ms, with the reason of each', async () => {
  const { ask, open } = createScene(['silent', 'silent', 'failing'])
  open(0, 1, 2)
  const asked = ask()
  await clock.advance(5_000)
  const { tookMs, failure } = await asked
  expect(tookMs).toBe(300)
  expect(failure).toMatchObject({ attempts: 3, busyMs: 0 })
  expect(failure?.errors.map(String).sort()).toEqual([
    'UpstreamError: Down',
    'UpstreamError: No answer within 300 ms',
    'UpstreamError: No answer within 300 ms',
  ])
})

test.each<readonly [Behavior]>([['silent'], ['failing']])(
  'requests to %s endpoints that are down send one probe a second each, and wait for 300 ms at most',
  async (behavior) => {
    const { ask, open, probedMs } = createScene([behavior, behavior])
    open(0, 1)
    const asked: Promise<Outcome>[] = []
    for (let times = 0; times < 100; times++) {
      asked.push(ask(), ask())
      await clock.advance(100)
    }
    await clock.advance(5_000)
    const outcomes = await Promise.all(asked)
    expect(outcomes.map(({ answered }) => answered)).toEqual(Array(200).fill(undefined))
    expect(Math.max(...outcomes.map(({ tookMs }) => tookMs))).toBe(behavior === 'silent' ? 300 : 0)
    for (const times of probedMs) {
      expect(times).toEqual(Array.from({ length: 10 }, (_, second) => second * 1_000))
    }
  },
)

test('the first of the endpoints that is back answers, without waiting for the others', async () => {
  const { ask, open } = createScene(['silent', 40, 200])
  open(0, 1, 2)
  const asked = ask()
  await clock.advance(80)
  expect(await asked).toMatchObject({ answered: 1, tookMs: 80 })
})

test('an endpoint that takes longer than 300 ms serves once its probe is over', async () => {
  const { ask, open } = createScene([400])
  open(0)
  const first = ask()
  await clock.advance(400)
  expect(await first).toMatchObject({ answered: undefined, tookMs: 300 })
  const second = ask()
  await clock.advance(400)
  expect(await second).toMatchObject({ answered: 0, tookMs: 400 })
})

test('the first request has its whole time: endpoints are down after three failures', async () => {
  const { ask } = createScene(['silent', 'silent'])
  const first = ask()
  await clock.advance(BUDGET_MS)
  expect((await first).tookMs).toBeGreaterThan(2_000)
  const second = ask()
  await clock.advance(BUDGET_MS)
  expect((await second).tookMs).toBeLessThanOrEqual(300)
})

test('an endpoint that is not down is asked at once', async () => {
  const { ask, open } = createScene(['silent', 10])
  open(0)
  const asked = ask()
  await clock.advance(10)
  expect(await asked).toMatchObject({ answered: 1, tookMs: 10 })
})

test('a rate limit is waited out before an endpoint that is down is probed', async () => {
  const { ask, open, probedMs, endpoints } = createScene([0])
  open(0)
  endpoints[0]?.health.recordRateLimit(500)
  const asked = ask()
  await clock.advance(500)
  expect(await asked).toMatchObject({ answered: 0, tookMs: 500 })
  expect(probedMs).toEqual([[500]])
})

test('the past is read without a probe at an endpoint that answers other requests, and fails fast at a silent one', async () => {
  const { ask, open, probedMs, endpoints } = createScene([10, 'silent'])
  open(0, 1)
  endpoints[0]?.health.recordAnswer()
  const asked = ask({ isPast: true })
  await clock.advance(1_000)
  expect(await asked).toMatchObject({ answered: 0, tookMs: 10 })
  expect(probedMs[0]).toEqual([])

  const silent = createScene(['silent', 'silent'])
  silent.open(0, 1)
  const late = silent.ask({ isPast: true })
  await clock.advance(1_000)
  expect((await late).tookMs).toBe(300)
})

test('a caller who leaves ends the wait', async () => {
  const { open, ask } = createScene(['silent'])
  open(0)
  const asked = ask()
  await settle()
  expect(clock.pending).toBeGreaterThan(0)
  await clock.advance(2_000)
  expect((await asked).failure?.errors.length).toBe(1)
  expect(clock.pending).toBe(0)
})
