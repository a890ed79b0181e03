import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { type LensAccess, readByLens } from '../../../chain/call/lens.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import type { FinanceChain } from '../../chain.ts'
import type { FoundPool } from './abi.ts'
import { computeBidsBelow, NEAR_TICKS, toSpotX96 } from './depth.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type PricedQuote, toUsd } from './pool_price.ts'
import { createPoolSearch, priceQuotes, readFoundPools } from './read_found_pools.ts'

/** A pool of Uniswap V3 that a token is sold to. */
export interface SaleHop {
  readonly pool: Address
  readonly token: Address
  /** True if that is `token0` of the pool. */
  readonly isToken0: boolean
  /** Square root of the price of `token0` in `token1`, Q96. */
  readonly sqrtPriceX96: bigint
}

/** How tokens are sold for another one. */
export interface SaleRoutes {
  /** By token, its pools in their order; tokens without any are missing. */
  readonly hops: ReadonlyMap<Address, readonly SaleHop[]>
  /** Decimals of the token that they are sold for; undefined if it does not tell. */
  readonly decimals: number | undefined
  /** The same with its price, if it has one. */
  readonly into: PricedQuote | undefined
}

/** A pool, and what it buys for. */
interface SalePool {
  readonly hop: SaleHop
  readonly quote: Address
  /** What it pays while the price falls by 5 %, smallest units of the quote token. */
  readonly depth: bigint
}

/**
 * Reads how tokens are sold for `into`, in one `eth_call` at a block that was read before: in the deepest pool of a token
 * that leads there, with `into` itself or with a quote token of the chain, whose own deepest pool with `into` follows. The
 * depth of two pools is the smaller one. Throws like `readFoundPools` and `readByLens`.
 */
export async function readSaleRoutes(
  { endpoint, block }: { readonly endpoint: Endpoint; readonly block: Block },
  query: {
    readonly chain: FinanceChain
    readonly tokens: readonly Address[]
    readonly into: Address
    readonly clock: Clock
  },
  work: Work,
): Promise<SaleRoutes> {
  const { chain, tokens, into, clock } = query
  const { search: known } = createPoolSearch(chain)
  if (known === undefined) return { hops: new Map(), decimals: undefined, into: undefined }
  const search = { ...known, quotes: [into, ...known.quotes.filter((quote) => quote !== into)] }
  const searched = [...new Set([...tokens, ...search.quotes])].filter((token) => token !== into)
  const read = async (access: LensAccess): Promise<SaleRoutes> => {
    const { quotes, pools, block: at } = await readFoundPools({ access, block, search }, searched)
    const priced = priceQuotes({ quotes, timestampSec: at.timestampSec }, { chain, search })
    const poolsByToken = new Map(
      searched.map((token, index) => [token, toSalePools(token, { found: pools[index] ?? [], quotes: search.quotes })]),
    )
    const prices = new Map(priced.flatMap((quote) => (quote === undefined ? [] : [[quote.address, quote] as const])))
    const hops = tokens.flatMap((token) => {
      const route = chooseRoute(token, { into, poolsByToken, prices })
      return route === undefined ? [] : [[token, route] as const]
    })
    return { hops: new Map(hops), decimals: quotes[0]?.decimals, into: priced[0] }
  }
  return await readByLens(
    endpoint,
    { topic: 'pool_prices', runtime: LENS_RUNTIME, chainId: chain.id, clock, read },
    work,
  )
}

function toSalePools(
  token: Address,
  { found, quotes }: { readonly found: readonly FoundPool[]; readonly quotes: readonly Address[] },
): SalePool[] {
  return found.flatMap((each) => {
    const quote = quotes[each.quote]
    if (quote === undefined) return []
    const isToken0 = BigInt(token) < BigInt(quote)
    const bids = computeBidsBelow(each.liquidity, toSpotX96(each, !isToken0), NEAR_TICKS)
    const depth = minBigint(bids, each.quoteRaw)
    const { pool, sqrtPriceX96 } = each
    return depth === 0n ? [] : [{ hop: { pool, token, isToken0, sqrtPriceX96 }, quote, depth }]
  })
}

function chooseRoute(
  token: Address,
  known: {
    readonly into: Address
    readonly poolsByToken: ReadonlyMap<Address, readonly SalePool[]>
    readonly prices: ReadonlyMap<Address, PricedQuote>
  },
): readonly SaleHop[] | undefined {
  const { into, poolsByToken, prices } = known
  const listPools = (from: Address, to?: Address) =>
    (poolsByToken.get(from) ?? []).filter(({ quote }) => to === undefined || quote === to)
  const toDepth = ({ quote, depth }: SalePool) => {
    const price = prices.get(quote)
    return price === undefined ? undefined : toUsd(depth, price)
  }
  const routes = listPools(token).flatMap((first): { hops: readonly SaleHop[]; depth: bigint | undefined }[] => {
    if (first.quote === into) return [{ hops: [first.hop], depth: toDepth(first) }]
    const second = takeDeepest(listPools(first.quote, into), ({ depth }) => depth)
    const depths = second && [toDepth(first), toDepth(second)]
    if (second === undefined || depths?.[0] === undefined) return []
    return [{ hops: [first.hop, second.hop], depth: minBigint(depths[0], depths[1] ?? depths[0]) }]
  })
  // Without a price of `into` nothing compares a pool with it to others, and it is the shorter way.
  const direct = routes.find(({ depth }) => depth === undefined)
  return (direct ?? takeDeepest(routes, ({ depth = 0n }) => depth))?.hops
}

/** The first of the deepest. */
function takeDeepest<Item>(items: readonly Item[], getDepth: (item: Item) => bigint): Item | undefined {
  return items.reduce<Item | undefined>(
    (best, item) => (best === undefined || getDepth(item) > getDepth(best) ? item : best),
    undefined,
  )
}
