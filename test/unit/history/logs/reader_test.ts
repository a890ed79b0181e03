import { expect, test } from 'bun:test'
import { EndpointError } from '../../../../src/chain/rpc/error.ts'
import { createAdaptiveLogSource, RangeTooNarrowError } from '../../../../src/history/logs/reader.ts'
import { LogsRefusedError, type RefusalReaction } from '../../../../src/history/logs/refusal.ts'
import type { LogsOutcome } from '../../../../src/history/metrics.ts'
import { countBlocks, type Range } from '../../../../src/history/range.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { createLogSourceDouble } from '../../../support/history/log_source.ts'
import { createSkippingClock, settle } from '../../../support/test_clock.ts'

const PATIENT = createWork(new AbortController().signal)
const MINUTE_MS = 60_000

/** An endpoint that refuses what it is told to refuse, on a clock of its own. */
function open(reactionTo: (range: Range) => RefusalReaction | undefined) {
  const clock = createSkippingClock()
  const { time } = clock
  const asked: Range[] = []
  const source = createLogSourceDouble({
    index: 0,
    usable: true,
    header: async () => undefined,
    receipt: async () => undefined,
    claim: async () => undefined,
    blockLogs: async () => undefined,
    async logs(_, range) {
      if (!('fromBlock' in range)) throw new Error('Expected a range')
      asked.push({ fromBlock: range.fromBlock, toBlock: range.toBlock })
      await settle(1)
      const reaction = reactionTo(range)
      if (reaction !== undefined) throw new LogsRefusedError(-32_000, reaction)
      return []
    },
  })
  const learned = createAdaptiveLogSource({
    source,
    clock,
  })
  const read = async (range: Range) => {
    asked.length = 0
    const request = { key: 'k', filters: [{ addresses: [], topics: [] }], firstBlocks: 1_000, turn: 0, range }
    await learned.read(request, PATIENT)
  }
  return { time, asked, learned, read, longest: () => Math.max(...asked.map(countBlocks)) }
}

test('a cap is doubted after ten minutes, by one request for the next usual length', async () => {
  let cap = 10
  const { time, asked, learned, read, longest } = open((range) =>
    countBlocks(range) > cap ? { kind: 'range', blocks: cap } : undefined,
  )
  const range = { fromBlock: 1, toBlock: 2_000 }
  await read(range)
  expect(learned.cap).toBe(10)
  time.nowMs += 9 * MINUTE_MS
  await read(range)
  expect(longest()).toBe(10)
  expect(learned.isCapInDoubt).toBe(false)

  // It still refuses: one request finds out, for all who read meanwhile, and not again for ten minutes.
  time.nowMs += MINUTE_MS
  expect(learned.isCapInDoubt).toBe(true)
  await Promise.all([read(range), read(range), read(range)])
  expect(asked.map(countBlocks).filter((blocks) => blocks > 10)).toEqual([100])
  await read(range)
  expect([longest(), learned.isCapInDoubt]).toEqual([10, false])

  // It takes everything now: each read tries the next usual length, one request at a time, until it needs no more.
  cap = Number.POSITIVE_INFINITY
  time.nowMs += 10 * MINUTE_MS
  const longestRanges: number[] = []
  for (let reads = 0; reads < 4; reads++) {
    await Promise.all([read(range), read(range)])
    longestRanges.push(longest())
  }
  expect(longestRanges).toEqual([100, 500, 1_000, 2_000])
})

