import type { Block } from '../../../chain/block.ts'
import { type LensAccess, readByLens } from '../../../chain/call/lens.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import type { FinanceChain } from '../../chain.ts'
import { noPriceBecause } from '../price.ts'
import type { PoolSearch } from './abi.ts'
import { computeBidsBelow, NEAR_TICKS, toSpotX96, WINDOW_SEC } from './depth.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { computePoolPrice, POOLS_GONE, type PoolPriceOutcome, type PricedQuote, toUsd } from './pool_price.ts'
import { createPoolSearch, priceQuotes, readFoundPools, type SearchedPools } from './read_found_pools.ts'
import { readAnchors } from './read_past_blocks.ts'
import { type Candidate, readPools } from './read_pools.ts'
import { USD_DIGITS } from './vote.ts'

/** Most pools that one question reads in full. */
const POOLS_MAX = 1_000
/** US dollars below which a pool that was at rest for the whole window tells nothing. */
const DUST_USD = pow10(USD_DIGITS)

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
 * the tokens. Takes one `eth_call` and two headers for at most 250 tokens, and four or five calls at once for those with
 * pools; none if the chain has no pools. Throws like `readByLens`, and `UpstreamError` if the endpoint answers from
 * another block.
 */
export async function readPoolPrices(
  { endpoint, block }: { readonly endpoint: Endpoint; readonly block: Block },
  { chain, tokens, clock }: PoolPricesQuery,
  work: Work,
): Promise<PoolPriceOutcome[]> {
  const { search } = createPoolSearch(chain)
  if (search === undefined || tokens.length === 0) return tokens.map(() => computePoolPrice({ decimals: 0 }, []))
  const read = (access: LensAccess) => readPrices({ access, endpoint, block, chain, search }, tokens, work)
  return await readByLens(
    endpoint,
    { topic: 'pool_prices', runtime: LENS_RUNTIME, chainId: chain.id, clock, read },
    work,
  )
}

const SILENT_QUOTE = noPriceBecause('the other token of its pool has no price')
const TOO_MANY_POOLS = noPriceBecause('too many pools of other tokens were read', 'thin')

interface PricesContext {
  readonly access: LensAccess
  readonly endpoint: Endpoint
  readonly block: Block
  readonly chain: FinanceChain
  readonly search: PoolSearch
}

/** A token, its pools, and whether those have a quote token with a price. */
interface SearchedToken {
  readonly token: QuotedToken
  readonly candidates: readonly Candidate[]
  readonly hasPool: boolean
  readonly hasPricedPool: boolean
}

async function readPrices(
  context: PricesContext,
  tokens: readonly QuotedToken[],
  work: Work,
): Promise<PoolPriceOutcome[]> {
  const { access, endpoint, block, chain } = context
  const { blockTimeMs } = chain
  const [searched, anchors] = await Promise.all([
    findPools(context, tokens),
    readAnchors(endpoint, { block, blockTimeMs }, work),
  ])
  const chosen = new Set<SearchedToken>()
  let poolCount = 0
  // A token with many pools must not crowd out those with few.
  for (const each of searched.toSorted((a, b) => a.candidates.length - b.candidates.length)) {
    poolCount += each.candidates.length
    if (poolCount <= POOLS_MAX) chosen.add(each)
  }
  const candidates = searched.flatMap((each) => (chosen.has(each) ? each.candidates : []))
  const readings = candidates.length === 0 ? [] : await readPools({ access, endpoint, anchors }, candidates, work)
  let from = 0
  return searched.map((each) => {
    const { token, hasPool, hasPricedPool } = each
    if (hasPool && !hasPricedPool) return SILENT_QUOTE
    if (!chosen.has(each)) return TOO_MANY_POOLS
    const own = readings.slice(from, from + each.candidates.length)
    from += each.candidates.length
    return own.length === 0 && hasPool ? POOLS_GONE : computePoolPrice(token, own)
  })
}

/** Finds the pools of tokens that may tell a price. */
async function findPools(
  { access, block, chain, search }: PricesContext,
  tokens: readonly QuotedToken[],
): Promise<SearchedToken[]> {
  const addresses = tokens.map(({ address }) => address)
  const found = await readFoundPools({ access, block, search }, addresses)
  return toSearchedTokens(found, { chain, search, tokens })
}

function toSearchedTokens(
  { quotes, pools, block: { timestampSec } }: SearchedPools,
  { chain, search, tokens }: Pick<PricesContext, 'chain' | 'search'> & { readonly tokens: readonly QuotedToken[] },
): SearchedToken[] {
  const priced = priceQuotes({ quotes, timestampSec }, { chain, search })
  return pools.flatMap((found, index): SearchedToken[] => {
    const token = tokens[index]
    if (token === undefined) return []
    const withPrice = found.flatMap((each): Candidate[] => {
      const quote = priced[each.quote]
      if (quote === undefined) return []
      const isToken1 = BigInt(token.address) > BigInt(quote.address)
      return [{ row: { pool: each.pool, quote: quote.address, tier: each.tier, isToken1 }, quote, found: each }]
    })
    const candidates = withPrice.filter((each) => !isDust(each, timestampSec))
    return [{ token, candidates, hasPool: found.length > 0, hasPricedPool: withPrice.length > 0 }]
  })
}

/**
 * True if a pool cannot have a voice: its price and liquidity have not changed since before the window, and it holds next
 * to nothing. A pool that changed is read in full, whatever it holds now: one block must not take its voice away.
 */
function isDust({ row: { isToken1 }, quote, found }: Candidate, timestampSec: bigint): boolean {
  if (BigInt(found.newestSec) > timestampSec - BigInt(WINDOW_SEC)) return false
  const depth = computeBidsBelow(found.liquidity, toSpotX96(found, isToken1), NEAR_TICKS)
  return toUsd(depth, quote) < DUST_USD && toUsd(found.quoteRaw, quote) < DUST_USD
}
