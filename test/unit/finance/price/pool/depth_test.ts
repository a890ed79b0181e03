import { describe, expect, test } from 'bun:test'
import { sqrtPriceAtTickX96 } from '../../../../../src/finance/math/liquidity.ts'
import type { RawPool } from '../../../../../src/finance/price/pool/abi.ts'
import {
  computeBidsBelow,
  computeFlatDepth,
  computeLook,
  computeStanding,
  type Interval,
  toIntervals,
  toSegments,
  toWindowIntervals,
} from '../../../../../src/finance/price/pool/depth.ts'
import {
  computeLogIntervals,
  dropNewLiquidity,
  findTick,
  type PoolEvent,
} from '../../../../../src/finance/price/pool/read_pools.ts'

const Q96 = 2n ** 96n
const Q128 = 2n ** 128n
const BIG = 10n ** 18n

/** Sums of an oracle over stretches of seconds, a tick and a liquidity. */
function sums(
  stretches: readonly (readonly [seconds: number, tick: number, liquidity: bigint])[],
  start = { tickSum: 0n, inverseSum: 0n },
) {
  let current = start
  return [
    start,
    ...stretches.map(([seconds, tick, liquidity]) => {
      current = {
        tickSum: BigInt.asIntN(56, current.tickSum + BigInt(seconds * tick)),
        inverseSum: BigInt.asUintN(160, current.inverseSum + (BigInt(seconds) * Q128) / (liquidity || 1n)),
      }
      return current
    }),
  ]
}

const twelve = (intervals: readonly (readonly [tick: number, liquidity: bigint])[]): Interval[] =>
  intervals.map(([tick, liquidity]) => ({ seconds: 150, tick, liquidity }))

describe('toWindowIntervals()', () => {
  test('are twelve means of ticks, rounded down, and harmonic means of liquidity, also over wrapped sums', () => {
    const stretches = Array.from({ length: 12 }, (_, index) => [150, index - 6, BIG * BigInt(index + 1)] as const)
    // Ticks fall first and rise then: the sums wrap in both directions.
    const inverseSum = 2n ** 160n - 5n
    const top = { tickSum: 2n ** 55n - 100n, inverseSum }
    const bottom = { tickSum: -(2n ** 55n) + 100n, inverseSum }
    for (const start of [{ tickSum: 0n, inverseSum: 0n }, top, bottom]) {
      const intervals = toWindowIntervals(sums(stretches, start), { timeSec: 1_700_000_000, isToken1: false })
      expect(intervals.map(({ tick }) => tick)).toEqual([-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5])
      for (const [index, { liquidity }] of intervals.entries()) {
        expect(Number(liquidity) / Number(BIG)).toBeCloseTo(index + 1, 9)
      }
    }
  })

  test('sums of next to no liquidity take all 160 bits', () => {
    const stretches = Array.from({ length: 12 }, () => [150, 0, 10n] as const)
    const start = { tickSum: 0n, inverseSum: 2n ** 160n - Q128 }
    const intervals = toWindowIntervals(sums(stretches, start), { timeSec: 1_700_000_000, isToken1: false })
    expect(intervals.map(({ liquidity }) => liquidity)).toEqual(Array.from({ length: 12 }, () => 10n))
  })

  test('rounds in the pool’s own ticks, then turns them for token1', () => {
    const odd = [
      { tickSum: 0n, inverseSum: 0n, timeSec: 0 },
      { tickSum: -1n, inverseSum: 1n, timeSec: 2 },
    ]
    expect(toIntervals(odd, { isToken1: false })[0]?.tick).toBe(-1)
    expect(toIntervals(odd, { isToken1: true })[0]?.tick).toBe(1)
    expect(
      toIntervals(
        [odd[0], odd[0]].flatMap((each) => each ?? []),
        { isToken1: false },
      ),
    ).toEqual([])
  })
})

