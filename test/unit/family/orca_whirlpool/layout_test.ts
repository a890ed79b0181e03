import { describe, expect, test } from 'bun:test'
import {
  decodeBundle,
  decodePool,
  decodePosition,
  decodeTick,
  isTruncated,
  readRewardsTimestampSec,
} from '../../../../src/family/orca_whirlpool/read/layout.ts'
import { toFakeAddress } from '../../../support/kamino.ts'
import {
  bundleBytes,
  dynamicArrayBytes,
  fixedArrayBytes,
  type PoolFixture,
  type PositionFixture,
  poolBytes,
  positionBytes,
  type TickFixture,
} from '../../../support/orca.ts'

const [A, B, C] = [toFakeAddress('a'), toFakeAddress('b'), toFakeAddress('c')]
const U64 = 2n ** 64n
const U128 = 2n ** 128n

const POOL: PoolFixture = {
  tickSpacing: 64,
  feeTierIndex: 1_024,
  feeRate: 65_535,
  liquidity: U128 - 2n,
  sqrtPrice: U64,
  tick: 0,
  mintA: A,
  vaultA: toFakeAddress('vault a'),
  growthA: U128 - 3n,
  mintB: B,
  vaultB: toFakeAddress('vault b'),
  growthB: U128 - 4n,
  rewardsUpdatedAt: U64 - 5n,
  rewards: [
    { mint: A, vault: B, emissionsX64: U128 - 6n, growthX64: U128 - 7n },
    { mint: B, vault: C, emissionsX64: 1n, growthX64: 2n },
    { mint: C, vault: A, emissionsX64: 3n, growthX64: 4n },
  ],
}

const POSITION: PositionFixture = {
  pool: A,
  mint: B,
  liquidity: U128 - 1n,
  lower: -443_636,
  upper: 443_636,
  checkpointA: U128 - 2n,
  owedA: U64 - 3n,
  checkpointB: U128 - 4n,
  owedB: U64 - 5n,
  rewards: [
    { checkpoint: U128 - 6n, owed: U64 - 7n },
    { checkpoint: 8n, owed: 9n },
    { checkpoint: 10n, owed: 11n },
  ],
}

describe('a pool', () => {
  test('has every field where the program has it', () => {
    expect(decodePool(poolBytes(POOL))).toEqual({
      tickSpacing: 64,
      feeRate: 65_535,
      hasAdaptiveFee: true,
      liquidity: U128 - 2n,
      sqrtPriceX64: U64,
      tick: 0,
      mintA: A,
      mintB: B,
      growthA: U128 - 3n,
      growthB: U128 - 4n,
      rewardsAtSec: U64 - 5n,
      rewards: POOL.rewards,
    })
    expect(readRewardsTimestampSec(poolBytes(POOL))).toBe(U64 - 5n)
    expect(decodePool(poolBytes({ ...POOL, feeTierIndex: 64 }))?.hasAdaptiveFee).toBe(false)
  })

  test('has as many rewards as name a mint', () => {
    for (const count of [0, 1, 2]) {
      expect(decodePool(poolBytes({ ...POOL, rewards: POOL.rewards.slice(0, count) }))?.rewards.length).toBe(count)
    }
  })

  test.each([
    ['the price of its tick', 0, U64, true],
    ['just below the next tick', 0, 18_447_666_387_855_959_849n, true],
    ['that of the next tick, after a swap that ended there', 0, 18_447_666_387_855_959_850n, true],
    ['beyond the next tick', 0, 18_447_666_387_855_959_851n, false],
    ['below its tick', 0, U64 - 1n, false],
    ['the least price, one tick below the least', -443_637, 4_295_048_016n, true],
    ['the least price', -443_636, 4_295_048_016n, true],
    ['the greatest price', 443_636, 79_226_673_515_401_279_992_447_579_055n, true],
    ['a tick that there is not', 443_637, 79_226_673_515_401_279_992_447_579_055n, false],
  ])('is believed only with a price that fits its tick: %s', (_, tick, sqrtPrice, isBelieved) => {
    expect(decodePool(poolBytes({ ...POOL, tick, sqrtPrice })) !== undefined).toBe(isBelieved)
  })

  test('is none with a spacing of 0, a byte more or less, or of another kind', () => {
    const bytes = poolBytes(POOL)
    expect(decodePool(poolBytes({ ...POOL, tickSpacing: 0 }))).toBeUndefined()
    expect(decodePool(bytes.subarray(1))).toBeUndefined()
    expect(decodePool(bytes.subarray(0, 652))).toBeUndefined()
    expect(decodePool(Uint8Array.from([...bytes, 0]))).toBeUndefined()
    expect(decodePool(bytes.with(7, 0))).toBeUndefined()
    expect([bytes, bytes.subarray(0, 652), bytes.with(7, 0)].map(isTruncated)).toEqual([false, true, false])
  })
})

