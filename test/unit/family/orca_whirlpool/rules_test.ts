import { expect, test } from 'bun:test'
import { computeOwed, computeWithdrawal } from '../../../../src/family/orca_whirlpool/math/figures.ts'
import type { WhirlpoolTick } from '../../../../src/family/orca_whirlpool/math/state.ts'
import { sqrtPriceAtTickX64, TICK_MAX } from '../../../../src/family/orca_whirlpool/math/tick.ts'
import { afterTransferFee } from '../../../../src/finance/math/transfer.ts'
import { maxBigint, minBigint } from '../../../../src/lib/number/fixed_point.ts'
import { caseCount } from '../../../support/cases.ts'

const STATES = caseCount(20_000)
const [U64, U128] = [2n ** 64n, 2n ** 128n]

/** Deterministic random numbers: xorshift over 64 bits. */
function createRandom(seed: bigint) {
  let state = seed
  const next = (): bigint => {
    state ^= (state << 13n) % U64
    state ^= state >> 7n
    state ^= (state << 17n) % U64
    state %= U64
    return state
  }
  const below = (bound: bigint): bigint => ((next() * U64 + next()) * U64 + next()) % bound
  return {
    below,
    /** Uniform over bit lengths. */
    sized: (bits: number): bigint => below(2n ** BigInt(1 + Number(below(BigInt(bits))))),
    chance: (one: number): boolean => below(BigInt(one)) === 0n,
    of: <T>(list: readonly T[]): T => list[Number(below(BigInt(list.length)))] as T,
  }
}

type Random = ReturnType<typeof createRandom>

function createState(random: Random) {
  const spacing = random.of([1, 2, 4, 8, 64, 128, 32_896])
  const last = Math.floor(TICK_MAX / spacing)
  const place = (from: number, to: number) => from + Number(random.below(BigInt(to - from + 1)))
  const isFullRange = spacing === 32_896 || random.chance(20)
  const lower = spacing * (isFullRange ? -last : place(-last, last - 1))
  const upper = spacing * (isFullRange ? last : place(lower / spacing + 1, last))
  const near = random.of([lower - 1, lower, lower + 1, upper - 1, upper, upper + 1, place(-TICK_MAX, TICK_MAX)])
  const tick = Math.min(Math.max(near, -TICK_MAX), TICK_MAX - 1)
  const [least, most] = [sqrtPriceAtTickX64(tick), sqrtPriceAtTickX64(tick + 1)]
  const sqrtPriceX64 = random.of([least, most, least + random.below(most - least)])
  const growth = () => random.of([random.sized(128), U128 - 1n - random.sized(64), random.below(U128)])
  const end = (): WhirlpoolTick => ({
    isInitialized: !random.chance(6),
    outsideA: growth(),
    outsideB: growth(),
    outsideRewards: [growth(), growth(), growth()],
  })
  const owed = () => random.of([0n, random.sized(64), U64 - 1n - random.sized(20)])
  const rewards = Array.from({ length: Number(random.below(4n)) }, () => ({
    mint: '',
    vault: '',
    emissionsX64: random.sized(128),
    growthX64: growth(),
  }))
  const pool = {
    tickSpacing: spacing,
    feeRate: 0,
    hasAdaptiveFee: false,
    liquidity: random.chance(8) ? 0n : random.sized(100),
    sqrtPriceX64,
    tick,
    mintA: '',
    mintB: '',
    growthA: growth(),
    growthB: growth(),
    rewardsAtSec: 1_790_000_000n - random.sized(32),
    rewards,
  }
  const position = {
    pool: '',
    mint: '',
    liquidity: random.chance(10) ? 0n : random.sized(80),
    tickLower: lower,
    tickUpper: upper,
    checkpointA: growth(),
    owedA: owed(),
    checkpointB: growth(),
    owedB: owed(),
    rewards: [0, 1, 2].map(() => ({ checkpointX64: growth(), owed: owed() })),
  }
  return { pool, position, ticks: { lower: end(), upper: end() }, nowSec: 1_790_000_000n }
}

