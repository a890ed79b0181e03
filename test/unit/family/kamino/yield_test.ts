import { describe, expect, test } from 'bun:test'
import { SF } from '../../../../src/family/kamino/math/accrual.ts'
import type { ObligationPosition, Supply } from '../../../../src/family/kamino/math/position.ts'
import { presentYield } from '../../../../src/family/kamino/present/obligation.ts'

/** 10 % a year on 3,650 dollars of a token with 6 decimals, of which its reserve has `available` at hand. */
function createPosition(available: bigint, slotMs?: number): ObligationPosition {
  const supplied = 3_650_000_000n
  const value = 3_650n * 10n ** 18n
  const totals = { supplied: value, collateral: 0n, debt: 0n, riskDebt: 0n, liquidationLimit: 0n, borrowLimit: 0n }
  const reserve = { symbol: 'MINE', decimals: 6, availableAmount: available }
  const supply = { value, apyRay: 10n ** 26n, amountSf: supplied * SF, reserve, slotMs } as unknown as Supply
  return { totals: { ...totals, perUsd: 10n ** 18n }, supplies: [supply], borrows: [] } as unknown as ObligationPosition
}

describe('presentYield()', () => {
  test('of a market in no table projects interest as far as its reserve can pay, and names the rest', () => {
    const { projected_earnings, incomplete, net_daily_interest_usd } = presentYield(createPosition(730_000_000n), {
      isTrusted: false,
    })
    expect(net_daily_interest_usd).toBe('1.000000')
    expect(projected_earnings.yearly).toBe('73.000000')
    const why = 'The market cannot pay it out now'
    expect(incomplete).toEqual([{ what: 'interest on MINE', amount: '2920', why }])
    const [poor, rich] = [createPosition(730_000_000n), createPosition(36_500_000_000n)]
    const both = { ...poor, supplies: [...poor.supplies, ...rich.supplies] }
    expect(presentYield(both, { isTrusted: false }).projected_earnings.yearly).toBe('438.000000')
    const nothing = presentYield(createPosition(0n), { isTrusted: false }).projected_earnings
    expect(new Set(Object.values(nothing))).toEqual(new Set(['0.000000']))
  })

  test('tells the duration of a slot that an APY rests on, if one does', () => {
    const told = [400, undefined].map((slotMs) => presentYield(createPosition(0n, slotMs), { isTrusted: true }).slot_ms)
    expect(told).toEqual([400, null])
    const { supplies, ...rest } = createPosition(0n, 400)
    const owing = { ...rest, supplies: [], borrows: supplies } as unknown as ObligationPosition
    expect(presentYield(owing, { isTrusted: true }).slot_ms).toBe(400)
  })

  test('projects all of it where the market is in a table, or the reserve can pay', () => {
    const known = presentYield(createPosition(0n), { isTrusted: true })
    const rich = presentYield(createPosition(3_650_000_000n), { isTrusted: false })
    for (const { projected_earnings, incomplete } of [known, rich]) {
      expect([projected_earnings.yearly, incomplete]).toEqual(['365.000000', []])
    }
  })
})