describe('computeStanding()', () => {
  test('is the sixth smallest liquidity, and the lower median tick where as much stood', () => {
    const intervals = twelve(Array.from({ length: 12 }, (_, index) => [100 - index, BIG * BigInt(index + 1)]))
    expect(computeStanding(intervals)).toEqual({ liquidity: BIG * 6n, meanTick: 92, recentTick: 89 })
  })

  test('takes intervals for equal whose liquidity differs by rounding', () => {
    const rounded = twelve(Array.from({ length: 12 }, (_, index) => [index, BIG - BigInt(index % 2)]))
    expect(computeStanding(rounded)?.meanTick).toBe(5)
    const less = twelve(Array.from({ length: 12 }, (_, index) => [index, index < 5 ? BIG - BIG / 900_000n : BIG]))
    expect(computeStanding(less)?.meanTick).toBe(8)
    // Exactly a millionth less is equal.
    const million = 10n ** 6n
    const atLimit = twelve(Array.from({ length: 12 }, (_, index) => [index - 5, index < 5 ? million - 1n : million]))
    expect(computeStanding(atLimit)).toMatchObject({ liquidity: million, meanTick: 0 })
  })

  test('bears five short absences of twelve, not six', () => {
    const absent = (count: number) =>
      twelve(Array.from({ length: 12 }, (_, index) => (index < count ? [50_000, 12n] : [7, BIG])))
    expect(computeStanding(absent(5))).toEqual({ liquidity: BIG, meanTick: 7, recentTick: 7 })
    const lost = computeStanding(absent(6))
    expect(lost?.liquidity).toBe(12n)
    // A price of a second without liquidity is no price.
    expect(lost?.meanTick).toBe(7)
  })

  test('takes an interval for whole from more liquidity than its seconds on', () => {
    // An interval of which a second had no liquidity has a harmonic mean of at most its seconds.
    const mixed = (liquidity: bigint) =>
      computeStanding(twelve(Array.from({ length: 12 }, (_, index) => (index < 9 ? [500, liquidity] : [7, 151n]))))
    expect(mixed(150n)).toEqual({ liquidity: 150n, meanTick: 7, recentTick: 7 })
    expect(mixed(151n)).toEqual({ liquidity: 151n, meanTick: 500, recentTick: 7 })
    // The last minutes leave such an interval out, too, however little liquidity counts.
    const late = (liquidity: bigint) =>
      computeStanding(twelve(Array.from({ length: 12 }, (_, index) => (index === 11 ? [900, liquidity] : [6, 151n]))))
    expect(late(150n)?.recentTick).toBe(6)
    expect(late(151n)?.recentTick).toBe(453)
  })

  test('tells the last five minutes, but for intervals in which nearly nothing stood', () => {
    const intervals = twelve(Array.from({ length: 12 }, (_, index) => [index < 10 ? 100 : 10 * index, BIG]))
    expect(computeStanding(intervals)?.recentTick).toBe(105)
    const faint = (liquidity: bigint) => intervals.with(11, { seconds: 150, tick: 9_000, liquidity })
    expect(computeStanding(faint(BIG / 100n))?.recentTick).toBe(4_550)
    expect(computeStanding(faint(BIG / 100n - 1n))?.recentTick).toBe(100)
  })

  test('counts time without an interval as time without liquidity', () => {
    const known = (seconds: number): Interval[] => [{ seconds, tick: 5, liquidity: BIG }]
    expect(computeStanding(known(1_051))?.liquidity).toBe(BIG)
    expect(computeStanding(known(1_049))?.liquidity).toBe(0n)
    expect(computeStanding([])).toBeUndefined()
  })

  test('weighs unequal intervals by their time', () => {
    const intervals = [
      { seconds: 700, tick: 1, liquidity: BIG },
      { seconds: 500, tick: 2, liquidity: BIG * 3n },
      { seconds: 600, tick: 3, liquidity: BIG * 2n },
    ]
    expect(computeStanding(intervals)).toEqual({ liquidity: BIG * 2n, meanTick: 3, recentTick: 3 })
  })
})

test('full-range liquidity pays its quote tokens in the known shares: 2.53 % within 5 %, 29.3 % until half the price', () => {
  const quote = computeBidsBelow(BIG, Q96, 887_272)
  const { near, half } = computeFlatDepth({ liquidity: BIG, meanTick: 0, recentTick: 0 })
  expect(Number(near) / Number(quote)).toBeCloseTo(1 - Math.sqrt(1.0001 ** -513), 8)
  expect(Number(half) / Number(quote)).toBeCloseTo(1 - Math.sqrt(1.0001 ** -6_932), 8)
})

