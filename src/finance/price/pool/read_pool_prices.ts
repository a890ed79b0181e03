import { type Block, isSameBlock } from '../../../chain/block.ts'
import { type LensAccess, readByLens } from '../../../chain/call/lens.ts'
import { type Endpoint, RpcRefusedError } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { FinanceChain } from '../../chain.ts'
import { computeUsdPrice, getMaxFeedAgeSec, noPriceBecause } from '../price.ts'
import { getPriceSources } from '../price_sources.ts'
import { decodePools, encodePools, type PoolLensQuery, type RawPools } from './abi.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { computePoolPrice, type PoolPriceOutcome, type PricedQuote, WINDOW_SEC } from './pool_price.ts'

/** Tokens per call: one usually takes 70,000 gas, and a shared `eth_call` has 20 million for all. */
const PAGE_SIZES = { override: 250, deployless: 40 } as const
const LIGHT_TOKENS_MAX = 100
/** Most quote tokens of a chain to try. */
const QUOTES_MAX = 4

/** Which prices to read. */
export interface PoolPricesQuery {
  readonly chain: FinanceChain
  /** Tokens without any other source: `NoPrice.hasSource` is false. Checksummed. */
  readonly tokens: readonly QuotedToken[]
  readonly clock: Clock
}

/** A token that a pool may price. */
export type QuotedToken = Pick<PricedQuote, 'address' | 'decimals'>

/**
 * Reads prices of tokens by their Uniswap V3 pools from one endpoint, at a block that was read before; in the order of
 * the tokens. Takes one `eth_call` for at most 250 tokens, none if the chain has no pools. Throws like `readByLens`,
 * and `UpstreamError` if the endpoint answers from another block.
 */
export async function readPoolPrices(
  { endpoint, block }: { readonly endpoint: Endpoint; readonly block: Block },
  { chain, tokens, clock }: PoolPricesQuery,
  signal: AbortSignal,
): Promise<PoolPriceOutcome[]> {
  const { query } = createPoolLensQuery(chain)
  if (query === undefined || tokens.length === 0) return tokens.map(() => NO_POOL)
  const read = (access: LensAccess) => readAll(access, { query, tokens, block })
  const reading = { topic: 'pool_prices', runtime: LENS_RUNTIME, chainId: chain.id, clock, read } as const
  const pages = await readByLens(endpoint, reading, signal)
  const remainingTokens = [...tokens]
  return pages.flatMap((page) => computePrices(page, { chain, query, tokens: remainingTokens.splice(0, page.taken) }))
}

const NO_POOL = noPriceBecause('nobody prices it, and no pool of it with a token that has a feed is known')
const SILENT_QUOTE = noPriceBecause('the other token of its pool has no price')

interface PoolPriceContext {
  readonly query: PoolLensQuery
  readonly tokens: readonly QuotedToken[]
  readonly block: Block
}

async function readAll(
  { mode: way, call }: LensAccess,
  { query, tokens, block }: PoolPriceContext,
): Promise<RawPools[]> {
  const blockParameter = block.hash === undefined ? block.number : { hash: block.hash }
  const pages: RawPools[] = []
  for (let start = 0; start < tokens.length; ) {
    const pageTokens = tokens.slice(start, start + PAGE_SIZES[way])
    const data = encodePools(
      query,
      pageTokens.map(({ address }) => address),
    )
    const page = decodePools(
      await call({ data, block: blockParameter, isLight: pageTokens.length <= LIGHT_TOKENS_MAX }),
      query.quotes.length,
    )
    if (!isSameBlock(page.block, block)) throw new UpstreamError('The chain changed before pools were read')
    if (page.taken === 0) throw new RpcRefusedError(0, 'The endpoint allows too little gas for one pool', 'size')
    pages.push(page)
    start += page.taken
  }
  return pages
}

function computePrices(
  { quotes, pools, block: { timestampSec } }: RawPools,
  { chain, query, tokens }: Omit<PoolPriceContext, 'block'> & { readonly chain: FinanceChain },
): PoolPriceOutcome[] {
  const priced = quotes.map(({ decimals, usd }, index): PricedQuote | undefined => {
    const address = query.quotes[index]?.token
    if (address === undefined || decimals === undefined) return undefined
    const outcome = computeUsdPrice(address, { chain, answers: usd, blockTimestampSec: timestampSec })
    return outcome.kind === 'missing' ? undefined : { address, decimals, price: outcome.price }
  })
  return tokens.map((token, index) => {
    const pool = pools[index]
    if (pool === undefined) return NO_POOL
    const quote = priced[pool.quote]
    return quote === undefined ? SILENT_QUOTE : computePoolPrice(token, pool, quote)
  })
}

/** Creates the lens query of a chain; undefined without a factory or without a quote token with a feed. */
const createPoolLensQuery = memoize((chain: FinanceChain): { readonly query: PoolLensQuery | undefined } => {
  const { uniswapV3Factory: factory, quotes = [], usdFeeds } = chain.prices
  const quoteRows = quotes.flatMap((token) => {
    const feed = usdFeeds[token]
    return feed === undefined ? [] : [{ token, ageSecMax: getMaxFeedAgeSec(feed) }]
  })
  if (factory === undefined || quoteRows.length === 0) return { query: undefined }
  const prices = getPriceSources(chain)
  return { query: { factory, quotes: quoteRows.slice(0, QUOTES_MAX), windowSec: WINDOW_SEC, prices } }
})