test('blocks that were too old for an endpoint are asked for again after ten minutes, by one request for one', async () => {
  let floor = 1_000
  const { time, asked, learned, read } = open(({ fromBlock }) => (fromBlock < floor ? { kind: 'pruned' } : undefined))
  const range = { fromBlock: 1, toBlock: 5_000 }
  await expect(read(range)).rejects.toBeInstanceOf(UpstreamError)
  expect(learned.serves(range)).toBe(false)
  for (const isKept of [false, true]) {
    time.nowMs += 10 * MINUTE_MS
    expect(learned.serves(range)).toBe(true)
    if (isKept) floor = 0
    const reads = await Promise.allSettled([read(range), read(range), read(range)])
    expect(reads.map(({ status }) => status === 'fulfilled')).toEqual([isKept, isKept, isKept])
    expect(asked.filter(({ fromBlock, toBlock }) => fromBlock === 1 && toBlock === 1).length).toBe(1)
    if (!isKept) expect(asked.length).toBe(1)
    expect(learned.serves(range)).toBe(isKept)
  }
})

test('an endpoint that gave no logs at all is asked again after 20 and 40 seconds, by one request', async () => {
  let reaction: RefusalReaction | undefined = { kind: 'unable' }
  const { time, asked, learned, read } = open(() => reaction)
  const range = { fromBlock: 1, toBlock: 5_000 }
  await expect(read(range)).rejects.toBeInstanceOf(UpstreamError)
  expect(learned.serves(range)).toBe(false)
  time.nowMs += 20_000
  expect(learned.serves(range)).toBe(true)
  await expect(Promise.all([read(range), read(range)])).rejects.toBeInstanceOf(UpstreamError)
  expect(asked.length).toBe(1)
  reaction = undefined
  time.nowMs += 40_000
  await read(range)
  expect(learned.serves(range)).toBe(true)
})

test('a refusal in unknown words is about the length if one far shorter range is served', async () => {
  const { asked, learned, read } = open((range) => (countBlocks(range) > 3_000 ? { kind: 'unknown' } : undefined))
  await read({ fromBlock: 1, toBlock: 9_000 })
  expect(learned.cap).toBe(3_000)
  // Each of the two pieces that were under way at once tries one.
  expect(asked.map(countBlocks).filter((blocks) => blocks === 10)).toHaveLength(2)
  expect(asked.length).toBeLessThanOrEqual(14)
  await read({ fromBlock: 1, toBlock: 9_000 })
  expect(asked.map(countBlocks)).toEqual([3_000, 3_000, 3_000])
})

test('an endpoint that refuses a far shorter range as well cannot, and is left to the others at once', async () => {
  const { time, asked, learned, read } = open(() => ({ kind: 'unknown' }))
  const range = { fromBlock: 1, toBlock: 9_000 }
  await expect(read(range)).rejects.toBeInstanceOf(UpstreamError)
  expect(asked.map(countBlocks)).toEqual([1_000, 10])
  expect(learned.mayServe(range)).toBe(false)
  time.nowMs += 20_000
  expect(learned.mayServe(range)).toBe(true)
})

test('a far shorter range that is refused in known words says what the endpoint means', async () => {
  const { learned, read } = open((range) =>
    countBlocks(range) > 10 ? { kind: 'unknown' } : countBlocks(range) > 5 ? { kind: 'range', blocks: 5 } : undefined,
  )
  await read({ fromBlock: 1, toBlock: 100 })
  expect(learned.cap).toBe(5)
})

test('an endpoint that fails at long ranges, five times over, is tried once at a far shorter one', async () => {
  let isShortServed = true
  const { asked, learned, read } = open((range) => {
    if (isShortServed && countBlocks(range) <= 500) return undefined
    throw new EndpointError('failed', 'The endpoint answered HTTP 500')
  })
  await read({ fromBlock: 1, toBlock: 1_000 })
  expect(learned.cap).toBe(500)
  expect(asked.map(countBlocks)).toEqual([1_000, 1_000, 1_000, 1_000, 1_000, 10, 500, 500])

  // A failure of every range stays a failure: it rests for five seconds.
  isShortServed = false
  const range = { fromBlock: 1, toBlock: 500 }
  await expect(read(range)).rejects.toThrow('The endpoint answered HTTP 500')
  expect([learned.serves(range), learned.mayServe(range)]).toEqual([false, true])
})

