import { type Address, zeroAddress } from 'viem'
import { noPriceBecause, type UsdPriceOutcome } from '../../../finance/price/price.ts'
import { decodeTokenText, toTokenDisplayText } from '../../../finance/token/text.ts'
import type { Holding } from '../../holding.ts'
import { getAccountPrice } from '../math/account.ts'
import { decodeLimits } from '../math/state.ts'
import { computeWithdrawable } from '../math/withdrawal.ts'
import type { RawRead, RawReserve, RawReserveTokens } from '../read/abi.ts'
import type { AaveV3Deployment } from '../table.ts'

/** Maximum number of digits of a market's unit, which must be a power of ten. */
const UNIT_DIGITS_MAX = 38

/** A reading of one wallet, with the tokens of the reserves that it holds. */
type WalletRead = RawRead & { readonly tokens: readonly RawReserveTokens[] }

/** A wallet's supplies and debts in each market, as rows of a portfolio. Stable and variable debt are one row. */
export function toHoldings(read: WalletRead, deployments: readonly AaveV3Deployment[]): Holding[] {
  return read.accounts.flatMap((raw) => {
    const market = read.markets[raw.market]
    const deployment = deployments[raw.market]
    if (market === undefined || deployment === undefined) return []
    const category = read.categories.find(({ market: its, id }) => its === raw.market && id === raw.category)
    const { unit, features } = market
    const held = raw.holdings.flatMap((holding) => {
      const isSameReserve = (each: { readonly market: number; readonly id: number }) =>
        each.market === raw.market && each.id === holding.reserve
      const reserve = read.reserves.find(isSameReserve)
      if (reserve === undefined) return []
      const limits = { ...decodeLimits(reserve.configuration), id: reserve.id, withdrawable: reserve.withdrawable }
      const price = getAccountPrice(limits, { category, features }, reserve.price ?? 0n)
      return [{ reserve, tokens: read.tokens.find(isSameReserve), asset: { ...holding, reserve: limits, price } }]
    })
    const account = { features, category, data: raw.data, assets: held.map(({ asset }) => asset) }
    return held.flatMap(({ reserve, tokens, asset }) => {
      const { supplied, variableDebt, stableDebt } = asset
      const row = {
        token: toHeldToken(reserve, tokens),
        price: toPrice(asset.price, unit),
        position: { family: 'aave-v3', market_id: deployment.market },
      }
      const debt = variableDebt + stableDebt
      const withdrawable = supplied === 0n ? undefined : computeWithdrawable(account, asset)
      return [
        ...(supplied === 0n ? [] : [{ kind: 'supplied' as const, ...row, amount: supplied, withdrawable }]),
        ...(debt === 0n ? [] : [{ kind: 'borrowed' as const, ...row, amount: debt }]),
      ]
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
function toPrice(units: bigint, unit: bigint): UsdPriceOutcome {
  if (units === 0n) return noPriceBecause("the market's oracle has no price for it")
  const scale = String(unit).length - 1
  if (unit !== 10n ** BigInt(Math.min(scale, UNIT_DIGITS_MAX)))
    return noPriceBecause('its market counts in no decimal unit')
  return { kind: 'price', price: { units, scale, source: 'aave_oracle' } }
}
