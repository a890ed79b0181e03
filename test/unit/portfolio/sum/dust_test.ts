import { expect, test } from 'bun:test'
import { zeroAddress } from 'viem'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import { countDust } from '../../../../src/portfolio/sum/dust.ts'

test('countDust() makes one row without an amount for each family, which counts nothing and says how many', () => {
  const omitted = [
    { family: 'uniswap-v3', kind: 'liquidity', count: 18_000, max: 2_000 },
    { family: 'morpho-blue', kind: 'supplied', count: 7, max: 2_000 },
  ] as const
  const dust = countDust(10, omitted)
  expect(dust.omitted).toEqual([
    '18000 more positions of uniswap-v3 on chain 10',
    '7 more positions of morpho-blue on chain 10',
  ])
  const rows = classifyAssets(dust.assets, { includeUnlisted: true })
  expect(rows).toMatchObject([
    {
      chainId: 10,
      kind: 'liquidity',
      amount: 0n,
      token: { address: zeroAddress, decimals: undefined },
      position: { family: 'uniswap-v3' },
      verdict: {
        counted: false,
        reason: 'dust',
        detail: '18000 more positions of uniswap-v3: a sum has the first 2000 on a chain',
      },
    },
    { kind: 'supplied', position: { family: 'morpho-blue' } },
  ])
  // Nothing is said of withdrawing what was not read.
  expect(rows.map(({ withdrawal }) => withdrawal)).toEqual([undefined, undefined])
})

test('countDust() counts accounts of tokens as part of the wallet, on Solana by an address of its own', () => {
  const { assets, omitted } = countDust(101, [{ kind: 'wallet', count: 3, max: 2_000 }])
  expect(omitted).toEqual(['3 more token accounts on chain 101'])
  expect(assets).toMatchObject([
    {
      kind: 'wallet',
      position: null,
      token: { address: '11111111111111111111111111111111' },
      refused: { reason: 'dust', detail: '3 more token accounts: a sum has the first 2000 on a chain' },
    },
  ])
  expect(countDust(101, [])).toEqual({ assets: [], omitted: [] })
})
