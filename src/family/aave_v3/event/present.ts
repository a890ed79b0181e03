import { getAddress, zeroAddress } from 'viem'
import { usdValue } from '../../../chain/price.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import { usdText } from '../../figure.ts'
import type { PricedEvent } from './priced.ts'

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
  const { units, scale } = usdValue(amount, { decimals: token.decimals, price })
  return {
    type: kind,
    blockNumber: block,
    logIndex,
    timestamp: timestampSec,
    transactionHash,
    asset: {
      address: getAddress(asset),
      symbol: token.symbol,
      name: token.name,
      decimals: token.decimals,
      logoURI: null,
    },
    amount: formatExact(amount, token.decimals),
    amountUSD: usdText(rational(units, pow10(scale))),
    priceUSD: usdText(rational(price.units, pow10(price.scale))),
    counterparty: getAddress(counterparty ?? zeroAddress),
  }
}
