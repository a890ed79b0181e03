import { describe, expect, test } from 'bun:test'
import { presentWithdrawal } from '../../../../src/family/lending/withdrawal.ts'
import { rational } from '../../../../src/lib/number/rational.ts'

const SUPPLY = { amount: 3_000_000n, decimals: 6, withdrawable: undefined, value: rational(6_000n, 1n) }

describe('presentWithdrawal()', () => {
  test('is all of a supply that nothing limits', () => {
    expect(presentWithdrawal(SUPPLY)).toEqual({
      withdrawable: { raw: '3000000', amount: '3', usd: '6000.000000' },
      limited_by: null,
    })
  })

  test('is the part that can be withdrawn, with that part of the value, and the reason', () => {
    expect(presentWithdrawal({ ...SUPPLY, withdrawable: { amount: 1_000_001n, limitedBy: 'liquidity' } })).toEqual({
      withdrawable: { raw: '1000001', amount: '1.000001', usd: '2000.002000' },
      limited_by: 'liquidity',
    })
    expect(presentWithdrawal({ ...SUPPLY, withdrawable: { amount: 0n, limitedBy: 'paused' } })).toEqual({
      withdrawable: { raw: '0', amount: '0', usd: '0.000000' },
      limited_by: 'paused',
    })
  })

  test('is null where no endpoint tells, and has no value without a price or an amount without decimals', () => {
    const untold = { ...SUPPLY, withdrawable: { amount: undefined, limitedBy: 'gate' } as const }
    expect(presentWithdrawal(untold)).toEqual({ withdrawable: null, limited_by: 'gate' })
    expect(presentWithdrawal({ ...SUPPLY, decimals: undefined, value: undefined }).withdrawable).toEqual({
      raw: '3000000',
      amount: null,
      usd: null,
    })
  })
})
