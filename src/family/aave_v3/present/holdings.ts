import { type Address, zeroAddress } from 'viem'
import { noPriceBecause, type UsdPriceOutcome } from '../../../finance/price/price.ts'
import { decodeTokenText, toTokenDisplayText } from '../../../finance/token/text.ts'
import type { Holding } from '../../holding.ts'
import { getAccountPrice } from '../math/account.ts'
import { decodeLimits, type RawCategory } from '../math/state.ts'
import type { RawMarket, RawRead, RawReserve, RawReserveTokens } from '../read/abi.ts'
import type { AaveV3Deployment } from '../table/deployments.ts'

/** Maximum number of digits of a market's unit, which must be a power of ten. */
const UNIT_DIGITS_MAX = 38

/** A reading of one wallet, with the tokens of the reserves that it holds. */
type WalletRead = RawRead & { readonly tokens: readonly RawReserveTokens[] }

/** A wallet's supplies and debts in each market, as rows of a portfolio. Stable and variable debt are one row. */
export function toHoldings(read: WalletRead, deployments: readonly AaveV3Deployment[]): Holding[] {
  return read.accounts.flatMap((account) => {
    const market = read.markets[account.market]
    const deployment = deployments[account.market]
    if (market === undefined || deployment === undefined) return []
    const category = read.categories.find(({ market, id }) => market === account.market && id === account.category)
    return account.holdings.flatMap((holding) => {
      const isSameReserve = (each: { readonly market: number; readonly id: number }) =>
        each.market === account.market && each.id === holding.reserve
      const reserve = read.reserves.find(isSameReserve)
      if (reserve === undefined) return []
      const price = getPrice(reserve, { market, category })
      const token = toHeldToken(reserve, read.tokens.find(isSameReserve))
      const position = { family: 'aave-v3', market_id: deployment.market }
      const toRows = (kind: Holding['kind'], amount: bigint): Holding[] =>
        amount === 0n ? [] : [{ kind, token, amount, price, position }]
      return [...toRows('supplied', holding.supplied), ...toRows('borrowed', holding.variableDebt + holding.stableDebt)]
    })
  })
}

/** Supply and debt tokens of the reserves that a wallet holds: the rows already contain their value. */
export function getMarketTokens({ tokens }: WalletRead): Address[] {
  return tokens
    .flatMap((each) => [each.supplyToken, each.stableDebtToken, each.variableDebtToken])
    .filter((token) => token !== zeroAddress)
}

function toHeldToken(
  { asset, symbol, configuration }: RawReserve,
  reserveTokens: RawReserveTokens | undefined,
): Holding['token'] {
  return {
    address: asset,
    symbol: toTokenDisplayText(decodeTokenText(symbol)),
    name: toTokenDisplayText(decodeTokenText(reserveTokens?.name)),
    decimals: decodeLimits(configuration).decimals,
  }
}

/** The price of the market's oracle. */
function getPrice(
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
