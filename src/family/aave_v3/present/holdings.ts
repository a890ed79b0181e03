import { type Address, zeroAddress } from 'viem'
import { noPriceBecause, type UsdPriceOutcome } from '../../../finance/price/price.ts'
import { decodeTokenText, toTokenDisplayText } from '../../../finance/token/text.ts'
import type { Holding } from '../../holding.ts'
import { getAccountPrice } from '../math/account.ts'
import { decodeLimits, type RawCategory } from '../math/state.ts'
import type { RawMarket, RawRead, RawReserve, RawReserveTokens } from '../read/abi.ts'
import type { AaveV3Deployment } from '../table/deployments.ts'

/** Digits of the powers of ten that a market may count one US dollar in. */
const UNIT_DIGITS_MAX = 38

/** What one wallet holds in markets, with the tokens of the reserves that it holds. */
type WalletRead = RawRead & { readonly tokens: readonly RawReserveTokens[] }

/** What a wallet supplies and owes in each market, as rows of a portfolio. A debt at each of two rates is one row. */
export function toHoldings(read: WalletRead, deployments: readonly AaveV3Deployment[]): Holding[] {
  return read.accounts.flatMap((account) => {
    const market = read.markets[account.market]
    const deployment = deployments[account.market]
    if (market === undefined || deployment === undefined) return []
    const category = read.categories.find(({ market, id }) => market === account.market && id === account.category)
    return account.holdings.flatMap((holding) => {
      const isIts = (each: { readonly market: number; readonly id: number }) =>
        each.market === account.market && each.id === holding.reserve
      const reserve = read.reserves.find(isIts)
      if (reserve === undefined) return []
      const price = priceOf(reserve, { market, category })
      const token = tokenOf(reserve, read.tokens.find(isIts))
      const position = { family: 'aave-v3', market_id: deployment.market }
      const row = (kind: Holding['kind'], amount: bigint): Holding[] =>
        amount === 0n ? [] : [{ kind, token, amount, price, position }]
      return [...row('supplied', holding.supplied), ...row('borrowed', holding.variableDebt + holding.stableDebt)]
    })
  })
}

/** Supply and debt tokens of the reserves that a wallet holds: what they are worth is in its rows. */
export function getMarketTokens({ tokens }: WalletRead): Address[] {
  return tokens
    .flatMap((each) => [each.supplyToken, each.stableDebtToken, each.variableDebtToken])
    .filter((token) => token !== zeroAddress)
}

function tokenOf({ asset, symbol, configuration }: RawReserve, named: RawReserveTokens | undefined): Holding['token'] {
  return {
    address: asset,
    symbol: toTokenDisplayText(decodeTokenText(symbol)),
    name: toTokenDisplayText(decodeTokenText(named?.name)),
    decimals: decodeLimits(configuration).decimals,
  }
}

/** The price of the market's oracle. */
function priceOf(
  { id, configuration, price = 0n }: RawReserve,
  { market: { unit, features }, category }: { readonly market: RawMarket; readonly category: RawCategory | undefined },
): UsdPriceOutcome {
  const { legacyCategory } = decodeLimits(configuration)
  const units = getAccountPrice({ id, legacyCategory }, { category, features }, price)
  if (units === 0n) return noPriceBecause("the market's oracle has no price for it")
  const scale = String(unit).length - 1
  if (unit !== 10n ** BigInt(Math.min(scale, UNIT_DIGITS_MAX)))
    return noPriceBecause('its market counts in no decimal unit')
  return { kind: 'price', price: { units, scale, source: 'aave_oracle' } }
}
