import { describe, expect, test } from 'bun:test'
import { RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import { createHealth } from '../../../../src/chain/rpc/endpoint_state.ts'
import { EndpointError } from '../../../../src/chain/rpc/error.ts'
import { createRotation, type RotationFailure, type RotationPolicy } from '../../../../src/chain/rpc/rotation.ts'
import { type Deadline, withinDeadline } from '../../../../src/lib/async/abort.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const clock = createFixedClock(0)
const patient = createWork(new AbortController().signal)

class Exhausted extends Error {
  readonly exhaustion: RotationFailure

  constructor(exhaustion: RotationFailure) {
    super('No endpoint answered')
    this.exhaustion = exhaustion
  }
}

/** Endpoints in rotation; `fail` gives what an attempt at an endpoint throws, if anything. */
function rotating(count: number, policy: Partial<RotationPolicy> = {}, behind: readonly number[] = []) {
  const endpoints = Array.from({ length: count }, (_, index) => ({
    index,
    health: createHealth({ clock, random: () => 0 }),
    removed: false,
  }))
  const looked: number[] = []
  const rotation = createRotation({
    endpoints,
    chainId: 1,
    clock,
    log: silentLog,
    random: () => 0,
    policy: {
      triesMax: 2,
      retryMs: 0,
      lostState: 'open',
      firstProbeMs: 10_000,
      blamesRefusals: false,
      ...policy,
    },
    getHead: () => undefined,
    isBehind: (index) => behind.includes(index),
    probe: async ({ index }) => looked.push(index),
    toError: (exhaustion) => new Exhausted(exhaustion),
  })
  async function ask(fail: (index: number, isLastResort: boolean) => unknown = () => undefined) {
    const asked: number[] = []
    const read = (deadline: Deadline) =>
      rotation.ask(async ({ index }, { isLastResort }) => {
        asked.push(index)
        const error = fail(index, isLastResort)
        if (error !== undefined) throw error
        return index
      }, deadline)
    try {
      return { asked, answered: await withinDeadline(read, { ms: 1_000, work: patient, clock }) }
    } catch (error) {
      if (error instanceof Exhausted) return { asked, exhaustion: error.exhaustion }
      throw error
    }
  }
  return { endpoints, ask, looked }
}

const down = () => new UpstreamError('Down')

describe('the endpoint that is asked first', () => {
  test('is the healthy one, however slow, behind or late in the configuration the others are', async () => {
    const { endpoints, ask } = rotating(300, {}, [299])
    for (const { health, index } of endpoints) if (index !== 299) health.recordFailure()
    endpoints[299]?.health.recordLatency(10 ** 12)
    expect(await ask()).toEqual({ asked: [299], answered: 299 })
  })

  test('is one that is not behind, then the quicker one, then as configured', async () => {
    const { endpoints, ask } = rotating(4, { triesMax: 1 }, [0])
    endpoints[1]?.health.recordLatency(1_000)
    expect((await ask(down)).asked).toEqual([2, 3, 1, 0])
  })

  test('is one without a rate limit, even if it failed before', async () => {
    const { endpoints, ask } = rotating(2)
    endpoints[0]?.health.recordRateLimit(1)
    for (let failure = 0; failure < 3; failure++) endpoints[1]?.health.recordFailure()
    expect(await ask()).toEqual({ asked: [1], answered: 1 })
  })

  test('is never a removed one', async () => {
    const { endpoints, ask } = rotating(2)
    for (const endpoint of endpoints) endpoint.removed = endpoint.index === 0
    expect((await ask(down)).asked).toEqual([1, 1])
  })
})

test('every endpoint is tried before one is retried, as often as the policy allows', async () => {
  expect((await rotating(3).ask(down)).asked).toEqual([0, 1, 2, 0, 1, 2])
  expect((await rotating(3, { triesMax: 3, attemptsMax: 8 }).ask(down)).asked).toEqual([0, 1, 2, 0, 1, 2, 0, 1])
})

test('an endpoint far off the others is retried once, as the last resort, if no other answers', async () => {
  const { ask } = rotating(2)
  const answer = await ask((index, isLastResort) => {
    if (index === 1) return down()
    return isLastResort ? undefined : new EndpointError('far_head', 'Far behind')
  })
  expect(answer).toEqual({ asked: [0, 1, 1, 0], answered: 0 })
})

test('the error has the failure of every attempt and the pause that all endpoints asked for', async () => {
  const { ask } = rotating(2)
  const { asked, exhaustion } = await ask(
    (index) => new EndpointError('busy', 'Busy', { retryAfterMs: 5_000 * (index + 1) }),
  )
  expect(asked).toEqual([0, 1])
  expect(exhaustion).toMatchObject({ attempts: 2, busyMs: 5_000 })
  expect(exhaustion?.errors.map(String)).toEqual(Array(2).fill(expect.stringContaining('Busy')))
})

test('an endpoint whose pause outlasts the request is one that does not answer', async () => {
  const { ask } = rotating(2)
  const refuse = (index: number) =>
    index === 0 ? new EndpointError('busy', 'Busy', { retryAfterMs: 5_000 }) : new RpcRefusedError(-32_602, 'No')
  await ask(refuse)
  const { asked, exhaustion } = await ask(refuse)
  expect(asked).toEqual([1])
  expect(exhaustion?.errors).toEqual([expect.any(RpcRefusedError), expect.any(EndpointError)])
})

test("errors that are not an endpoint's pass through at once", async () => {
  await expect(rotating(2).ask(() => new RangeError('A bug'))).rejects.toThrow(RangeError)
})

test('with firstProbeMs of 0 another endpoint is probed with the first request, else later', async () => {
  const early = rotating(2, { firstProbeMs: 0 })
  await early.ask()
  await early.ask()
  expect(early.looked).toEqual([1])
  const late = rotating(2)
  await late.ask()
  expect(late.looked).toEqual([])
})
