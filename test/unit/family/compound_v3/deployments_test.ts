import { expect, test } from 'bun:test'
import { checksumAddress } from 'viem'
import { CHAINS } from '../../../../src/chain/chains.ts'
import { COMPOUND_V3 } from '../../../../src/family/compound_v3/mod.ts'
import { COMPOUND_V3_MARKETS } from '../../../../src/family/compound_v3/table.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'

test('28 markets on ten chains that are served, each once, with addresses that pass their checksums', () => {
  const chains = [...COMPOUND_V3_MARKETS]
  expect([chains.length, chains.flatMap(([, markets]) => markets).length]).toEqual([10, 28])
  for (const [chainId, markets] of chains) {
    expect(CHAINS.some(({ id }) => id === chainId)).toBe(true)
    for (const each of [({ market }: { market: string }) => market, ({ comet }: { comet: string }) => comet]) {
      expect(new Set(markets.map(each)).size).toBe(markets.length)
    }
    for (const { comet, rewards } of markets) {
      for (const address of [comet, rewards]) expect(address).toBe(address && checksumAddress(address))
    }
  }
})

test('a row of CHAINS_FILE adds markets by their names, and refuses one that is described twice', () => {
  const [comet, other] = ['added comet', 'other comet'].map(toWalletAddress)
  const added = COMPOUND_V3.configure(new Map([[1, { add: { compoundV3: [{ market: 'eurc', comet }] } }]]))
  const markets = added.settings.get(1) as readonly { readonly market: string }[]
  expect(markets.map(({ market }) => market)).toEqual(['usdc', 'usds', 'usdt', 'wbtc', 'weth', 'wsteth', 'eurc'])
  const row = (...names: readonly [string, string | undefined][]) =>
    COMPOUND_V3.configure(new Map([[1, { compoundV3: names.map(([market, each]) => ({ market, comet: each })) }]]))
  expect(row(['a', comet], ['a', other]).mistakes).toEqual(['market "a" of chain 1 is described twice'])
  expect(row(['a', comet], ['b', comet]).mistakes).toEqual([`market ${comet} of chain 1 is described twice`])
  expect(row(['a', comet]).omitted.get(1)).toContain('debts in compound-v3 market weth')
})