/** A pool at tick 0 with liquidity from −100 to 100, twice as much from −50 on, read from −7,000 to 600. */
const POOL: RawPool = {
  sqrtPriceX96: Q96,
  tick: 0,
  liquidity: 2n * BIG,
  quoteRaw: 10n ** 30n,
  sums: [],
  below: {
    ticks: [
      { tick: -50, net: BIG },
      { tick: -100, net: BIG },
    ],
    end: -7_000,
  },
  above: { ticks: [{ tick: 100, net: -2n * BIG }], end: 600 },
}

describe('computeLook()', () => {
  const root = (tick: number) => 1.0001 ** (tick / 2)
  const look = (pool: RawPool, isToken1 = false) => computeLook(pool, toSegments(pool, isToken1), isToken1)
  const bids = 1e18 * (2 * (1 - root(-50)) + (root(-50) - root(-100)))
  const asks = 2e18 * (root(100) - 1)

  test('sums bids and asks, and takes the least of both and of the balance', () => {
    const { two, half, bestBidX96 } = look(POOL)
    expect(Number(two) / bids).toBeCloseTo(1, 9)
    expect(Number(half) / bids).toBeCloseTo(1, 9)
    expect(bestBidX96).toBe(Q96)
    expect(look({ ...POOL, quoteRaw: 5n }).two).toBe(5n)
  })

  test('turns a pool around for token1: what is above its price bids for the token', () => {
    const { two, half } = look(POOL, true)
    expect(Number(half) / (2e18 * (1 - root(-100)))).toBeCloseTo(1, 9)
    expect(two).toBeLessThan(half + 1n)
    expect(Number(two) / Math.min(asks, Number(half))).toBeLessThanOrEqual(1.000001)
  })

  test('ends at 5 % for two sides and at half the price for bids', () => {
    const wide: RawPool = {
      ...POOL,
      liquidity: BIG,
      below: { ticks: [], end: -9_000 },
      above: { ticks: [], end: 9_000 },
    }
    const { two, half } = look(wide)
    expect(Number(two) / (1e18 * (1 - root(-513)))).toBeCloseTo(1, 9)
    expect(Number(half) / (1e18 * (1 - root(-6_932)))).toBeCloseTo(1, 9)
  })

  test('has no depth beyond the last tick that was read', () => {
    const cut: RawPool = { ...POOL, liquidity: BIG, below: { ticks: [], end: -10 }, above: { ticks: [], end: 9_000 } }
    expect(Number(look(cut).half) / (1e18 * (1 - root(-10)))).toBeCloseTo(1, 6)
  })

  test('finds the best bid below an empty price, and none without bids', () => {
    const risen: RawPool = { ...POOL, liquidity: 0n, below: { ticks: [{ tick: -50, net: -BIG }], end: -7_000 } }
    expect(look(risen)).toMatchObject({ two: 0n, bestBidX96: sqrtPriceAtTickX96(-50) })
    const empty: RawPool = { ...POOL, liquidity: 0n, below: { ticks: [], end: -7_000 }, above: { ticks: [], end: 600 } }
    expect(look(empty)).toEqual({ two: 0n, half: 0n, bestBidX96: undefined })
    const far: RawPool = { ...empty, below: { ticks: [{ tick: -6_940, net: -BIG }], end: -7_000 } }
    expect(look(far).bestBidX96).toBeUndefined()
  })
})