describe('a position', () => {
  test('has every field where the program has it', () => {
    expect(decodePosition(positionBytes(POSITION))).toEqual({
      pool: A,
      mint: B,
      liquidity: U128 - 1n,
      tickLower: -443_636,
      tickUpper: 443_636,
      checkpointA: U128 - 2n,
      owedA: U64 - 3n,
      checkpointB: U128 - 4n,
      owedB: U64 - 5n,
      rewards: POSITION.rewards.map(({ checkpoint, owed }) => ({ checkpointX64: checkpoint, owed })),
    })
  })

  test('is none without a range, a byte short, or of another kind', () => {
    const bytes = positionBytes(POSITION)
    for (const range of [{ upper: -443_636 }, { lower: 443_636 }, { lower: -443_637 }, { upper: 443_637 }]) {
      expect(decodePosition(positionBytes({ ...POSITION, ...range }))).toBeUndefined()
    }
    expect(decodePosition(bytes.subarray(0, 215))).toBeUndefined()
    expect(decodePosition(poolBytes(POOL))).toBeUndefined()
    expect(isTruncated(bytes.subarray(0, 215))).toBe(true)
  })
})

describe('a bundle', () => {
  test('has each of its 256 places, first and last too', () => {
    for (let place = 0; place < 256; place++) {
      expect(decodeBundle(bundleBytes({ mint: A, places: [place] }))).toEqual({ mint: A, indexes: [place] })
    }
    const all = Array.from({ length: 256 }, (_, place) => place)
    expect(decodeBundle(bundleBytes({ mint: A, places: all }))?.indexes).toEqual(all)
    expect(decodeBundle(bundleBytes({ mint: A, places: [] }))?.indexes).toEqual([])
  })

  test('is none a byte short', () => {
    expect(decodeBundle(bundleBytes({ mint: A, places: [1] }).subarray(0, 135))).toBeUndefined()
  })
})

/** A tick that no other has. */
function createTick(index: number): TickFixture {
  const base = BigInt(index + 1_000_000)
  return {
    index,
    net: -base,
    gross: base,
    outsideA: U128 - base,
    outsideB: base << 64n,
    rewards: [base * 3n, U128 - base * 5n, base * 7n],
  }
}

function shown(tick: TickFixture) {
  const { outsideA, outsideB, rewards } = tick
  return { isInitialized: true, outsideA, outsideB, outsideRewards: rewards }
}

describe.each([
  ['fixed', fixedArrayBytes],
  ['dynamic', dynamicArrayBytes],
] as const)('a %s array', (kind, bytesOf) => {
  const tickSpacing = 8
  const start = -88 * tickSpacing
  const places = Array.from({ length: 88 }, (_, place) => start + tickSpacing * place)

  test('has each of its 88 ticks, alone and among any others', () => {
    const sets = [
      ...places.map((tick) => [tick]),
      places,
      places.filter((_, place) => place % 3 === 0),
      places.filter((_, place) => place % 7 !== 2),
    ]
    for (const set of sets) {
      const data = bytesOf({ start, pool: A, tickSpacing, ticks: set.map(createTick) })
      for (const tick of places) {
        const expected = set.includes(tick) ? shown(createTick(tick)) : { isInitialized: false }
        expect(decodeTick(data, { pool: A, tickSpacing, tick })).toMatchObject(expected)
      }
    }
  })

  test('is not believed of another pool, another start, between two ticks, or cut', () => {
    const data = bytesOf({ start, pool: A, tickSpacing, ticks: places.map(createTick) })
    expect(decodeTick(data, { pool: B, tickSpacing, tick: start })).toBeUndefined()
    expect(decodeTick(data, { pool: A, tickSpacing, tick: 0 })).toBeUndefined()
    expect(decodeTick(data, { pool: A, tickSpacing, tick: start - 8 })).toBeUndefined()
    expect(decodeTick(data, { pool: A, tickSpacing, tick: start + 1 })).toBeUndefined()
    expect(decodeTick(data.with(7, 0), { pool: A, tickSpacing, tick: start })).toBeUndefined()
    const last = places.at(-1) ?? 0
    expect(decodeTick(data.subarray(0, data.length - 1), { pool: A, tickSpacing, tick: last })).toBeUndefined()
    expect(isTruncated(data.subarray(0, kind === 'fixed' ? data.length - 1 : 147))).toBe(true)
  })
})

test('a dynamic array that says it has more ticks than it has gives none of them, and never fails', () => {
  const data = dynamicArrayBytes({ start: 0, pool: A, tickSpacing: 1, ticks: [createTick(0)] })
  const lying = data.slice()
  lying.fill(255, 44, 55)
  for (let tick = 0; tick < 88; tick++) expect(() => decodeTick(lying, { pool: A, tickSpacing: 1, tick })).not.toThrow()
  expect(decodeTick(lying, { pool: A, tickSpacing: 1, tick: 87 })).toBeUndefined()
})

test('full-range pools have a left array that begins below the least tick', () => {
  const tickSpacing = 32_896
  const lower = -427_648
  const start = -88 * tickSpacing
  for (const bytesOf of [fixedArrayBytes, dynamicArrayBytes]) {
    const data = bytesOf({ start, pool: A, tickSpacing, ticks: [createTick(lower)] })
    expect(decodeTick(data, { pool: A, tickSpacing, tick: lower })).toEqual(shown(createTick(lower)))
  }
})
