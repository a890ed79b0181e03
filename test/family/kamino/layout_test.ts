import { describe, expect, test } from 'bun:test'
import {
  decodeMarket,
  decodeObligation,
  decodeReserve,
  isAccount,
  readLastUpdateSlot,
} from '../../../src/family/kamino/read/accounts/layout.ts'
import { marketBytes, obligationBytes, reserveBytes, SF, toFakeAddress } from '../../support/kamino.ts'

const MARKET = toFakeAddress('market')
const OWNER = toFakeAddress('owner')
const [A, B, C] = [toFakeAddress('a'), toFakeAddress('b'), toFakeAddress('c')]

describe('isAccount()', () => {
  const accounts = {
    obligation: obligationBytes({ market: MARKET, owner: OWNER }),
    reserve: reserveBytes({ market: MARKET }),
    market: marketBytes(),
  }

  test('distinguishes each kind from every other', () => {
    const kinds = Object.keys(accounts) as (keyof typeof accounts)[]
    for (const kind of kinds) {
      expect(kinds.filter((other) => isAccount(other, accounts[kind]))).toEqual([kind])
    }
  })

  test('refuses a byte less, a byte more, another discriminator and nothing', () => {
    const { obligation } = accounts
    const other = Uint8Array.from(obligation)
    other[7] = 0
    expect(isAccount('obligation', obligation.subarray(0, 3343))).toBe(false)
    expect(isAccount('obligation', Uint8Array.from([...obligation, 0]))).toBe(false)
    expect(isAccount('obligation', other)).toBe(false)
    expect(isAccount('obligation', new Uint8Array())).toBe(false)
  })
})

describe('decodeObligation()', () => {
  test('reads every entry to the last, also if free ones precede used ones', () => {
    const data = obligationBytes({
      market: MARKET,
      owner: OWNER,
      deposits: [
        { reserve: A, collateralAmount: 2n ** 64n - 1n, slot: 3 },
        { reserve: B, collateralAmount: 1n, slot: 7 },
      ],
      borrows: [
        { reserve: C, amountSf: 2n ** 128n - 1n, cumulativeRateSf: 2n ** 200n + 5n, slot: 1 },
        { reserve: A, amountSf: 7n, slot: 4 },
      ],
      elevationGroup: 32,
      lastUpdateSlot: 2n ** 63n,
    })
    expect(readLastUpdateSlot(data)).toBe(2n ** 63n)
    expect(decodeObligation(data)).toEqual({
      lastUpdateSlot: 2n ** 63n,
      market: MARKET,
      owner: OWNER,
      deposits: [
        { reserve: A, collateralAmount: 2n ** 64n - 1n },
        { reserve: B, collateralAmount: 1n },
      ],
      borrows: [
        { reserve: C, amountSf: 2n ** 128n - 1n, cumulativeRateSf: 2n ** 200n + 5n },
        { reserve: A, amountSf: 7n, cumulativeRateSf: SF },
      ],
      elevationGroup: 32,
    })
  })

  test('leaves out entries that hold nothing', () => {
    const data = obligationBytes({
      market: MARKET,
      owner: OWNER,
      deposits: [{ reserve: A, collateralAmount: 0n }],
      borrows: [{ reserve: B, amountSf: 0n }],
    })
    expect(decodeObligation(data)).toMatchObject({ deposits: [], borrows: [] })
  })

  test('reads bytes that start in the middle of a buffer', () => {
    const data = obligationBytes({ market: MARKET, owner: OWNER, deposits: [{ reserve: A, collateralAmount: 9n }] })
    const shifted = new Uint8Array(data.length + 3)
    shifted.set(data, 3)
    expect(decodeObligation(shifted.subarray(3))).toEqual(decodeObligation(data))
  })
})