describe('a pool by its logs', () => {
  const at = (seconds: number) => 1_700_000_000 - 1_800 + seconds
  const options = { fee: 3_000, timeSec: 1_700_000_000, isToken1: false }
  const change = (seconds: number, liquidity: bigint, range = 1_000): PoolEvent => ({
    kind: 'change',
    timeSec: at(seconds),
    tickLower: -range,
    tickUpper: range,
    liquidity,
  })

  test('stood as it stands now if nothing happened', () => {
    const intervals = computeLogIntervals([], { sqrtPriceX96: Q96, liquidity: BIG }, options)
    expect(intervals).toHaveLength(12)
    for (const { tick, liquidity } of intervals) expect([tick, liquidity]).toEqual([0, BIG])
  })

  test('had less before a mint, more before a burn, and the price before the first swap', () => {
    const minted = computeLogIntervals([change(900, BIG)], { sqrtPriceX96: Q96, liquidity: 3n * BIG }, options)
    expect(minted.map(({ liquidity }) => Math.round(Number(liquidity) / 1e18))).toEqual([
      ...Array(6).fill(2),
      ...Array(6).fill(3),
    ])
    const burned = computeLogIntervals([change(900, -BIG)], { sqrtPriceX96: Q96, liquidity: BIG }, options)
    expect(burned.map(({ liquidity }) => Math.round(Number(liquidity) / 1e18))).toEqual([
      ...Array(6).fill(2),
      ...Array(6).fill(1),
    ])
    // A swap from tick 0 to tick 200 by token1: its net amount is L · (√P' − √P).
    const after = sqrtPriceAtTickX96(200)
    const amount1 = (((BIG * (after - Q96)) / Q96) * 1_000_000n) / 997_000n
    const swap: PoolEvent = {
      kind: 'swap',
      timeSec: at(1_200),
      sqrtPriceX96: after,
      liquidity: BIG,
      tick: 200,
      amount1,
    }
    const swapped = computeLogIntervals([swap], { sqrtPriceX96: after, liquidity: BIG }, options)
    expect(swapped.map(({ tick }) => tick)).toEqual(
      [...Array(8).fill(0), ...Array(4).fill(200)].map((tick) => (tick === 0 ? expect.any(Number) : tick)),
    )
    expect(Math.abs(swapped[0]?.tick ?? 9)).toBeLessThanOrEqual(1)
  })

  test('takes the fee off what a swap pays in, and off nothing that it pays out', () => {
    const findFirst = (after: bigint, amount1: bigint) => {
      const swap: PoolEvent = {
        kind: 'swap',
        timeSec: at(1_200),
        sqrtPriceX96: after,
        liquidity: BIG,
        tick: 0,
        amount1,
      }
      return computeLogIntervals([swap], { sqrtPriceX96: after, liquidity: BIG }, { ...options, fee: 10_000 })[0]?.tick
    }
    const half = BIG / 2n
    expect(Math.abs(findFirst((Q96 * 3n) / 2n, (half * 100n) / 99n) ?? 9)).toBeLessThanOrEqual(1)
    expect(Math.abs(findFirst(Q96 / 2n, -half) ?? 9)).toBeLessThanOrEqual(1)
  })

  test('counts a second without liquidity as liquidity 1, as the oracle does', () => {
    const [first] = computeLogIntervals([], { sqrtPriceX96: Q96, liquidity: 0n }, options)
    expect(first?.liquidity).toBe(1n)
  })

  test('takes a change to begin at its lower tick and to end before its upper one', () => {
    const range = (tickLower: number, tickUpper: number): PoolEvent => ({
      kind: 'change',
      timeSec: at(900),
      tickLower,
      tickUpper,
      liquidity: BIG,
    })
    const findFirst = (event: PoolEvent) =>
      computeLogIntervals([event], { sqrtPriceX96: Q96, liquidity: 3n * BIG }, options)[0]?.liquidity
    expect(findFirst(range(-60, 0))).toBe(3n * BIG)
    expect(findFirst(range(0, 60))).toBe(2n * BIG)
  })

  test('ignores changes elsewhere', () => {
    const elsewhere: PoolEvent = { ...change(900, BIG), tickLower: 5_000, tickUpper: 6_000 } as PoolEvent
    const intervals = computeLogIntervals([elsewhere], { sqrtPriceX96: Q96, liquidity: BIG }, options)
    for (const { liquidity } of intervals) expect(liquidity).toBe(BIG)
  })

  test('counts nothing that was minted in the window and not burned again', () => {
    const segments = [{ lowX96: sqrtPriceAtTickX96(-1_000), highX96: sqrtPriceAtTickX96(1_000), liquidity: 3n * BIG }]
    expect(dropNewLiquidity(segments, [change(900, BIG)], false)[0]?.liquidity).toBe(2n * BIG)
    expect(dropNewLiquidity(segments, [change(900, BIG), change(950, -BIG)], false)).toEqual(segments)
    expect(dropNewLiquidity(segments, [change(900, 3n * BIG)], false)).toEqual([])
    expect(dropNewLiquidity(segments, [change(900, -BIG)], true)).toEqual(segments)
  })

  test('findTick() inverts square roots of ticks', () => {
    for (const tick of [-887_272, -276_325, -1, 0, 1, 200_000, 887_272]) {
      expect(findTick(sqrtPriceAtTickX96(tick))).toBe(tick)
      if (tick < 887_272) expect(findTick(sqrtPriceAtTickX96(tick + 1) - 1n)).toBe(tick)
    }
  })
})
