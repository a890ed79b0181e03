import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import { compareRational, ONE, type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import type { LiquidationReason } from '../../lending/due.ts'
import { SF } from './accrual.ts'
import { type ObligationPosition, type Snapshot, type Supply, valueObligation } from './position.ts'
import { type Action, CALLS, findLeast, LOAN_LIMITS, REFUSALS, type RuleInput, WITHDRAWAL_LIMITS } from './rule.ts'

/** An obligation's values, and what the program's rules make of them. */
export interface AssessedObligation extends ObligationPosition {
  readonly snapshot: Snapshot
  /** Why any wallet may liquidate it at its slot. */
  readonly liquidatableBecause: readonly LiquidationReason[]
  /** Earliest time known from which its debt can be called due, Unix seconds; undefined if none is set. */
  readonly dueAtSec: bigint | undefined
}

/**
 * Values an obligation and finds why any wallet may liquidate it, and when its debt is due. A term or maturity is a due time
 * also while the market does not liquidate for it. Source: klend `get_liquidation_params`.
 */
export function assessObligation(snapshot: Snapshot, options: { readonly slotMs: number }): AssessedObligation {
  const position = valueObligation(snapshot, options)
  const input = { snapshot, position }
  const isLiquidable = !isRefused('liquidation', input)
  const times = CALLS.flatMap((call) => call.dueAtSec?.(input) ?? []).filter((atSec) => atSec > 0n)
  const hasDebt = position.borrows.length > 0
  return {
    ...position,
    snapshot,
    liquidatableBecause: CALLS.filter((call) => isLiquidable && call.isCalled(input)).map(({ because }) => because),
    dueAtSec: hasDebt && times.length > 0 ? times.reduce(minBigint) : undefined,
  }
}

/**
 * US dollars that can still be borrowed (at borrow factor 1) before the health factor falls to `target` or a rule of the
 * program refuses more; 0 while any wallet may liquidate. What reserves can lend is known of those that it borrows from.
 *
 * @figure safe_borrow_amount_usd, kamino/safeBorrowAmountUSD
 * @source definition, and the rules of `rule.ts`
 * @proof test/unit/family/kamino/risk_test.ts
 */
export function computeSafeBorrow(position: AssessedObligation, target: Rational): Rational {
  const { snapshot, totals, borrows, liquidatableBecause } = position
  const input = { snapshot, position }
  if (liquidatableBecause.length > 0 || isRefused('loan', input)) return ZERO
  const byHealth = rational(totals.liquidationLimit * target.denominator, target.numerator)
  const byLtv = rational(totals.borrowLimit, 1n)
  const limit = compareRational(byHealth, byLtv) < 0 ? byHealth : byLtv
  const byCollateral = rational(limit.numerator - totals.riskDebt * limit.denominator, limit.denominator)
  const lendable = borrows.map((debt) => {
    const roomSf = findLeast(LOAN_LIMITS.map(({ room }) => room(debt, input))) ?? 0n
    return (debt.toValue(maxBigint(roomSf, 0n)) * debt.factorPct) / 100n
  })
  const byReserves = rational(
    lendable.reduce((sum, each) => sum + each, 0n),
    1n,
  )
  const isBoundByReserves = borrows.length > 0 && compareRational(byReserves, byCollateral) < 0
  const room = isBoundByReserves ? byReserves : byCollateral
  const largestDebt = borrows.map(({ value }) => value).reduce(maxBigint, 0n)
  const isTooSmall = room.numerator + largestDebt * room.denominator < computeLeastValue(position) * room.denominator
  return room.numerator <= 0n || isTooSmall ? ZERO : rational(room.numerator, room.denominator * totals.perUsd)
}

/**
 * US dollars of collateral that can be taken out, from all of it in proportion as far as each reserve pays, before the
 * health factor falls to `target` or a rule of the program refuses more; 0 for a debt while any wallet may liquidate.
 *
 * @figure safe_withdraw_amount_usd, kamino/safeWithdrawAmountUSD
 * @source definition, and the rules of `rule.ts`; klend `max_withdraw_value` and `post_withdraw_obligation_invariants`
 * @proof test/unit/family/kamino/risk_test.ts
 */
export function computeSafeWithdraw(position: AssessedObligation, target: Rational): Rational {
  const { snapshot, totals, supplies, liquidatableBecause } = position
  const input = { snapshot, position }
  if (liquidatableBecause.length > 0 || isRefused('withdrawal', input)) return ZERO
  const { numerator, denominator } = computeFreeShare(position, target)
  const least = computeLeastValue(position) * denominator
  const sum = supplies.reduce((total, supply) => {
    const all = supply.value * denominator
    const share = minBigint(supply.value * numerator, computeWithdrawalRoom(supply, input) * denominator)
    // What stays behind is nothing or the least value.
    const amount = share < all ? minBigint(share, all - least) : all
    return total + maxBigint(amount, 0n)
  }, 0n)
  return rational(sum, denominator * totals.perUsd)
}

/** Computes the share of every deposit that the debt leaves free. */
function computeFreeShare({ snapshot, totals, ltvLimit }: AssessedObligation, target: Rational): Rational {
  const { riskDebt, liquidationLimit, borrowLimit, collateral } = totals
  if (riskDebt === 0n) return ONE
  // Withdrawals are held to the maximum loan-to-value, and to nothing at all once it is reached.
  if (borrowLimit <= riskDebt) return ZERO
  const { startedAtSec, targetLtvPct } = snapshot.obligation.deleveraging
  const limits = [
    rational(liquidationLimit * target.denominator, target.numerator),
    rational(ltvLimit, 1n),
    ...(startedAtSec === 0n ? [] : [rational(collateral * targetLtvPct, 100n)]),
  ]
  const shares = limits.map((limit) => {
    const left = limit.numerator - riskDebt * limit.denominator
    return left <= 0n ? ZERO : rational(left, limit.numerator)
  })
  return shares.reduce((least, share) => (compareRational(share, least) < 0 ? share : least), ONE)
}

/** Value that a deposit's reserve lets out. */
function computeWithdrawalRoom(supply: Supply, input: RuleInput): bigint {
  const roomSf = findLeast(WITHDRAWAL_LIMITS.map(({ room }) => room(supply, input))) ?? 0n
  return supply.toValue(maxBigint(roomSf, 0n))
}

/** Least value of a deposit or a debt, rounded up. Source: klend `min_net_value_in_obligation_sf`. */
export function computeLeastValue({ snapshot, totals }: Pick<AssessedObligation, 'snapshot' | 'totals'>): bigint {
  return (snapshot.market.leastValueSf * totals.perUsd + SF - 1n) / SF
}

function isRefused(action: Action, input: RuleInput): boolean {
  return REFUSALS.some(({ refuses, holds }) => refuses.includes(action) && holds(input))
}
