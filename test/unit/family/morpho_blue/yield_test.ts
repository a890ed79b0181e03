import { describe, expect, test } from 'bun:test'
import { presentYield } from '../../../../src/family/morpho_blue/present/yield.ts'
import type { Position } from '../../../../src/family/morpho_blue/read/position.ts'

/** 10 % a year on 3,650 dollars of a loan token with 6 decimals, of a market that lent all but `idle`. */
function createPosition(idle: bigint): Position {
  const [supplied, all] = [3_650_000_000n, 36_500_000_000n]
  const value = 3_650n * 10n ** 18n
  const totals = { supplied: value, collateral: 0n, debt: 0n, riskDebt: 0n, liquidationLimit: 0n, borrowLimit: 0n }
  return {
    market: { totalSupplyAssets: all, totalBorrowAssets: all - idle },
    isAccrued: true,
    oraclePrice: undefined,
    supplied,
    owed: 0n,
    collateral: 0n,
    loan: { decimals: 6 },
    totals: { ...totals, perUsd: 10n ** 18n },
    supplies: [{ value, apyRay: 10n ** 26n }],
    borrows: [],
  } as unknown as Position
}

describe('presentYield()', () => {
  test('projects interest on what was lent as far as the market can pay it out, and names the rest', () => {
    const { projected_earnings, incomplete, net_daily_interest_usd } = presentYield(createPosition(730_000_000n))
    expect(net_daily_interest_usd).toBe('1.000000')
    expect(projected_earnings).toEqual({
      daily: '0.200000',
      weekly: '1.400000',
      monthly: '6.000000',
      yearly: '73.000000',
    })
    const why = 'The market cannot pay it out now'
    expect(incomplete).toEqual([{ what: 'interest on what is lent', amount: '2920', why }])
  })

  test('projects nothing from a market that lent everything, at whatever rate', () => {
    const { projected_earnings } = presentYield(createPosition(0n))
    expect(new Set(Object.values(projected_earnings))).toEqual(new Set(['0.000000']))
  })

  test('lacks nothing where all can be paid out', () => {
    const { projected_earnings, incomplete } = presentYield(createPosition(3_650_000_000n))
    expect([projected_earnings.yearly, incomplete]).toEqual(['365.000000', []])
  })
})
