import { noPriceBecause, type UsdPriceOutcome } from '../../../finance/price/price.ts'
import { toToken } from '../../../finance/token/token.ts'
import type { Holding } from '../../holding.ts'
import { type Asset, isOwed } from '../math/account.ts'
import { computeWithdrawable } from '../math/withdrawal.ts'
import type { CompleteAccount } from '../read/position.ts'
import { HUB_NAMES } from '../table.ts'

/** Digits of the prices of every spoke's oracle. */
const PRICE_DIGITS = 8

/** A wallet's supplies and debts in a spoke, as rows of a portfolio. */
export function toHoldings({ spoke, account }: CompleteAccount): Holding[] {
  return account.assets.flatMap((asset): Holding[] => {
    const { supplied, drawn, premium, reserve } = asset
    const row = {
      // Precompiles of equities may not tell their decimals to every node: the reserve does.
      token: { ...toToken(reserve.token), decimals: reserve.decimals },
      price: toPrice(asset),
      position: { family: 'aave-v4', market_id: spoke.name, part: toPart(asset) },
    }
    const withdrawable = supplied === 0n ? undefined : computeWithdrawable(account, asset)
    return [
      ...(supplied === 0n ? [] : [{ kind: 'supplied' as const, ...row, amount: supplied, withdrawable }]),
      ...(isOwed(asset) ? [{ kind: 'borrowed' as const, ...row, amount: drawn + premium }] : []),
    ]
  })
}

/** Names a reserve in its spoke, which may have a token twice, through two hubs: `core-3`. */
export function toPart({ reserve: { id, hub } }: Asset): string {
  return `${HUB_NAMES.get(hub) ?? hub}-${id}`
}

/** The price of the spoke's oracle. */
function toPrice({ reserve: { price = 0n } }: Asset): UsdPriceOutcome {
  if (price === 0n) return noPriceBecause("the spoke's oracle has no price for it")
  return { kind: 'price', price: { units: price, scale: PRICE_DIGITS, source: 'aave_oracle' } }
}
