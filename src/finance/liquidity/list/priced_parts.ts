import { memoize } from '../../../lib/memoize.ts'
import { type KnownToken, type PricedToken, UNPRICED } from '../priced_token.ts'
import type { Parts } from './sort_out.ts'

/**
 * Prices the pools and tokens of a reading, each once: a wallet's positions are in few pools. `prices` are those of its
 * tokens, in their order; `poolOf` makes of a pool what a position tells of it.
 */
export function pricedParts<RawPool extends { readonly token0: number; readonly token1: number }, Pool>(
  prices: readonly (typeof UNPRICED)[],
  poolOf: (raw: RawPool) => Pool,
) {
  const pricedBy = memoize((price: typeof UNPRICED) =>
    memoize((token: KnownToken): PricedToken => ({ ...token, ...price })),
  )
  const priced = (token: KnownToken, place: number) => pricedBy(prices[place] ?? UNPRICED)(token)
  return memoize(({ pool, token0, token1 }: Parts<RawPool>) => ({
    pool: poolOf(pool),
    token0: priced(token0, pool.token0),
    token1: priced(token1, pool.token1),
  }))
}
