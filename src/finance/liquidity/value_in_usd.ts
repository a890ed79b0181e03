import type { Decimal } from '../../lib/number/decimal.ts'
import type { TokenAmounts } from '../math/liquidity.ts'
import { usdValue } from '../price/price.ts'
import type { PricedToken } from './priced_token.ts'

/**
 * Creates a function that values amounts of two tokens in US dollars, exact, each up to its share of the bound of its
 * price; undefined if either has no price.
 */
export function createUsdValuer({
  token0,
  token1,
}: {
  readonly token0: PricedToken
  readonly token1: PricedToken
}): ((amounts: TokenAmounts) => readonly Decimal[]) | undefined {
  const [value0, value1] = [createValuer(token0), createValuer(token1)]
  if (value0 === undefined || value1 === undefined) return undefined
  return ({ amount0, amount1 }) => [value0(amount0), value1(amount1)]
}

function createValuer({ decimals, price, countUsd }: PricedToken): ((amount: bigint) => Decimal) | undefined {
  if (price === undefined) return undefined
  return countUsd ?? ((amount) => usdValue(amount, { decimals, price }))
}
