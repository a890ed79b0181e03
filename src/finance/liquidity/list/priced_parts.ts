import { memoize } from '../../../lib/memoize.ts'
import { type PricedToken, type TokenWithDecimals, UNPRICED } from '../priced_token.ts'
import type { PositionParts } from './classify.ts'

/**
 * Prices the pools and tokens of a reading, each once: a wallet's positions are in few pools. `prices` are those of its
 * tokens, in their order; `poolOf` makes of a pool what a position tells of it.
 */
export function priceParts<RawPool extends { readonly token0: number; readonly token1: number }, Pool>(
  prices: readonly (typeof UNPRICED)[],
  poolOf: (raw: RawPool) => Pool,
) {
  const pricedBy = memoize((price: typeof UNPRICED) =>
    memoize((token: TokenWithDecimals): PricedToken => ({ ...token, ...price })),
  )
  const priced = (token: TokenWithDecimals, place: number) => pricedBy(prices[place] ?? UNPRICED)(token)
  return memoize(({ pool, token0, token1 }: PositionParts<RawPool>) => ({
    pool: poolOf(pool),
    token0: priced(token0, pool.token0),
    token1: priced(token1, pool.token1),
  }))
}