test('decodeReserve() reads every field from its own offset', () => {
  const data = reserveBytes({
    market: MARKET,
    mint: B,
    lastUpdateSlot: 1n,
    availableAmount: 2n,
    borrowedSf: 3n << 64n,
    cumulativeRateSf: 4n << 128n,
    protocolFeesSf: 5n << 64n,
    referrerFeesSf: 6n << 64n,
    pendingReferrerFeesSf: 7n << 64n,
    collateralSupply: 8n,
    decimals: 9,
    priceSf: 10n << 64n,
    priceTimestampSec: 11n,
    hostFixedRateBps: 12,
    protocolTakeRatePct: 13,
    maxLtvPct: 14,
    liquidationThresholdPct: 15,
    borrowFactorPct: 16n,
    curve: [
      [0, 17],
      [10_000, 18],
    ],
    scopeFeed: A,
    scopeChain: [19, 20, 65_535],
    lastUpdateTimestampSec: 21n,
    interestRateBasis: 1,
    emergencyMode: 22,
    rewardsAvailable: 23n,
    rewardsPerUnit: 24n,
    priceStatus: 25,
    maxPriceAgeSec: 26n,
    priceBounds: { lower: 27n, upper: 28n, exponent: 29n },
    blockPriceUsage: 30,
    name: 'jitoSOL\u202e',
    groups: [31, 0, 255],
  })
  expect(readLastUpdateSlot(data)).toBe(1n)
  const { curve, ...rest } = decodeReserve(data)
  expect(rest).toEqual({
    market: MARKET,
    mint: B,
    lastUpdateSlot: 1n,
    availableAmount: 2n,
    borrowedSf: 3n << 64n,
    cumulativeRateSf: 4n << 128n,
    protocolFeesSf: 5n << 64n,
    referrerFeesSf: 6n << 64n,
    pendingReferrerFeesSf: 7n << 64n,
    collateralSupply: 8n,
    decimals: 9,
    priceSf: 10n << 64n,
    priceTimestampSec: 11n,
    hostFixedRateBps: 12n,
    protocolTakeRatePct: 13n,
    maxLtvPct: 14n,
    liquidationThresholdPct: 15n,
    borrowFactorPct: 16n,
    scopeFeed: A,
    scopeChain: [19, 20, 65_535, 65_535],
    lastUpdateTimestampSec: 21n,
    accrualUnit: 'second',
    emergencyMode: true,
    rewardsAvailable: 23n,
    rewardsPerUnit: 24n,
    priceStatus: 25,
    maxPriceAgeSec: 26n,
    priceBounds: { lower: 27n, upper: 28n, exponent: 29n },
    priceBlocked: true,
    symbol: 'jitoSOL',
    groups: [31, 255],
  })
  expect(curve.length).toBe(11)
  expect(curve.slice(0, 2)).toEqual([
    { utilizationBps: 0n, rateBps: 17n },
    { utilizationBps: 10_000n, rateBps: 18n },
  ])
})

test.each([
  [0, 'slot'],
  [1, 'second'],
  [2, 'unknown'],
  [255, 'unknown'],
] as const)('a reserve of interest-rate basis %d accrues by %s', (interestRateBasis, expected) => {
  expect(decodeReserve(reserveBytes({ market: MARKET, interestRateBasis })).accrualUnit).toBe(expected)
})

test('decodeReserve() uses the first letters of the mint if the token has no name', () => {
  expect(decodeReserve(reserveBytes({ market: MARKET, mint: B })).symbol).toBe(B.slice(0, 4))
})

test('decodeMarket() reads all 32 elevation groups', () => {
  const group = (id: number) => ({ id, maxLtvPct: id, liquidationThresholdPct: 100 - id })
  const { elevationGroups, ...rest } = decodeMarket(
    marketBytes({
      name: 'Market of 32 bytes: 012345678901',
      referralFeeBps: 2_000,
      rewardsMaxAprBps: 65_535,
      borrowCapUsd: 45_000_000n,
      elevationGroups: [group(1), group(32)],
    }),
  )
  expect(rest).toEqual({
    name: 'Market of 32 bytes: 012345678901',
    referralFeeBps: 2_000n,
    rewardsMaxAprBps: 65_535n,
    borrowCapUsd: 45_000_000n,
  })
  expect(elevationGroups.length).toBe(32)
  expect([elevationGroups[0], elevationGroups[31]]).toEqual([
    { id: 1, maxLtvPct: 1n, liquidationThresholdPct: 99n },
    { id: 32, maxLtvPct: 32n, liquidationThresholdPct: 68n },
  ])
})
