import { expect, test } from 'bun:test'
import { formatWithdrawal } from '../../../support/dashboard/explore/pages.ts'

test('a supply that pays less says how much and why, and one that a debt alone holds says nothing', () => {
  const paid = { amount: '12.5', usd: '12.500000' }
  expect(formatWithdrawal({ withdrawable: paid, limited_by: 'liquidity' })).toBe(
    'A withdrawal pays 12.5: no more is there',
  )
  expect(formatWithdrawal({ withdrawable: { ...paid, amount: null }, limited_by: 'paused' })).toBe(
    'A withdrawal pays $12.500000: withdrawals are paused',
  )
  expect(formatWithdrawal({ withdrawable: null, limited_by: 'price' })).toBe(
    'A withdrawal pays an unknown amount: a price is missing',
  )
  expect(formatWithdrawal({ withdrawable: paid, limited_by: 'cooldown' })).toBe('A withdrawal pays 12.5: cooldown')
  for (const limited_by of ['health', null, undefined]) {
    expect(
      formatWithdrawal({ withdrawable: paid, ...(limited_by === undefined ? {} : { limited_by }) }),
    ).toBeUndefined()
  }
})
