import { type PricedToken, type TokenWithDecimals, UNPRICED } from '../../../finance/token/priced_token.ts'
import { memoize } from '../../../lib/memoize.ts'
import type { PositionParts } from './classify.ts'

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
