import { type KnownTokens, spamReason } from '../../../finance/token/spam.ts'
import { type Holding, type HoldingExclusion, nameMarketPot, type Payable } from '../../holding.ts'
import { computeLoanPrice } from '../../lending/loan_price.ts'
import { computeIdleLiquidity } from '../math/market.ts'
import { computeWithdrawableCollateral, computeWithdrawableLoan } from '../math/withdrawal.ts'
import type { HeldMarket, MarketToken } from '../read/position.ts'

/**
 * A position in a market as rows of a portfolio: the loan supplied, the collateral and the debt. The market's own
 * oracle is not used for prices, because markets are permissionless. A supplied loan counts as far as the market can pay
 * it out: a wallet that lends to itself without collateral could claim any sum.
 */
export function toHoldings(held: HeldMarket, known: KnownTokens): Holding[] {
  const { marketId, market, supplied, owed, collateral, loan, collateralToken, isAccrued } = held
  const position = { family: 'morpho-blue', market_id: marketId }
  const findExclusion = (token: MarketToken): HoldingExclusion | undefined => {
    const spam = spamReason(token, known)
    if (spam !== undefined) return { reason: 'spam', detail: spam }
    return isAccrued ? undefined : FROZEN
  }
  const toRows = (
    token: MarketToken,
    amount: bigint,
    { part, ...limits }: { readonly part: string } & Pick<Holding, 'payable' | 'sources' | 'withdrawable'>,
  ): Holding[] => {
    const refused = findExclusion(token)
    const row = { kind: 'supplied', token, amount, price: token.price, position: { ...position, part } } as const
    return amount === 0n ? [] : [{ ...row, ...(refused && { refused }), ...limits }]
  }
  const idle = computeIdleLiquidity(market)
  const payable: Payable | undefined =
    supplied > idle
      ? {
          amount: idle,
          detail: `${supplied} units of the loan token were lent, and the market holds ${idle} idle`,
        }
      : undefined
  return [
    ...toRows(loan, supplied, {
      part: 'lent',
      payable,
      sources: [[{ key: nameMarketPot(marketId), amount: idle, reason: 'exceeds_liquidity' }]],
      withdrawable: computeWithdrawableLoan(held),
    }),
    ...(collateralToken === undefined
      ? []
      : toRows(collateralToken, collateral, {
          part: 'collateral',
          withdrawable: computeWithdrawableCollateral(held),
        })),
    ...(owed === 0n ? [] : [toDebt(held, position)]),
  ]
}

function toDebt(held: HeldMarket, position: Holding['position']): Holding {
  const { owed, loan, collateralToken: collateral, oraclePrice } = held
  const marketPrice = computeLoanPrice({ loan, collateral, oraclePrice })
  return {
    kind: 'borrowed',
    token: loan,
    amount: owed,
    price: loan.price,
    position,
    ...(marketPrice && { marketPrice }),
  }
}

const FROZEN: HoldingExclusion = {
  reason: 'withdrawal_reverts',
  detail: 'The interest of the market cannot be accrued, so nothing can be withdrawn from it',
}
