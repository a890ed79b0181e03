import { expect, test } from 'bun:test'
import { presentAmounts } from '../../../../src/family/liquidity/present.ts'

test('an amount has the decimals of its own token', () => {
  const tokens = [
    { address: '0x0000000000000000000000000000000000000001', decimals: 6 },
    { address: '0x0000000000000000000000000000000000000002', decimals: 18 },
  ] as const
  expect(presentAmounts([1_500_000n, 25n * 10n ** 17n], tokens)).toMatchObject({
    token0: { amount: '1.5' },
    token1: { amount: '2.5' },
  })
})
