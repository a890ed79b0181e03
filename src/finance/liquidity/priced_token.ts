import type { Address } from 'viem'
import { memoize } from '../../lib/memoize.ts'
import type { FinanceChain } from '../chain.ts'
import {
  computeUsdPrice,
  type NoPrice,
  noPriceBecause,
  type UsdAnswers,
  type UsdPrice,
  type UsdPriceOutcome,
} from '../price/price.ts'
import type { Token } from '../token/token.ts'

/** A token whose amounts can be shown. */
export interface TokenWithDecimals extends Token {
  readonly decimals: number
}

/** A token of a pool with known decimals and, if it has one, its price at the block of the reading. */
export interface PricedToken extends TokenWithDecimals {
  readonly price: UsdPrice | undefined
  /** Why it has none. */
  readonly noPrice?: NoPrice
}

/** What a token is worth, as far as it is known. */
type PriceOrReason = Pick<PricedToken, 'price' | 'noPrice'>

/** Of a token that was not asked about. */
export const UNPRICED: PriceOrReason = { price: undefined }

/** True if the token says how many decimals it has. */
export function hasDecimals(token: Token): token is TokenWithDecimals {
  return token.decimals !== undefined
}

/** One sentence for all positions of a token, because there may be very many. */
export const describeMissingDecimals = memoize(({ address }: Token) => `token ${address} has no usable decimals`)

/** The price of every token of a reading that has one, in their order. */
export function computePrices(
  tokens: readonly { readonly address: Address; readonly usd: UsdAnswers }[],
  { chain, blockTimestampSec }: { readonly chain: FinanceChain; readonly blockTimestampSec: bigint },
): PriceOrReason[] {
  return tokens.map(({ address, usd }) => {
    const outcome = computeUsdPrice(address, { chain, answers: usd, blockTimestampSec })
    return outcome.kind === 'price' ? { price: outcome.price } : { price: undefined, noPrice: outcome }
  })
}

/** Its price, or why it is missing. */
export function toPriceOutcome({
  price,
  noPrice = noPriceBecause('nobody prices it'),
}: PriceOrReason): UsdPriceOutcome {
  return price === undefined ? noPrice : { kind: 'price', price }
}
