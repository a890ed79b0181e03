import type { Address } from 'viem'
import { memoize } from '../../lib/memoize.ts'
import type { Decimal } from '../../lib/number/decimal.ts'
import type { FinanceChain } from '../chain.ts'
import type { TokenAmounts } from '../math/liquidity.ts'
import {
  computeUsdPrice,
  type NoPrice,
  noPriceBecause,
  type UsdAnswers,
  type UsdPrice,
  type UsdPriceOutcome,
  usdValue,
} from '../price/price.ts'
import type { Token } from './token.ts'

/** A token with known decimals, so that its amounts can be shown. */
export interface TokenWithDecimals extends Token {
  readonly decimals: number
  /** Why the token is spam, as a sentence; absent if it is not. */
  readonly spam?: string
}

/** A token of a pool with known decimals and, if it has one, its price at the block of the reading. */
export interface PricedToken extends TokenWithDecimals {
  readonly price: UsdPrice | undefined
  /** Reason for a missing price. */
  readonly noPrice?: NoPrice
  /** Values an amount, exact, in US dollars, up to its share of a bound; absent if the price has none. */
  readonly countUsd?: (amount: bigint) => Decimal
}

/** The price of a token, or the reason why it is missing. */
type PriceOrReason = Pick<PricedToken, 'price' | 'noPrice'>

/** The price of a token whose price was not read. */
export const UNPRICED: PriceOrReason = { price: undefined }

/** True if the token's decimals are known. */
export function hasDecimals(token: Token): token is TokenWithDecimals {
  return token.decimals !== undefined
}

/** Describes missing decimals; memoized, because a token may have very many positions. */
export const describeMissingDecimals = memoize(({ address }: Token) => `token ${address} has no usable decimals`)

/** Computes the price, or the reason for none, of each token of a read, in their order. */
export function computePrices(
  tokens: readonly { readonly address: Address; readonly usd: UsdAnswers }[],
  { chain, blockTimestampSec }: { readonly chain: FinanceChain; readonly blockTimestampSec: bigint },
): PriceOrReason[] {
  return tokens.map(({ address, usd }) => {
    const outcome = computeUsdPrice(address, { chain, answers: usd, blockTimestampSec })
    return outcome.kind === 'price' ? { price: outcome.price } : { price: undefined, noPrice: outcome }
  })
}

/** Converts a token's price, or the reason for none, to an outcome. */
export function toPriceOutcome({
  price,
  noPrice = noPriceBecause('nobody prices it'),
}: PriceOrReason): UsdPriceOutcome {
  return price === undefined ? noPrice : { kind: 'price', price }
}

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
