import { spamReason } from '../../../finance/token/spam/spam.ts'
import type { Holding, HoldingExclusion } from '../../holding.ts'
import { computeIdleLiquidity } from '../math/market.ts'
import type { HeldMarket, MarketToken } from '../read/position.ts'

/**
 * A position in a market as rows of a portfolio: what was lent, the collateral and the debt. The market's own oracle prices
 * nothing here, since anybody may make a market. What was lent counts only while the market can pay it out: whoever lends
 * to himself against nothing could claim any sum.
 */
export function toHoldings(held: HeldMarket, spamTokens: ReadonlySet<string>): Holding[] {
  const { marketId, market, supplied, owed, collateral, loan, collateralToken, isAccrued } = held
  const position = { family: 'morpho-blue', market_id: marketId }
  const refusedBy = (token: MarketToken): HoldingExclusion | undefined => {
    const spam = spamReason(token, spamTokens)
    if (spam !== undefined) return { reason: 'spam', detail: spam }
    return isAccrued ? undefined : FROZEN
  }
  const asset = (token: MarketToken, amount: bigint, part: string, refused = refusedBy(token)): Holding[] =>
    amount === 0n
      ? []
      : [
          {
            kind: 'supplied',
            token,
            amount,
            price: token.price,
            position: { ...position, part },
            ...(refused && { refused }),
          },
        ]
  const idle = computeIdleLiquidity(market)
  const unpayable: HoldingExclusion | undefined =
    supplied > idle
      ? {
          reason: 'exceeds_liquidity',
          detail: `${supplied} units of the loan token were lent, and the market holds ${idle} idle`,
        }
      : undefined
  return [
    ...asset(loan, supplied, 'lent', refusedBy(loan) ?? unpayable),
    ...(collateralToken === undefined ? [] : asset(collateralToken, collateral, 'collateral')),
    ...(owed === 0n ? [] : [{ kind: 'borrowed' as const, token: loan, amount: owed, price: loan.price, position }]),
  ]
}

const FROZEN: HoldingExclusion = {
  reason: 'withdrawal_reverts',
  detail: 'The interest of the market cannot be accrued, so nothing can be withdrawn from it',
}
