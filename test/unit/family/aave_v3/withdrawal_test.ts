import { describe, expect, test } from 'bun:test'
import type { Asset, PayingReserve } from '../../../../src/family/aave_v3/math/account.ts'
import type { Features } from '../../../../src/family/aave_v3/math/state.ts'
import { computeWithdrawable } from '../../../../src/family/aave_v3/math/withdrawal.ts'

const V3_0: Features = { liquidEModes: false, zeroLtvEModes: false, isolatedEModes: false }
const V3_6: Features = { liquidEModes: true, zeroLtvEModes: true, isolatedEModes: false }
const WAD = 10n ** 18n

type HeldAsset = Asset<PayingReserve>
interface Change extends Partial<Omit<HeldAsset, 'reserve'>> {
  readonly reserve?: Partial<PayingReserve>
}

/** 75 % LTV, 80 % threshold, 6 decimals, open, well filled, a dollar a token. */
function asset({ reserve, ...change }: Change): HeldAsset {
  return {
    isCollateral: true,
    supplied: 0n,
    variableDebt: 0n,
    stableDebt: 0n,
    stableRateRay: 0n,
    price: 10n ** 8n,
    ...change,
    reserve: {
      id: 0,
      ltvBps: 7_500n,
      liquidationThresholdBps: 8_000n,
      decimals: 6,
      isOpen: true,
      isPaused: false,
      isSiloed: false,
      legacyCategory: 0,
      debtCeiling: 0n,
      withdrawable: 10n ** 30n,
      ...reserve,
    },
  }
}

const tokens = (count: number) => BigInt(Math.round(count * 1e6))
const debt = (count: number, reserve: Partial<PayingReserve> = {}) =>
  asset({ isCollateral: false, variableDebt: tokens(count), reserve: { id: 9, ...reserve } })

/** What a withdrawal of the first asset alone pays, and what limits it. */
function withdraw(assets: readonly HeldAsset[], features = V3_6, isValued = true) {
  const [first] = assets
  if (first === undefined) throw new Error('Cannot withdraw nothing')
  const totalDebt = assets.reduce((sum, each) => sum + each.variableDebt * 100n, 0n)
  const rest = {
    totalCollateral: 0n,
    availableBorrows: 0n,
    liquidationThresholdBps: 0n,
    ltvBps: 0n,
    healthFactorWad: WAD,
  }
  const data = isValued ? { ...rest, totalDebt } : undefined
  const found = computeWithdrawable({ features, category: undefined, assets, data }, first)
  return found && [found.amount, found.limitedBy]
}

describe('a supply', () => {
  test('goes whole without a debt, or if it is no collateral', () => {
    expect(withdraw([asset({ supplied: tokens(100) })])).toBeUndefined()
    expect(withdraw([asset({ supplied: tokens(100), isCollateral: false }), debt(1_000)])).toBeUndefined()
  })

  test('of a reserve that is paused or inactive stays, whatever else there is', () => {
    expect(withdraw([asset({ supplied: 5n, reserve: { isOpen: false, isPaused: true } })])).toEqual([0n, 'paused'])
    expect(withdraw([asset({ supplied: 5n, reserve: { isOpen: false } })])).toEqual([0n, 'inactive'])
  })

  test('goes as far as the pool holds it', () => {
    const reserve = { withdrawable: tokens(40) }
    expect(withdraw([asset({ supplied: tokens(100), reserve })])).toEqual([tokens(40), 'liquidity'])
    expect(withdraw([asset({ supplied: tokens(40), reserve })])).toBeUndefined()
    expect(withdraw([asset({ supplied: tokens(41), reserve })])).toEqual([tokens(40), 'liquidity'])
  })
})

describe('collateral of a debt', () => {
  test.each([V3_0, V3_6])('goes until the health factor is 1, and less by the rounding of a burn', (features) => {
    // 1,000 at 80 % bear 400: half of it is free.
    expect(withdraw([asset({ supplied: tokens(1_000) }), debt(400)], features)).toEqual([tokens(500) - 3n, 'health'])
    expect(withdraw([asset({ supplied: tokens(1_000) }), debt(800)], features)).toEqual([0n, 'health'])
    expect(withdraw([asset({ supplied: tokens(1_000) }), debt(801)], features)).toEqual([0n, 'health'])
    const other = asset({ supplied: tokens(500), reserve: { id: 1 } })
    expect(withdraw([asset({ supplied: tokens(1_000) }), other, debt(400)], features)).toBeUndefined()
  })

  test('says what binds first: what the pool holds, or the debt', () => {
    const held = (withdrawable: bigint) =>
      withdraw([asset({ supplied: tokens(1_000), reserve: { withdrawable } }), debt(400)])
    expect(held(tokens(499))).toEqual([tokens(499), 'liquidity'])
    expect(held(tokens(501))).toEqual([tokens(500) - 3n, 'health'])
  })

  test('goes after collateral without LTV, even an empty one since 3.6', () => {
    const zero = asset({ supplied: tokens(1), reserve: { id: 1, ltvBps: 0n } })
    const empty = { ...zero, supplied: 0n }
    const held = asset({ supplied: tokens(1_000) })
    expect(withdraw([held, zero, debt(400)])).toEqual([0n, 'health'])
    expect(withdraw([held, empty, debt(400)])).toEqual([0n, 'health'])
    expect(withdraw([zero, held, debt(400)])).toBeUndefined()
    const thresholdless = asset({ supplied: 1n, reserve: { id: 1, ltvBps: 0n, liquidationThresholdBps: 0n } })
    expect(withdraw([held, thresholdless, debt(400)], V3_0)).toEqual([tokens(500) - 3n, 'health'])
  })

  test('without a threshold bears nothing, but goes only while the rest is healthy', () => {
    const bare = asset({ supplied: tokens(7), reserve: { id: 1, ltvBps: 0n, liquidationThresholdBps: 0n } })
    expect(withdraw([bare, asset({ supplied: tokens(1_000) }), debt(400)])).toBeUndefined()
    expect(withdraw([bare, asset({ supplied: tokens(1_000) }), debt(801)])).toEqual([0n, 'health'])
  })

  test('stays where the pool cannot value the account', () => {
    const held = asset({ supplied: tokens(1_000) })
    expect(withdraw([held, debt(1)], V3_6, false)).toEqual([0n, 'price'])
    expect(withdraw([held], V3_6, false)).toBeUndefined()
  })

  test('before 3.6 keeps to the average threshold, which is rounded down', () => {
    // 90 % of 1,000 and 61 % of 500: 1,205 of 1,500, told as 8,033 of 10,000.
    const [first, second] = [
      asset({ supplied: tokens(1_000), reserve: { liquidationThresholdBps: 9_000n } }),
      asset({ supplied: tokens(500), reserve: { id: 1, liquidationThresholdBps: 6_100n } }),
    ]
    const [exact, rounded] = [V3_6, V3_0].map((features) => withdraw([first, second, debt(1_000)], features))
    expect(exact).toEqual([227_777_774n, 'health'])
    expect((rounded?.[0] ?? 0n) as bigint).toBeLessThan(227_777_774n)
    expect((rounded?.[0] ?? 0n) as bigint).toBeGreaterThan(227_600_000n)
  })
})
