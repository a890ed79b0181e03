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
import { type PoolPriceOutcome, type PricedQuote, poolPriceFrom, WINDOW_SEC } from './pool_price.ts'

/** Tokens in one call: one takes 70,000 gas as a rule, and in an `eth_call` with others all take 20 million. */
const PAGE_SIZES = { override: 250, deployless: 40 } as const
const LIGHT_TOKENS_MAX = 100
/** Quote tokens of a chain that are tried. */
const QUOTES_MAX = 4

/** Which prices are asked for. */
export interface PoolPricesQuery {
  readonly chain: FinanceChain
  /** Those without any other source: `NoPrice.hasSource` is false. Checksummed. */
  readonly tokens: readonly QuotedToken[]
  readonly clock: Clock
}

/** A token that a pool may price. */
export type QuotedToken = Pick<PricedQuote, 'address' | 'decimals'>

/**
 * Asks one endpoint what tokens cost by their pools of Uniswap V3, at a block that was read before; in the order of the
 * question. One `eth_call` if there are 250 tokens at most, none if the chain has no pools to ask. Throws as `readByLens`,
 * and `UpstreamError` if the endpoint answers from another block.
 */
export async function readPoolPrices(
  { endpoint, block }: { readonly endpoint: Endpoint; readonly block: Block },
  { chain, tokens, clock }: PoolPricesQuery,
  signal: AbortSignal,
): Promise<PoolPriceOutcome[]> {
  const { subject } = subjectOf(chain)
  if (subject === undefined || tokens.length === 0) return tokens.map(() => NO_POOL)
  const read = (lens: LensAccess) => readAll(lens, { subject, tokens, block })
  const reading = { topic: 'pool_prices', runtime: LENS_RUNTIME, chainId: chain.id, clock, read } as const
  const pages = await readByLens(endpoint, reading, signal)
  const asked = [...tokens]
  return pages.flatMap((page) => pricesOf(page, { chain, subject, tokens: asked.splice(0, page.taken) }))
}

const NO_POOL = noPriceBecause('nobody prices it, and no pool of it with a token that has a feed is known')
const SILENT_QUOTE = noPriceBecause('the other token of its pool has no price')

interface PoolPriceContext {
  readonly subject: PoolLensQuery
  readonly tokens: readonly QuotedToken[]
  readonly block: Block
}

async function readAll({ way, call }: LensAccess, { subject, tokens, block }: PoolPriceContext): Promise<RawPools[]> {
  const at = block.hash === undefined ? block.number : { hash: block.hash }
  const pages: RawPools[] = []
  for (let start = 0; start < tokens.length; ) {
    const asked = tokens.slice(start, start + PAGE_SIZES[way])
    const data = encodePools(
      subject,
      asked.map(({ address }) => address),
    )
    const page = decodePools(
      await call({ data, block: at, isLight: asked.length <= LIGHT_TOKENS_MAX }),
      subject.quotes.length,
    )
    if (!isSameBlock(page.block, block)) throw new UpstreamError('The chain changed before pools were asked')
    if (page.taken === 0) throw new RpcRefusedError(0, 'The endpoint allows too little gas for one pool', 'size')
    pages.push(page)
    start += page.taken
  }
  return pages
}

function pricesOf(
  { quotes, pools, block: { timestampSec } }: RawPools,
  { chain, subject, tokens }: Omit<PoolPriceContext, 'block'> & { readonly chain: FinanceChain },
): PoolPriceOutcome[] {
  const priced = quotes.map(({ decimals, usd }, index): PricedQuote | undefined => {
    const address = subject.quotes[index]?.token
    if (address === undefined || decimals === undefined) return undefined
    const outcome = computeUsdPrice(address, { chain, answers: usd, blockTimestampSec: timestampSec })
    return outcome.kind === 'missing' ? undefined : { address, decimals, price: outcome.price }
  })
  return tokens.map((token, index) => {
    const pool = pools[index]
    if (pool === undefined) return NO_POOL
    const quote = priced[pool.quote]
    return quote === undefined ? SILENT_QUOTE : poolPriceFrom(token, pool, quote)
  })
}

/** What the lens is asked about; undefined if the chain has no factory or no quote token with a feed. */
const subjectOf = memoize((chain: FinanceChain): { readonly subject: PoolLensQuery | undefined } => {
  const { uniswapV3Factory: factory, quotes = [], usdFeeds } = chain.prices
  const fed = quotes.flatMap((token) => {
    const feed = usdFeeds[token]
    return feed === undefined ? [] : [{ token, ageSecMax: getMaxFeedAgeSec(feed) }]
  })
  if (factory === undefined || fed.length === 0) return { subject: undefined }
  const prices = getPriceSources(chain)
  return { subject: { factory, quotes: fed.slice(0, QUOTES_MAX), windowSec: WINDOW_SEC, prices } }
})
