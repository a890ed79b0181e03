import {
  type BoundlessRatio,
  type LendingPosition,
  safeBorrowUsd,
  safeWithdrawUsd,
} from '../../../finance/math/lending.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import { addRational, compareRational, ONE, type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import type { LiquidationReason } from '../../lending/due.ts'
import type { Refusal } from '../../lending/withdrawal.ts'
import { computeIdleLiquidity } from './market.ts'
import type { MarketState } from './state.ts'

/*
 * Everything by which Morpho Blue refuses a loan or a withdrawal, or lets any wallet liquidate: one row for each rule,
 * with its place in `Morpho.sol`. Nothing can be paused and no debt has a term. A liquidation that leaves no collateral
 * writes the rest of the debt off at the lenders' expense (`badDebtAssets`): it lowers what lenders hold, and calls
 * nothing due.
 *
 * Rules that bound an amount by the health factor (`InsufficientCollateral`) are below and in `withdrawal.ts`.
 */

/** What a rule can refuse: `withdrawal` is of what was lent. */
type Action = 'loan' | 'withdrawal' | 'collateral_withdrawal' | 'liquidation'

/** Everything that a rule may look at. */
export interface RuleInput {
  /** False if the contract cannot accrue interest. */
  readonly isAccrued: boolean
  /** Undefined if the oracle is silent. */
  readonly oraclePrice: bigint | undefined
  /** Raw units of the loan token. */
  readonly supplied: bigint
  readonly owed: bigint
  readonly market: MarketState
}

/** What refuses an action altogether. */
const REFUSALS: readonly Refusal<Action, RuleInput>[] = [
  {
    rule: 'interest_not_accrued',
    source: '_accrueInterest: the interest-rate model reverts, in every function',
    refuses: ['loan', 'withdrawal', 'collateral_withdrawal', 'liquidation'],
    limitedBy: 'halted',
    holds: ({ isAccrued }) => !isAccrued,
  },
  {
    rule: 'silent_oracle',
    source: 'borrow, liquidate: IOracle.price reverts',
    refuses: ['loan', 'liquidation'],
    holds: ({ oraclePrice }) => oraclePrice === undefined,
  },
  {
    rule: 'silent_oracle_with_debt',
    source: 'withdrawCollateral, _isHealthy: IOracle.price reverts, asked of a position with debt alone',
    refuses: ['collateral_withdrawal'],
    limitedBy: 'price',
    holds: ({ oraclePrice, owed }) => owed > 0n && oraclePrice === undefined,
  },
  {
    rule: 'idle_liquidity',
    source: 'borrow, withdraw: InsufficientLiquidity, of a market that lent everything',
    refuses: ['loan', 'withdrawal'],
    limitedBy: 'liquidity',
    holds: ({ market }) => computeIdleLiquidity(market) === 0n,
  },
]

/** Finds the first rule that refuses an action altogether. */
export function findRefusal(action: Action, input: RuleInput): Refusal<Action, RuleInput> | undefined {
  return REFUSALS.find(({ refuses, holds }) => refuses.includes(action) && holds(input))
}

/** True if a rule refuses an action altogether. */
function isRefused(action: Action, input: RuleInput): boolean {
  return findRefusal(action, input) !== undefined
}

/** Amount that the market would pay out of what was lent, raw units. Source: `withdraw`, InsufficientLiquidity. */
export function computePayable(input: RuleInput): bigint {
  return isRefused('withdrawal', input) ? 0n : minBigint(input.supplied, computeIdleLiquidity(input.market))
}

/**
 * Finds why any wallet may liquidate a position: a loan-to-value above the market's limit is the only reason. `health` is
 * undefined where the contract cannot compute it either: it then reverts. Source: `liquidate`, HealthyPosition.
 */
export function findLiquidationReasons(
  input: RuleInput,
  health: BoundlessRatio | undefined,
): readonly LiquidationReason[] {
  const isHealthy = health === undefined || health === 'max' || compareRational(health, ONE) >= 0
  return isHealthy || isRefused('liquidation', input) ? [] : ['health_factor']
}

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
