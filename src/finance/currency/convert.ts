import { type Decimal, formatExact, formatFixed } from '../../lib/number/decimal.ts'
import { divHalfAwayFromZero, pow10 } from '../../lib/number/fixed_point.ts'
import { toCurrencyField } from '../../lib/text/currency_field.ts'
import { isJsonObject } from '../../lib/text/json.ts'
import { USD_DIGITS } from '../figure.ts'
import { divideSignificant } from '../math/liquidity.ts'
import type { ExchangeRate } from './rate.ts'
import { type Currency, NATIONAL_MARKETS } from './table.ts'

/** Prices have all their digits, unlike sums. */
const PRICE_FIELD = /^price_/

/** Presents the rate that an answer's figures were converted by. */
export function presentRate({ currency, units, scale, asOfSec, isStale, chainId }: ExchangeRate) {
  return {
    currency,
    rate: formatExact(units, scale),
    as_of: Number(asOfSec),
    market: getMarket(currency),
    stale: isStale,
    chain_id: chainId,
  }
}

/** Names the market whose hours the feeds of a currency keep. */
export function getMarket(currency: Currency): string {
  return NATIONAL_MARKETS.has(currency) ? `forex_${currency.toLowerCase()}` : 'forex'
}

/**
 * Returns data of an answer in which every field of US dollars is followed by the same in the rate's currency: `value_eur`
 * by `value_usd`, `eur` by `usd`. What is told is divided by the rate and rounded to the digits of dollars, half away from
 * zero; of a price, to 18 significant digits. Without a rate they are null.
 *
 * @figure assets/rate, balance/rate, exit/rate, overview/rate, snapshots/fx_rate
 * @source Chainlink `latestRoundData` of the currency's feed
 * @proof test/contract/portfolio/read/borrowed_price_test.ts
 */
export function addCurrencyFields(
  data: unknown,
  target: { readonly currency: Currency; readonly rate: Decimal | undefined },
): unknown {
  const { currency, rate } = target
  if (Array.isArray(data)) return data.map((each) => addCurrencyFields(each, target))
  if (!isJsonObject(data)) return data
  return Object.fromEntries(
    Object.entries(data).flatMap(([name, value]): [string, unknown][] => {
      const converted = toCurrencyField(name, currency)
      if (converted === undefined) return [[name, addCurrencyFields(value, target)]]
      const isTold = typeof value === 'string' && rate !== undefined
      return [
        [name, value],
        [converted, isTold ? convert(value, { rate, isPrice: PRICE_FIELD.test(name) }) : null],
      ]
    }),
  )
}

function convert(usd: string, { rate, isPrice }: { readonly rate: Decimal; readonly isPrice: boolean }): string {
  const [whole = '', fraction = ''] = usd.split('.')
  const numerator = BigInt(`${whole}${fraction}`) * pow10(rate.scale)
  const denominator = rate.units * pow10(fraction.length)
  if (!isPrice) {
    const units = divHalfAwayFromZero(numerator * pow10(USD_DIGITS), denominator)
    return formatFixed(units, { scale: USD_DIGITS, digits: USD_DIGITS })
  }
  if (numerator === 0n) return '0'
  const { units, scale } = divideSignificant(numerator, denominator)
  return formatExact(units, scale)
}
