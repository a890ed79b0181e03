import { getAddress, zeroAddress } from 'viem'
import { usdText } from '../../../finance/figure.ts'
import type { LendingEvent } from '../../../finance/lending/lending_event.ts'
import { type UsdPrice, usdValue } from '../../../finance/price/price.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import type { TokenFacts } from '../read/read_tokens.ts'

/** An event with all that an answer says about it. */
export interface PricedEvent extends LendingEvent {
  readonly timestampSec: number
  readonly token: TokenFacts
  /** At the event's block. */
  readonly price: UsdPrice
}

/**
 * An event as answers show it: its amount is that of the log ÷ 10^decimals of the token, its value that amount × the
 * price of Aave's oracle at its block.
 *
 * @figure aave-v3/amount, amountUSD, priceUSD
 * @source the event log; the price of `AaveOracle` at its block
 * @proof test/family/aave_v3/event/route_test.ts
 */
export function presentEvent(event: PricedEvent) {
  const { kind, block, logIndex, timestampSec, transactionHash, asset, amount, counterparty, token, price } = event
  const { symbol, name, decimals } = token
  const { units, scale } = usdValue(amount, { decimals, price })
  return {
    type: kind,
    blockNumber: block,
    logIndex,
    timestamp: timestampSec,
    transactionHash,
    asset: { address: getAddress(asset), symbol, name, decimals, logoURI: null },
    amount: formatExact(amount, decimals),
    amountUSD: usdText(rational(units, pow10(scale))),
    priceUSD: usdText(rational(price.units, pow10(price.scale))),
    counterparty: getAddress(counterparty ?? zeroAddress),
  }
}