test('a read that would take far more requests than planned is given up once that is known', async () => {
  const { asked, learned, read } = open((range) =>
    countBlocks(range) > 10 ? { kind: 'range', blocks: undefined } : undefined,
  )
  await expect(read({ fromBlock: 1, toBlock: 4_000_000 })).rejects.toBeInstanceOf(RangeTooNarrowError)
  await expect(read({ fromBlock: 1, toBlock: 4_000_000 })).rejects.toBeInstanceOf(RangeTooNarrowError)
  expect(asked.length).toBeLessThanOrEqual(16)
  await read({ fromBlock: 1, toBlock: 100 })
  expect(learned.cap).toBe(10)
})

test('once a cap is known, longer ranges that still wait for their turn are divided without asking', async () => {
  const cap = 2_000
  const asked: number[] = []
  const source = createLogSourceDouble({
    index: 0,
    usable: true,
    header: async () => undefined,
    receipt: async () => undefined,
    claim: async () => undefined,
    blockLogs: async () => undefined,
    async logs(_, range) {
      if (!('fromBlock' in range)) throw new Error('Expected a range')
      const blocks = range.toBlock - range.fromBlock + 1
      asked.push(blocks)
      await settle(1)
      if (blocks > cap) throw new LogsRefusedError(-32_000, { kind: 'range', blocks: cap })
      return []
    },
  })
  const outcomes: LogsOutcome[] = []
  const learned = createAdaptiveLogSource({
    source,
    clock: createSkippingClock(),
    onOutcome: (outcome) => outcomes.push(outcome),
  })
  const request = { key: 'k', filters: [{ addresses: [], topics: [] }], firstBlocks: 1_000, turn: 0 }
  // The first piece is short enough, so all others are made four times as long.
  await learned.read({ ...request, range: { fromBlock: 1, toBlock: 201_000 } }, PATIENT)
  const refused = asked.filter((blocks) => blocks > cap)
  expect(learned.cap).toBe(cap)
  expect(outcomes.filter((outcome) => outcome === 'refused').length).toBe(refused.length)
  // Of 50 only the eight that were under way at once, and the next, which starts before the first refusal is read.
  expect(refused.length).toBeLessThanOrEqual(9)
  expect(asked.filter((blocks) => blocks <= cap).reduce((sum, blocks) => sum + blocks, 0)).toBe(201_000)
})

test('an endpoint that limits its rate is waited for six times in one read', async () => {
  const { asked, read } = open(() => {
    throw new EndpointError('busy', 'Slow down', { retryAfterMs: 1_000 })
  })
  await expect(read({ fromBlock: 1, toBlock: 10 })).rejects.toThrow('Slow down')
  expect(asked.length).toBe(7)
})

test('an endpoint that fails is asked four times more, each after twice the pause, and then rests', async () => {
  const clock = createSkippingClock()
  let asked = 0
  const source = createLogSourceDouble({
    index: 0,
    usable: true,
    header: async () => undefined,
    receipt: async () => undefined,
    claim: async () => undefined,
    blockLogs: async () => undefined,
    async logs() {
      asked++
      throw new UpstreamError('No answer')
    },
  })
  const learned = createAdaptiveLogSource({
    source,
    clock,
  })
  const range = { fromBlock: 1, toBlock: 9 }
  const request = { key: 'k', filters: [{ addresses: [], topics: [] }], firstBlocks: 1_000, turn: 0, range }
  await expect(learned.read(request, PATIENT)).rejects.toBeInstanceOf(UpstreamError)
  expect([asked, clock.sleeps]).toEqual([5, [200, 400, 800, 1_600]])
  expect([learned.serves(range), learned.mayServe(range)]).toEqual([false, true])
})

test('a single block before the first piece is read too', async () => {
  const { asked, read } = open(() => undefined)
  await read({ fromBlock: 1, toBlock: 1_001 })
  expect(asked).toEqual([
    { fromBlock: 2, toBlock: 1_001 },
    { fromBlock: 1, toBlock: 1 },
  ])
})
