import { type LendingPosition, safeBorrowUsd, safeWithdrawUsd } from '../../../finance/math/lending.ts'
import { addRational, compareRational, type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import { computeIdleLiquidity } from './market.ts'
import { computePayable, isRefused, type RuleInput } from './rule.ts'

/** Inputs of the safe amounts of a valued position. */
interface Safety extends LendingPosition, RuleInput {
  /** US dollars per raw unit of the loan token. */
  readonly loanUsd: Rational
}

/**
 * US dollars that can still be borrowed before the health factor falls to `target`: collateral × liquidation
 * loan-to-value ÷ target − debt, at most the limit of borrowing, and at most what the market holds idle; 0 if a rule refuses every loan.
 *
 * @figure morpho-blue/safeBorrowAmountUSD
 * @source Morpho Blue SDK `AccrualPosition.getBorrowCapacityLimit`
 * @proof test/contract/family/morpho_blue/list/list_test.ts
 */
export function safeBorrow(position: Safety, target: Rational): Rational {
  if (isRefused('loan', position)) return ZERO
  const safe = safeBorrowUsd(position.totals, target)
  const idle = worth(computeIdleLiquidity(position.market), position.loanUsd)
  return compareRational(idle, safe) < 0 ? idle : safe
}

/**
 * US dollars that can be taken out before the health factor falls to `target`: collateral × (1 − target ÷ health factor),
 * all of it without debt; and what was lent, which backs no debt, up to what the market holds idle; either
 * is 0 if a rule refuses it.
 *
 * @figure morpho-blue/safeWithdrawAmountUSD
 * @source Morpho Blue SDK `AccrualPosition.withdrawableCollateral`, `withdrawCapacityLimit`
 * @proof test/contract/family/morpho_blue/list/list_test.ts
 */
export function safeWithdraw(position: Safety, target: Rational): Rational {
  const collateral = isRefused('collateral_withdrawal', position) ? ZERO : safeWithdrawUsd(position.totals, target)
  return addRational(collateral, worth(computePayable(position), position.loanUsd))
}

function worth(amount: bigint, { numerator, denominator }: Rational): Rational {
  return rational(amount * numerator, denominator)
}
