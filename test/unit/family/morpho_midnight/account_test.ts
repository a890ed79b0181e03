import { describe, expect, test } from 'bun:test'
import {
  type Collateral,
  computeCredit,
  computeHealthFactor,
  computeMaxDebt,
  findLiquidationReasons,
  isOverdue,
} from '../../../../src/family/morpho_midnight/math/account.ts'
import { computeWithdrawableCollateral } from '../../../../src/family/morpho_midnight/math/withdrawal.ts'
import { readVectors } from '../../../devnet/morpho_midnight/vectors.ts'

const UINT128_MAX = (1n << 128n) - 1n
const vectors = readVectors()

/** Accounts of the vectors that owe, with the collaterals as a reader has them. */
function listDebts() {
  return vectors.checkpoints.flatMap(({ markets, positions }) =>
    positions.flatMap(({ market, debt, collateral }) => {
      const { collateralParams = [], maturity = '0' } = vectors.markets[market] ?? {}
      const prices = markets.find((each) => each.market === market)?.prices ?? []
      const collaterals = collateral.map(({ index, raw }): Collateral => {
        const price = prices[index] ?? null
        const oraclePrice = price === null ? undefined : BigInt(price)
        return { index, amount: BigInt(raw), oraclePrice, lltvWad: BigInt(collateralParams[index]?.lltv ?? 0) }
      })
      return debt === '0' ? [] : { debt: BigInt(debt), collaterals, maturitySec: BigInt(maturity) }
    }),
  )
}

test('what can be withdrawn of a collateral leaves the debt backed, and one unit more does not', () => {
  const seen = { health: 0, price: 0, all: 0, none: 0 }
  for (const account of listDebts()) {
    for (const collateral of account.collaterals) {
      const free = computeWithdrawableCollateral(account, collateral)
      const after = (amount: bigint) => {
        const left = account.collaterals.map((each) =>
          each === collateral ? { ...each, amount: each.amount - amount } : each,
        )
        return computeMaxDebt(left.filter((each) => each.amount > 0n)) ?? -1n
      }
      if (free === undefined) {
        seen.all++
        expect(after(collateral.amount)).toBeGreaterThanOrEqual(account.debt)
      } else if (free.limitedBy === 'price') {
        seen.price++
        expect([free.amount, computeMaxDebt(account.collaterals)]).toEqual([0n, undefined])
      } else {
        const amount = free.amount ?? 0n
        seen[amount === 0n ? 'none' : 'health']++
        // An account that is not healthy can take out nothing.
        if ((computeMaxDebt(account.collaterals) ?? 0n) >= account.debt)
          expect(after(amount)).toBeGreaterThanOrEqual(account.debt)
        else expect(amount).toBe(0n)
        expect(after(amount + 1n)).toBeLessThan(account.debt)
      }
    }
  }
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(0)
})

describe('a debt', () => {
  const collateral: Collateral = { index: 0, amount: 100n, oraclePrice: 10n ** 36n, lltvWad: 5n * 10n ** 17n }
  const account = { debt: 50n, collaterals: [collateral], maturitySec: 1_000n }

  test('is overdue from the second after its maturity on, and can then be liquidated, healthy or not', () => {
    expect([1_000n, 1_001n].map((nowSec) => isOverdue(account, nowSec))).toEqual([false, true])
    expect(findLiquidationReasons(account, 1_000n)).toEqual([])
    expect(findLiquidationReasons(account, 1_001n)).toEqual(['debt_matured'])
    expect(findLiquidationReasons({ ...account, debt: 51n }, 1_000n)).toEqual(['health_factor'])
    expect(findLiquidationReasons({ ...account, debt: 51n }, 1_001n)).toEqual(['health_factor', 'debt_matured'])
  })

  test('has an unknown health while an oracle is silent, and cannot be liquidated; without a debt none is asked', () => {
    const silent = { ...account, collaterals: [collateral, { ...collateral, index: 1, oraclePrice: undefined }] }
    expect(computeHealthFactor(silent)).toBeUndefined()
    expect(findLiquidationReasons(silent, 2_000n)).toEqual([])
    expect(computeHealthFactor({ ...silent, debt: 0n })).toBe('max')
    expect(isOverdue({ ...silent, debt: 0n }, 2_000n)).toBe(false)
  })

  test('is not backed by a collateral that is worth nothing', () => {
    const worthless = { ...account, collaterals: [{ ...collateral, oraclePrice: 0n }] }
    expect(computeHealthFactor(worthless)).toEqual({ numerator: 0n, denominator: 50n })
    expect(computeWithdrawableCollateral(worthless, { ...collateral, oraclePrice: 0n })).toEqual({
      amount: 0n,
      limitedBy: 'health',
    })
  })
})

test('after a total loss nothing is left of a credit, whatever is stored', () => {
  const stored = { credit: 860n, pendingFee: 10n, lastLossFactor: 0n, lastAccrualSec: 1n, debt: 0n }
  const now = { maturitySec: 100n, nowSec: 50n }
  expect(computeCredit(stored, { lossFactor: UINT128_MAX, ...now })).toEqual({ credit: 0n, pendingFee: 0n })
  expect(computeCredit({ ...stored, lastLossFactor: UINT128_MAX }, { lossFactor: UINT128_MAX, ...now })).toEqual({
    credit: 0n,
    pendingFee: 0n,
  })
})
