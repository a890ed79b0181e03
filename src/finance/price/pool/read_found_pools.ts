import type { Address } from 'viem'
import { type Block, isSameBlock } from '../../../chain/block.ts'
import type { LensAccess } from '../../../chain/call/lens.ts'
import { RpcRefusedError } from '../../../chain/rpc/client.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { FinanceChain } from '../../chain.ts'
import { computeUsdPrice } from '../price.ts'
import { getPriceSources } from '../price_sources.ts'
import { decodeSearch, encodeSearch, type FoundPools, type PoolSearch } from './abi.ts'
import type { PricedQuote } from './pool_price.ts'

/** Tokens per call: one usually takes 100,000 gas, and a shared `eth_call` has 20 million for all. */
const PAGE_SIZES = { override: 250, deployless: 40 } as const
const LIGHT_TOKENS_MAX = 40
/** Most quote tokens of a chain to try. */
const QUOTES_MAX = 4

/** Pools by token, in the order of the tokens, and what is known of the quote tokens at the block. */
export type SearchedPools = Pick<FoundPools, 'quotes' | 'pools' | 'block'>

/**
 * Reads which pools tokens have with the quote tokens, page by page. Throws `UpstreamError` for an answer of another
 * block, `RpcRefusedError` if a call cannot hold one token, and as the access.
 */
export async function readFoundPools(
  { access, block, search }: { readonly access: LensAccess; readonly block: Block; readonly search: PoolSearch },
  tokens: readonly Address[],
): Promise<SearchedPools> {
  const blockParameter = block.hash === undefined ? block.number : { hash: block.hash }
  const pools: FoundPools['pools'][number][] = []
  for (;;) {
    const pageTokens = tokens.slice(pools.length, pools.length + PAGE_SIZES[access.mode])
    const data = encodeSearch(search, pageTokens)
    const isLight = pageTokens.length <= LIGHT_TOKENS_MAX
    const page = decodeSearch(await access.call({ data, block: blockParameter, isLight }), search.quotes.length)
    if (!isSameBlock(page.block, block)) throw new UpstreamError('The chain changed before pools were read')
    if (page.taken === 0) throw new RpcRefusedError(0, 'The endpoint allows too little gas for one token', 'size')
    pools.push(...page.pools)
    if (pools.length >= tokens.length) return { quotes: page.quotes, pools, block: page.block }
  }
}

/** Prices of the quote tokens of a search, in its order; undefined for one without a price or decimals. */
export function priceQuotes(
  { quotes, timestampSec }: Pick<FoundPools, 'quotes'> & { readonly timestampSec: bigint },
  { chain, search }: { readonly chain: FinanceChain; readonly search: PoolSearch },
): readonly (PricedQuote | undefined)[] {
  return quotes.map(({ decimals, usd }, index) => {
    const address = search.quotes[index]
    if (address === undefined || decimals === undefined) return undefined
    const outcome = computeUsdPrice(address, { chain, answers: usd, blockTimestampSec: timestampSec })
    return outcome.kind === 'missing' ? undefined : { address, decimals, price: outcome.price }
  })
}

/** Creates the lens query of a chain; undefined without a factory or without a quote token with a feed. */
export const createPoolSearch = memoize((chain: FinanceChain): { readonly search: PoolSearch | undefined } => {
  const { uniswapV3Factory: factory, quotes = [], usdFeeds } = chain.prices
  const withFeed = quotes.filter((token) => usdFeeds[token] !== undefined).slice(0, QUOTES_MAX)
  if (factory === undefined || withFeed.length === 0) return { search: undefined }
  return { search: { factory, quotes: withFeed, prices: getPriceSources(chain) } }
})
