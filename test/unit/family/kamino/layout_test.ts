import { describe, expect, test } from 'bun:test'
import {
  decodeMarket,
  decodeObligation,
  decodeReserve,
  isAccount,
  readLastUpdateSlot,
} from '../../../../src/family/kamino/read/accounts/layout.ts'
import {
  marketBytes,
  obligationBytes,
  patchAccount,
  reserveBytes,
  SF,
  toFakeAddress,
  toServedAccount,
} from '../../../support/kamino.ts'

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
    expect(decodeObligation(data)).toMatchObject({
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
  expect(rest).toMatchObject({
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
  expect(rest).toMatchObject({
    name: 'Market of 32 bytes: 012345678901',
    referralFeeBps: 2_000n,
    rewardsMaxAprBps: 65_535n,
    borrowCapUsd: 45_000_000n,
  })
  expect(elevationGroups.length).toBe(32)
  expect([elevationGroups[0], elevationGroups[31]]).toMatchObject([
    { id: 1, maxLtvPct: 1n, liquidationThresholdPct: 99n },
    { id: 32, maxLtvPct: 32n, liquidationThresholdPct: 68n },
  ])
})

/** The bytes with numbers written at places: `[offset, length in bytes, value]`. */
function patch(
  data: Uint8Array,
  places: readonly (readonly [at: number, length: number, value: bigint])[],
): Uint8Array {
  const accounts = { account: toServedAccount(data) }
  for (const [at, length, value] of places) patchAccount(accounts, 'account', { at, length, value })
  return data
}

test('decodeObligation() reads what rules look at, each from its own offset', () => {
  const data = patch(
    obligationBytes({
      market: MARKET,
      owner: OWNER,
      deposits: [{ reserve: A, collateralAmount: 1n, slot: 7 }],
      borrows: [{ reserve: B, amountSf: SF, slot: 4 }],
    }),
    [
      [96 + 7 * 136 + 56, 8, 2n],
      [1208 + 4 * 200 + 80, 8, 3n],
      [1208 + 4 * 200 + 136, 8, 4n],
      [2320, 1, 5n],
      [2321, 1, 6n],
      [2336, 8, 7n],
      [2344, 16, 8n << 64n],
      [2380, 1, 1n],
      [2472, 16, 9n << 64n],
      [2508, 1, 7n],
      [2509, 1, 4n],
    ],
  )
  expect(decodeObligation(data)).toMatchObject({
    deposits: [{ groupBorrowed: 2n }],
    borrows: [{ borrowedAtSec: 3n, countedOutsideGroups: 4n }],
    borrowingDisabled: true,
    deleveraging: { targetLtvPct: 6n, startedAtSec: 7n },
    orders: [
      { thresholdSf: 8n << 64n, condition: 'ltv_above', action: 'sale' },
      { thresholdSf: 9n << 64n, condition: 'unknown', action: 'unknown' },
    ],
  })
})

test('decodeReserve() reads what rules look at, each from its own offset', () => {
  const data = patch(reserveBytes({ market: MARKET }), [
    [8, 8, 2n],
    [280, 8, 3n],
    [288, 8, 4n],
    [4856, 1, 1n],
    [4880, 8, 5n],
    [4888, 8, 6n],
    [5016, 8, 7n],
    [5024, 8, 8n],
    [5088, 8, 9n],
    [5104, 8, 10n],
    [5152, 8, 0xffff_000c_000b_000an],
    [5416, 8, 2n ** 64n - 1n],
    [5424, 8, 11n],
    [5432, 8, 12n],
    [5440, 8, 13n],
    [5448, 8, 14n],
    [5456, 8, 15n],
    [5464, 8, 16n],
    [5472, 8, 17n],
    [5500, 1, 1n],
    [5501, 1, 18n],
    [5502, 1, 1n],
    [5504, 8, 19n],
    [5512, 8, 20n],
    [5512 + 31 * 8, 8, 21n],
    [5776, 8, 22n],
    [5784, 8, 23n],
    [6704, 8, 24n],
    [6712, 8, 25n],
    [6712 + 31 * 8, 8, 26n],
    [5800, 8, 8n],
    [6968, 8, 27n],
  ])
  const reserve = decodeReserve(data)
  expect(reserve).toMatchObject({
    layoutVersion: 2n,
    depositLimitCrossedAtSec: 3n,
    borrowLimitCrossedAtSec: 4n,
    isActive: false,
    isObsolete: true,
    deleveraging: { isEnabled: true, marginCallSec: 5n, thresholdFallBpsPerDay: 6n },
    depositLimit: 7n,
    borrowLimit: 8n,
    averageCheck: { toleranceBps: 9n, maxAgeSec: 10n },
    averageChain: [10, 11, 12, 65_535],
    withdrawalCap: { capacity: -1n, spent: 11n, startedAtSec: 12n, intervalSec: 13n },
    borrowCap: { capacity: 14n, spent: 15n, startedAtSec: 16n, intervalSec: 17n },
    backsDebtInGroupsOnly: true,
    utilizationLimitPct: 18n,
    borrowLimitOutsideGroups: 19n,
    debtMaturitySec: 22n,
    debtTermSec: 23n,
    borrowedOutsideGroups: 24n,
    queuedCollateral: 27n,
    permissions: { loans: false, others: true },
  })
  const { groupLimits, groupBorrowed } = reserve
  expect([groupLimits.length, groupLimits[0], groupLimits[31]]).toEqual([32, 20n, 21n])
  expect([groupBorrowed.length, groupBorrowed[0], groupBorrowed[31]]).toEqual([32, 25n, 26n])
})

test('decodeMarket() reads what rules look at, each from its own offset', () => {
  const group = { id: 32, maxLtvPct: 1, liquidationThresholdPct: 2, debtReserve: A }
  const data = patch(marketBytes({ elevationGroups: [group] }), [
    [8, 8, 2n],
    [122, 1, 1n],
    [123, 1, 1n],
    [124, 1, 1n],
    [3224, 16, 3n << 64n],
    [3288, 8, 4n],
    [3304, 1, 1n],
    [3307, 1, 1n],
    [3308, 1, 1n],
    [3309, 1, 1n],
    [3432, 8, 2n],
  ])
  const market = decodeMarket(data)
  expect(market).toMatchObject({
    layoutVersion: 2n,
    isEmergency: true,
    isDeleveragingEnabled: true,
    isBorrowingDisabled: true,
    leastValueSf: 3n << 64n,
    deleveragingMarginCallSec: 4n,
    areOrdersExecuted: true,
    isPriceLiquidationDisabled: true,
    isMaturityLiquidationEnabled: true,
    isTermLiquidationEnabled: true,
    permissions: { loans: true, others: false },
  })
  expect(market.elevationGroups[31]).toMatchObject({ id: 32, allowsNewLoans: true, debtReserve: A })
  const unset = decodeMarket(marketBytes())
  expect(Object.entries(unset).filter(([, value]) => value === true)).toEqual([])
})