type State = ReturnType<typeof createState>

/** The rules, in the order of the notes; a mutant is the computation without one of them. */
const RULES = [
  'a pool without liquidity emits nothing',
  'an emission of over 128 bits is nothing',
  'growth wraps at 128 bits',
  'a lower end that is not initialized has all growth below it',
  'an upper end that is not initialized has none above it',
  'which side an end is on is told by the tick',
  'a product of over 128 bits is given up',
  'owed wraps at 64 bits',
  'amounts are rounded down',
] as const
type Rule = (typeof RULES)[number]

/** The program's results, computed from the rules over exact fractions. */
function oracle({ pool, position, ticks, nowSec }: State, without?: Rule) {
  const has = (rule: Rule) => rule !== without
  const modulo = (value: bigint, size: bigint) => ((value % size) + size) % size
  const { tickLower, tickUpper, liquidity } = position
  const tick = has('which side an end is on is told by the tick') ? pool.tick : tickOfPrice()
  const inside = (global: bigint, outside: (end: WhirlpoolTick) => bigint): bigint => {
    const { lower, upper } = ticks
    let below = tick < tickLower ? global - outside(lower) : outside(lower)
    if (!lower.isInitialized && has('a lower end that is not initialized has all growth below it')) below = global
    let above = tick < tickUpper ? outside(upper) : global - outside(upper)
    if (!upper.isInitialized && has('an upper end that is not initialized has none above it')) above = 0n
    const between = global - below - above
    return has('growth wraps at 128 bits') ? modulo(between, U128) : between
  }
  const grown = (owed: bigint, between: bigint, checkpoint: bigint): bigint => {
    const since = has('growth wraps at 128 bits') ? modulo(between - checkpoint, U128) : between - checkpoint
    const isGivenUp = liquidity * since >= U128 && has('a product of over 128 bits is given up')
    const sum = owed + (isGivenUp ? 0n : floor(liquidity * since, U64))
    return has('owed wraps at 64 bits') ? modulo(sum, U64) : sum
  }
  const { rewards } = position
  return {
    feeA: grown(
      position.owedA,
      inside(pool.growthA, (end) => end.outsideA),
      position.checkpointA,
    ),
    feeB: grown(
      position.owedB,
      inside(pool.growthB, (end) => end.outsideB),
      position.checkpointB,
    ),
    rewards: pool.rewards.map(({ emissionsX64, growthX64 }, index) => {
      const emitted = (nowSec - pool.rewardsAtSec) * emissionsX64
      const isTooMuch = emitted >= U128 && has('an emission of over 128 bits is nothing')
      const isEmpty = pool.liquidity === 0n && has('a pool without liquidity emits nothing')
      const added = isTooMuch || isEmpty ? 0n : floor(emitted, pool.liquidity === 0n ? 1n : pool.liquidity)
      const global = has('growth wraps at 128 bits') ? modulo(growthX64 + added, U128) : growthX64 + added
      const { owed = 0n, checkpointX64 = 0n } = rewards[index] ?? {}
      return grown(
        owed,
        inside(global, (end) => end.outsideRewards[index] ?? 0n),
        checkpointX64,
      )
    }),
    ...amounts(),
  }

  /** Decided by the price: the same amounts on either side of the tick. */
  function amounts() {
    const [low, high] = [sqrtPriceAtTickX64(tickLower), sqrtPriceAtTickX64(tickUpper)]
    const here = minBigint(maxBigint(pool.sqrtPriceX64, low), high)
    const rounded = has('amounts are rounded down') ? floor : (a: bigint, b: bigint) => -floor(-a, b)
    // L · (1/√here − 1/√high) and L · (√here' − √low), with roots in units of 2^-64.
    return {
      amount0: rounded(liquidity * U64 * (high - here), high * here),
      amount1: rounded(liquidity * (here - low), U64),
    }
  }

  /** The tick of a price. */
  function tickOfPrice(): number {
    return pool.sqrtPriceX64 === sqrtPriceAtTickX64(pool.tick + 1) ? pool.tick + 1 : pool.tick
  }
}

