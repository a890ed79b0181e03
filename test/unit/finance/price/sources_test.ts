import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Address, getAddress } from 'viem'
import { FINANCE_CHAINS, type FinanceChain } from '../../../../src/finance/chain.ts'
import { AAVE_MARKETS } from '../../../support/registries.ts'

const GUIDE = join(import.meta.dir, '../../../../src/dashboard/guide/chains.md')
/** Chains with fewer tokens on their list have no row. */
const LISTED_MIN = 10

test('the guide counts what prices the listed tokens of each chain', async () => {
  const guide = await Bun.file(GUIDE).text()
  for (const chain of FINANCE_CHAINS) {
    const { name, tokens } = chain
    const row = guide.match(new RegExp(`^\\| ${name} \\| (\\d.*) \\|$`, 'm'))?.[1]
    const counts = countSources(chain)
    expect([name, row]).toEqual([name, tokens.addresses.length < LISTED_MIN ? undefined : counts.join(' | ')])
  }
})

/** Counts listed tokens, and tokens by their first applicable source; the last count is without a source. */
function countSources({ id, tokens: { addresses }, prices }: FinanceChain): number[] {
  const market = AAVE_MARKETS.find(({ chainId, oracle }) => chainId === id && oracle === prices.aaveOracle)
  const assets = new Set(market?.assets.map((asset) => getAddress(asset.toLowerCase())))
  const hasPools = prices.uniswapV3Factory !== undefined
  const sources: readonly ((token: Address) => boolean)[] = [
    (token) => token in prices.usdFeeds,
    (token) => assets.has(token),
    (token) => token in (prices.wrappers ?? {}),
    (token) => prices.stablecoins.includes(token),
    () => hasPools,
    () => true,
  ]
  const first = addresses.map((token) => sources.findIndex((applies) => applies(token)))
  return [addresses.length, ...sources.map((_, source) => first.filter((each) => each === source).length)]
}
