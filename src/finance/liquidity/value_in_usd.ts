import type { Decimal } from '../../lib/number/decimal.ts'
import type { TokenAmounts } from '../math/liquidity.ts'
import { usdValue } from '../price/price.ts'
import type { PricedToken } from './priced_token.ts'

/** Creates a function that values amounts of two tokens in US dollars, exact; undefined if either has no price. */
export function createUsdValuer({
  token0,
  token1,
}: {
  readonly token0: PricedToken
  readonly token1: PricedToken
}): ((amounts: TokenAmounts) => readonly Decimal[]) | undefined {
  const [price0, price1] = [token0.price, token1.price]
  if (price0 === undefined || price1 === undefined) return undefined
  return ({ amount0, amount1 }) => [
    usdValue(amount0, { decimals: token0.decimals, price: price0 }),
    usdValue(amount1, { decimals: token1.decimals, price: price1 }),
  ]
}