function floor(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator
  return numerator < 0n && quotient * denominator !== numerator ? quotient - 1n : quotient
}

test(`owed and withdrawn amounts of ${STATES} random states follow the rules, and every rule matters`, () => {
  const random = createRandom(22n)
  const caught = new Map<Rule, number>(RULES.map((rule) => [rule, 0]))
  for (let index = 0; index < STATES; index++) {
    const state = createState(random)
    const { pool, position, ticks, nowSec } = state
    const told = { ...computeOwed(pool, position, { ticks, nowSec }), ...computeWithdrawal(pool, position) }
    expect(told).toEqual(oracle(state))
    const text = toText(told)
    for (const rule of RULES) {
      if (toText(oracle(state, rule)) !== text) caught.set(rule, (caught.get(rule) ?? 0) + 1)
    }
  }
  // A computation without one of the rules fails, in more than one state.
  for (const [rule, times] of caught) expect([rule, times > STATES / 1_000]).toEqual([rule, true])
}, 120_000)

function toText(value: object): string {
  return JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? each.toString() : each))
}

test('computeOwed() throws without ticks, unless the position has no liquidity', () => {
  const { pool, position, nowSec } = createState(createRandom(5n))
  const at = { ticks: undefined, nowSec }
  expect(() => computeOwed(pool, { ...position, liquidity: 1n }, at)).toThrow(RangeError)
  expect(computeOwed(pool, { ...position, liquidity: 0n }, at).feeA).toBe(position.owedA)
})

test('the square root of a tick is within 2^-32 of the root itself, and grows with the tick', () => {
  const random = createRandom(7n)
  const ticks = [-TICK_MAX, -1, 0, 1, TICK_MAX]
  for (let index = 0; index < caseCount(4_000); index++)
    ticks.push(Number(random.below(BigInt(2 * TICK_MAX))) - TICK_MAX)
  for (const tick of ticks) {
    const root = sqrtPriceAtTickX64(tick)
    // (root ÷ 2^64)² against 1.0001^tick, which floating point knows to 12 digits.
    const ratio = Number((root * root * 10n ** 30n) / U128) / 1e30 / 1.0001 ** tick
    if (tick > -200_000) expect(Math.abs(ratio - 1)).toBeLessThan(1e-9)
    if (tick < TICK_MAX) expect(sqrtPriceAtTickX64(tick + 1)).toBeGreaterThan(root)
  }
  expect(sqrtPriceAtTickX64(0)).toBe(U64)
  expect(sqrtPriceAtTickX64(-TICK_MAX)).toBe(4_295_048_016n)
  expect(sqrtPriceAtTickX64(TICK_MAX)).toBe(79_226_673_515_401_279_992_447_579_055n)
  for (const tick of [TICK_MAX + 1, -TICK_MAX - 1, 0.5, Number.NaN]) {
    expect(() => sqrtPriceAtTickX64(tick)).toThrow(RangeError)
  }
})

test('a transfer fee is rounded up, and at most the maximum', () => {
  const random = createRandom(9n)
  for (let index = 0; index < caseCount(4_000); index++) {
    const [amount, max, bps] = [random.sized(64), random.sized(64), random.below(10_001n)]
    const exact = -floor(-amount * bps, 10_000n)
    expect(amount - afterTransferFee(amount, { max, bps })).toBe(minBigint(exact, max))
  }
  expect(afterTransferFee(7n, { max: 7n, bps: 10_000n })).toBe(0n)
  expect(afterTransferFee(8n, { max: 7n, bps: 10_000n })).toBe(1n)
})
