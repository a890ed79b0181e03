import type { LensCursor } from '../../../chain/call/cursor.ts'
import type { LensPage, LensPages } from '../../../chain/call/pages.ts'
import type { FeeGrowth } from '../../../finance/math/liquidity.ts'
import type { UsdAnswers } from '../../../finance/price/price.ts'
import { readUsdAnswers } from '../../../finance/price/price_sources.ts'
import { type PricedToken, type TokenWithDecimals, UNPRICED } from '../../../finance/token/priced_token.ts'
import { type RawToken, readToken } from '../../../finance/token/token.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { PositionParts } from './classify.ts'

/** A token with the answers of its price sources; a brief read has none. */
export interface RawPricedToken extends RawToken {
  readonly usd: UsdAnswers
}

/** Decodes a token as `positions.sol` writes it. */
export function readPricedToken(from: LensCursor): RawPricedToken {
  return { ...readToken(from), usd: readUsdAnswers(from) }
}

/** Decodes the fee counters of both tokens. */
export function readGrowth(from: LensCursor): FeeGrowth {
  return { growth0: from.uint(32), growth1: from.uint(32) }
}

/** Decodes a tick or a tick spacing: 24 bits with a sign. */
export function readTick(from: LensCursor): number {
  return (from.number(3) << 8) >> 8
}

/**
 * Prices the pools and tokens of a read, each once: a wallet's positions are in few pools. `prices` has the prices of
 * its tokens, in their order; `toPool` converts a pool to the form that positions contain.
 */
export function priceParts<RawPool extends { readonly token0: number; readonly token1: number }, Pool>(
  prices: readonly (typeof UNPRICED)[],
  toPool: (raw: RawPool) => Pool,
) {
  const createTokenPricer = memoize((price: typeof UNPRICED) =>
    memoize((token: TokenWithDecimals): PricedToken => ({ ...token, ...price })),
  )
  const priceToken = (token: TokenWithDecimals, index: number) => createTokenPricer(prices[index] ?? UNPRICED)(token)
  return memoize(({ pool, token0, token1 }: PositionParts<RawPool>) => ({
    pool: toPool(pool),
    token0: priceToken(token0, pool.token0),
    token1: priceToken(token1, pool.token1),
  }))
}

/** A page of a read: tokens and pools are indexes of lists that start anew on every page. */
interface NumberedPage extends LensPage {
  readonly tokens: readonly unknown[]
  readonly pools: readonly { readonly token0: number; readonly token1: number }[]
  readonly positions: readonly { readonly pool: number; readonly rewards?: readonly { readonly token: number }[] }[]
  readonly broken: readonly unknown[]
}

/** Joins pages of the same block into one read, in their order; indexes shift by the lengths of the pages before. */
export function joinPages<Page extends NumberedPage>(pages: LensPages<Page>): Page {
  const [{ page: first }] = pages
  if (pages.length === 1) return first
  const tokens: Page['tokens'][number][] = []
  const pools: Page['pools'][number][] = []
  const positions: Page['positions'][number][] = []
  for (const { page } of pages) {
    const [tokensBefore, poolsBefore] = [tokens.length, pools.length]
    const shift = (token: number): number => token + tokensBefore
    tokens.push(...page.tokens)
    pools.push(...page.pools.map((each) => ({ ...each, token0: shift(each.token0), token1: shift(each.token1) })))
    positions.push(
      ...page.positions.map((each) => {
        const rewards = each.rewards?.map((reward) => ({ ...reward, token: shift(reward.token) }))
        return { ...each, pool: each.pool + poolsBefore, ...(rewards && { rewards }) }
      }),
    )
  }
  const broken = pages.flatMap(({ page }) => page.broken)
  const taken = pages.reduce((sum, { page }) => sum + page.taken, 0)
  return { ...first, tokens, pools, positions, broken, taken }
}
