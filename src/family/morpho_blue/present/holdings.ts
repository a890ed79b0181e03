import { divideSignificant } from '../../../finance/math/liquidity.ts'
import { getConfidence, type UsdPrice } from '../../../finance/price/price.ts'
import { type KnownTokens, spamReason } from '../../../finance/token/spam.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import type { Holding, HoldingExclusion, Payable } from '../../holding.ts'
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
    { part, ...limits }: { readonly part: string } & Pick<Holding, 'payable' | 'withdrawable'>,
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
    ...toRows(loan, supplied, { part: 'lent', payable, withdrawable: computeWithdrawableLoan(held) }),
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
  const { owed, loan } = held
  const marketPrice = computeMarketPrice(held)
  return {
    kind: 'borrowed',
    token: loan,
    amount: owed,
    price: loan.price,
    position,
    ...(marketPrice && { marketPrice }),
  }
}

/**
 * Computes the price of the loan token by the market's own oracle: the price of the collateral ÷ loan tokens per
 * collateral token, with 18 significant digits. Undefined if the oracle is silent or no oracle prices the collateral:
 * a market by itself says nothing about dollars.
 *
 * @figure price_usd
 * @source Morpho `IOracle.price`
 * @proof test/unit/family/morpho_blue/holdings_test.ts
 */
function computeMarketPrice({ loan, collateralToken, oraclePrice = 0n }: HeldMarket): UsdPrice | undefined {
  const collateralPrice = collateralToken?.price.kind === 'price' ? collateralToken.price.price : undefined
  const [loanDecimals, collateralDecimals] = [loan.decimals, collateralToken?.decimals]
  if (collateralPrice === undefined || loanDecimals === undefined || collateralDecimals === undefined) return undefined
  if (oraclePrice === 0n || !['oracle', 'derived'].includes(getConfidence(collateralPrice))) return undefined
  const numerator = collateralPrice.units * pow10(ORACLE_DECIMALS + loanDecimals)
  const denominator = oraclePrice * pow10(collateralPrice.scale + collateralDecimals)
  return { ...divideSignificant(numerator, denominator), source: 'market_oracle' }
}

/** Decimals of the answers of Morpho's oracles. */
const ORACLE_DECIMALS = 36

const FROZEN: HoldingExclusion = {
  reason: 'withdrawal_reverts',
  detail: 'The interest of the market cannot be accrued, so nothing can be withdrawn from it',
}
