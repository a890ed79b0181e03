import type { WithdrawalLimit } from '../../../finance/withdrawable.ts'
import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import type { LiquidationReason } from '../../lending/due.ts'
import type { Refusal } from '../../lending/withdrawal.ts'
import type { ObligationOrder, OutflowCap } from '../read/accounts/layout.ts'
import { SF, toLiquidity } from './accrual.ts'
import type { AssetLeg, Debt, ObligationPosition, Snapshot, Supply } from './position.ts'

/*
 * Everything by which Kamino Lend refuses a loan or a withdrawal, or lets any wallet liquidate: one row for each rule, with
 * its place in the program's source (klend 1.16.0; permissions by 1.25.0, orders by 1.26.0). What a caller can avoid by
 * sending the right instructions is no rule here.
 */

/** Everything that a rule may look at. */
export interface RuleInput {
  readonly snapshot: Snapshot
  readonly position: ObligationPosition
}

/** What a rule can refuse. */
export type Action = 'loan' | 'withdrawal' | 'liquidation'

/** A rule that bounds how much of one reserve can be lent or withdrawn. */
interface Limit<Leg extends AssetLeg> {
  readonly rule: string
  readonly source: string
  /** Base units, Sf: 0 or less is nothing, undefined no bound. */
  readonly room: (leg: Leg, input: RuleInput) => bigint | undefined
}

/** A rule by which a debt can be called due. */
interface Call {
  readonly because: LiquidationReason
  readonly source: string
  /** True if the reason is in force at the slot. */
  readonly isCalled: (input: RuleInput) => boolean
  /** Times from which the reason is in force, Unix seconds, as far as they are known in advance. */
  readonly dueAtSec?: (input: RuleInput) => readonly bigint[]
}

const BPS_SECONDS_PER_DAY = 10_000n * 86_400n

/** What refuses an action altogether. */
export const REFUSALS: readonly Refusal<Action, RuleInput>[] = [
  {
    rule: 'emergency_mode',
    source: 'lib.rs, emergency_mode_disabled',
    refuses: ['loan', 'withdrawal', 'liquidation'],
    limitedBy: 'halted',
    holds: ({ snapshot }) => snapshot.market.isEmergency,
  },
  {
    rule: 'loans_permissioned',
    source: 'check_permissions, PermissionedOp::BORROW: a signature of the market’s authority',
    refuses: ['loan'],
    holds: ({ snapshot }) => snapshot.market.permissions.loans,
  },
  {
    rule: 'unknown_permissions',
    source: 'PermissionedOp: withdrawals need no permission by any bit of 1.25.0; a later one may',
    refuses: ['loan', 'withdrawal'],
    limitedBy: 'gate',
    holds: ({ snapshot: { market, assets } }) =>
      [market, ...[...assets.values()].map(({ reserve }) => reserve)].some(({ permissions }) => permissions.others),
  },
  {
    rule: 'not_in_group',
    source: 'refresh_obligation_deposits and refresh_obligation_borrows: InconsistentElevationGroup',
    refuses: ['loan', 'withdrawal', 'liquidation'],
    limitedBy: 'halted',
    holds: ({ position: { group, supplies, borrows } }) =>
      group !== undefined && [...supplies, ...borrows].some(({ reserve }) => !reserve.groups.includes(group.id)),
  },
  {
    rule: 'borrowing_disabled',
    source: 'check_borrow_possible: BorrowingDisabled',
    refuses: ['loan'],
    holds: ({ snapshot }) => snapshot.market.isBorrowingDisabled,
  },
  {
    rule: 'borrowing_disabled_outside_groups',
    source: 'refresh_obligation_deposits, check_non_elevation_group_borrowing_enabled',
    refuses: ['loan'],
    // A refresh sets the obligation's own flag anew from its reserves; until then the flag stands.
    holds: ({ snapshot, position: { group, supplies } }) =>
      group === undefined &&
      (snapshot.obligation.borrowingDisabled || supplies.some(({ reserve }) => reserve.backsDebtInGroupsOnly)),
  },
  {
    rule: 'new_loans_disabled',
    source: 'check_elevation_group_borrowing_enabled, in borrow_obligation_liquidity',
    refuses: ['loan'],
    holds: ({ position: { group } }) => group !== undefined && !group.allowsNewLoans,
  },
  {
    rule: 'new_loans_disabled_with_debt',
    source: 'check_elevation_group_borrowing_enabled, in withdraw_obligation_collateral',
    refuses: ['withdrawal'],
    limitedBy: 'health',
    holds: ({ position: { group, borrows } }) => group !== undefined && !group.allowsNewLoans && borrows.length > 0,
  },
  {
    rule: 'marked_for_deleveraging',
    source: 'check_not_marked_for_deleveraging',
    refuses: ['loan'],
    holds: ({ snapshot }) => snapshot.obligation.deleveraging.startedAtSec !== 0n,
  },
  {
    rule: 'obsolete_reserve',
    source: 'check_borrow_possible: ObligationInObsoleteReserve',
    refuses: ['loan'],
    holds: ({ position }) => hasObsoleteReserve(position),
  },
  {
    rule: 'group_limit',
    source: 'check_elevation_group_borrow_limit_constraints',
    refuses: ['loan'],
    holds: ({ position }) => listGroupRooms(position).some((room) => room <= 0n),
  },
  {
    rule: 'collateral_without_value',
    source: 'check_obligation_fully_refreshed_and_not_null: ObligationDepositsZero',
    refuses: ['loan', 'liquidation'],
    holds: ({ position }) => position.totals.supplied === 0n,
  },
  {
    rule: 'price_not_steady',
    source: 'check_borrow_possible: PriceStatusFlags::ALL_CHECKS',
    refuses: ['loan'],
    holds: ({ position }) => !isEveryPriceSteady(position),
  },
  {
    rule: 'price_not_steady_with_debt',
    source: 'withdraw_obligation_collateral: PriceStatusFlags::ALL_CHECKS',
    refuses: ['withdrawal'],
    limitedBy: 'price',
    holds: ({ position }) => position.borrows.length > 0 && !isEveryPriceSteady(position),
  },
  {
    rule: 'no_debt',
    source: 'assert_obligation_liquidatable: ObligationBorrowsZero',
    refuses: ['liquidation'],
    holds: ({ position }) => position.totals.riskDebt === 0n,
  },
  {
    rule: 'collateral_without_threshold',
    source: 'liquidate_obligation: CollateralNonLiquidatable',
    refuses: ['liquidation'],
    holds: ({ position }) => position.totals.liquidationLimit === 0n,
  },
]

/** What still can be lent of a reserve that the obligation borrows from already. */
export const LOAN_LIMITS: readonly Limit<Debt>[] = [
  {
    rule: 'debt_matured',
    source: 'check_borrow_possible: ReserveDebtMaturityReached',
    room: ({ reserve }, { snapshot }) => nothingIf(isReached(reserve.debtMaturitySec, snapshot)),
  },
  {
    rule: 'term_ended',
    source: 'borrow_obligation_liquidity: DebtReachedReserveDebtTerm',
    room: (debt, { snapshot }) => nothingIf(isReached(findTermEnd(debt), snapshot)),
  },
  {
    rule: 'other_debt_in_group',
    source: 'update_elevation_group_debt_trackers_on_borrow: ElevationGroupHasAnotherDebtReserve',
    room: ({ address }, { position: { group } }) => nothingIf(group !== undefined && group.debtReserve !== address),
  },
  {
    rule: 'loans_permissioned',
    source: 'check_permissions, ReserveConfig.permissioned_ops',
    room: ({ reserve }) => nothingIf(reserve.permissions.loans),
  },
  {
    rule: 'borrow_limit',
    source: 'remaining_borrow_capacity, check_below_reserve_borrow_limit',
    room: ({ reserve, pool }) => reserve.borrowLimit * SF - pool.borrowedSf,
  },
  {
    rule: 'borrow_limit_outside_groups',
    source: 'update_elevation_group_debt_trackers_on_borrow: BorrowLimitExceeded',
    room: ({ reserve, amountSf, countedOutsideGroups }, { position: { group } }) => {
      const { borrowLimitOutsideGroups: limit, borrowedOutsideGroups: counted } = reserve
      if (group !== undefined) return undefined
      return (limit - maxBigint(counted - countedOutsideGroups, 0n) - toWholeUnits(amountSf)) * SF
    },
  },
  {
    rule: 'group_limit',
    source: 'update_elevation_group_debt_trackers_on_borrow: ElevationGroupBorrowLimitExceeded',
    room: (_, { position }) => findLeast(listGroupRooms(position)),
  },
  {
    rule: 'utilization_limit',
    source: 'check_below_reserve_utilization_limit',
    room: ({ reserve: { utilizationLimitPct }, pool }) =>
      utilizationLimitPct === 0n ? undefined : (pool.supplySf * utilizationLimitPct) / 100n - pool.borrowedSf - 1n,
  },
  {
    rule: 'liquidity',
    source: 'Reserve.borrow: freely_available_liquidity_amount',
    room: computeFreeLiquidity,
  },
  {
    rule: 'outflow_cap',
    source: 'add_to_withdrawal_accum: debt_withdrawal_cap',
    room: ({ reserve }, { snapshot }) => computeCapRoom(reserve.borrowCap, snapshot),
  },
]

/** What can be withdrawn of a deposit. */
export const WITHDRAWAL_LIMITS: readonly (Limit<Supply> & { readonly limitedBy: WithdrawalLimit })[] = [
  {
    rule: 'obsolete_reserve',
    limitedBy: 'inactive',
    source: 'withdraw_obligation_collateral: ObligationInObsoleteReserve',
    room: ({ reserve }, { position }) => nothingIf(reserve.isActive && hasObsoleteReserve(position)),
  },
  {
    rule: 'liquidity',
    limitedBy: 'liquidity',
    source: 'redeem_collateral: freely_available_liquidity_amount; tickets of the withdraw queue come first',
    room: computeFreeLiquidity,
  },
  {
    rule: 'outflow_cap',
    limitedBy: 'cap',
    source: 'add_to_withdrawal_accum: deposit_withdrawal_cap',
    room: ({ reserve }, { snapshot }) => computeCapRoom(reserve.withdrawalCap, snapshot),
  },
]

/*
 * Rules that bound a withdrawal by what stays behind (max LTV, the mark of deleveraging, the least value of a deposit or
 * a debt) are in `risk.ts`: they bound the obligation, not a reserve.
 */

/** By what a debt can be called due; the switches of a market decide whether it is. */
export const CALLS: readonly Call[] = [
  {
    because: 'health_factor',
    source: 'check_liquidate_obligation: LtvExceeded',
    isCalled: ({ snapshot, position: { totals } }) =>
      totals.riskDebt >= totals.liquidationLimit && !snapshot.market.isPriceLiquidationDisabled,
  },
  {
    because: 'deleveraging',
    source: 'check_individual_autodeleverage_obligation: IndividualDeleveraging',
    isCalled: (input) => findMarkedTimes(input).some((atSec) => isReached(atSec, input.snapshot)),
    dueAtSec: findMarkedTimes,
  },
  {
    because: 'market_deleveraging',
    source: 'check_market_wide_autodeleverage_obligation: MarketWideDeleveraging',
    isCalled: (input) => findMarketTimes(input).some((atSec) => isReached(atSec, input.snapshot)),
    dueAtSec: findMarketTimes,
  },
  {
    because: 'debt_matured',
    source: 'check_reserve_debt_maturity_reached: ReserveDebtMaturityReached',
    isCalled: ({ snapshot, position }) =>
      snapshot.market.isMaturityLiquidationEnabled &&
      position.borrows.some(({ reserve }) => isReached(reserve.debtMaturitySec, snapshot)),
    dueAtSec: ({ position }) => position.borrows.map(({ reserve }) => reserve.debtMaturitySec),
  },
  {
    because: 'term_ended',
    source: 'check_borrow_reserve_debt_term_reached: ObligationBorrowDebtTermReached',
    isCalled: ({ snapshot, position }) =>
      snapshot.market.isTermLiquidationEnabled &&
      position.borrows.some((debt) => isReached(findTermEnd(debt), snapshot)),
    dueAtSec: ({ position }) => position.borrows.map(findTermEnd),
  },
  {
    because: 'obligation_order',
    source: 'check_obligation_order_execution: ObligationOrder',
    isCalled: (input) =>
      input.snapshot.market.areOrdersExecuted &&
      input.snapshot.obligation.orders.some((each) => isOrderHit(each, input)),
  },
]

/** True if a time that is set has come; 0 is none. */
function isReached(atSec: bigint, { timestampSec }: Pick<Snapshot, 'timestampSec'>): boolean {
  return atSec !== 0n && timestampSec >= atSec
}

/** Finds the end of a debt's term, Unix seconds; 0 without one. Source: klend `get_debt_term_end_timestamp`. */
function findTermEnd({ reserve, borrowedAtSec }: Debt): bigint {
  return reserve.debtTermSec === 0n || borrowedAtSec === 0n ? 0n : borrowedAtSec + reserve.debtTermSec
}

function hasObsoleteReserve({ supplies, borrows }: ObligationPosition): boolean {
  return [...supplies, ...borrows].some(({ reserve }) => reserve.isObsolete)
}

function isEveryPriceSteady({ supplies, borrows }: ObligationPosition): boolean {
  return [...supplies, ...borrows].every(({ isSteady }) => isSteady)
}

/** Finds the least of some amounts; undefined if none bounds. */
export function findLeast(amounts: readonly (bigint | undefined)[]): bigint | undefined {
  return amounts.reduce(
    (least, each) => (least === undefined || each === undefined ? (least ?? each) : minBigint(least, each)),
    undefined,
  )
}

function nothingIf(isRefused: boolean): bigint | undefined {
  return isRefused ? 0n : undefined
}

/** Liquidity of a reserve that no ticket of its withdraw queue waits for, which the program counts in whole units. */
function computeFreeLiquidity({ reserve, pool }: AssetLeg): bigint {
  return (reserve.availableAmount - toLiquidity(reserve.queuedCollateral, pool) / SF) * SF
}

/** Computes what a cap on outflows still lets out. Source: klend `remaining_withdrawal_caps_amount`. */
export function computeCapRoom(cap: OutflowCap, { timestampSec }: Pick<Snapshot, 'timestampSec'>): bigint | undefined {
  const { capacity, spent, startedAtSec, intervalSec } = cap
  if (intervalSec === 0n) return undefined
  if (capacity < 0n) return 0n
  return (capacity - (timestampSec - startedAtSec >= intervalSec ? 0n : spent)) * SF
}

/** Lists what a group still lends against each deposit, base units of its debt token, Sf; empty outside all groups. */
function listGroupRooms({ group, supplies, borrows }: ObligationPosition): readonly bigint[] {
  if (group === undefined) return []
  const index = group.id - 1
  const owed = borrows.reduce((total, { amountSf }) => total + toWholeUnits(amountSf), 0n)
  return supplies.map(({ reserve, groupBorrowed }) => {
    const limit = reserve.groupLimits[index] ?? 0n
    const byOthers = maxBigint((reserve.groupBorrowed[index] ?? 0n) - groupBorrowed, 0n)
    return (limit - byOthers - owed) * SF
  })
}

/** Rounds up to whole base units, as the program counts debts. */
function toWholeUnits(amountSf: bigint): bigint {
  return (amountSf + SF - 1n) / SF
}

/** Finds when a marked obligation may be liquidated: from the end of the margin call, while it is above its target. */
function findMarkedTimes({ snapshot: { market, obligation }, position: { totals } }: RuleInput): readonly bigint[] {
  const { startedAtSec, targetLtvPct } = obligation.deleveraging
  const isOff = !market.isDeleveragingEnabled || market.deleveragingMarginCallSec === 0n || startedAtSec === 0n
  if (isOff || totals.riskDebt * 100n <= totals.collateral * targetLtvPct) return []
  return [startedAtSec + market.deleveragingMarginCallSec]
}

/**
 * Finds when positions of a reserve above its limits may be liquidated: the threshold falls from 100 % after the margin
 * call, until it reaches the obligation's loan-to-value. Source: klend `calculate_autodeleverage_threshold`.
 */
function findMarketTimes({ snapshot: { market }, position }: RuleInput): readonly bigint[] {
  const { supplies, borrows, totals } = position
  if (!market.isDeleveragingEnabled) return []
  const crossings = [
    ...supplies.map(({ reserve, pool }) => ({
      reserve,
      isAbove: pool.supplySf > reserve.depositLimit * SF,
      atSec: reserve.depositLimitCrossedAtSec,
    })),
    ...borrows.map(({ reserve, pool }) => ({
      reserve,
      isAbove: pool.borrowedSf > reserve.borrowLimit * SF,
      atSec: reserve.borrowLimitCrossedAtSec,
    })),
  ]
  return crossings.flatMap(({ reserve: { deleveraging }, isAbove, atSec }) => {
    if (!deleveraging.isEnabled || !isAbove || atSec === 0n) return []
    const startsAtSec = atSec + deleveraging.marginCallSec
    const margin = totals.collateral - totals.riskDebt
    if (margin <= 0n) return [startsAtSec]
    const fall = totals.collateral * deleveraging.thresholdFallBpsPerDay
    return fall === 0n ? [] : [startsAtSec + (margin * BPS_SECONDS_PER_DAY + fall - 1n) / fall]
  })
}

/** True if the condition of an order for a sale holds. Source: klend `evaluate_order_condition`. */
function isOrderHit({ condition, thresholdSf, action }: ObligationOrder, { snapshot, position }: RuleInput): boolean {
  if (action !== 'sale' || condition === 'never' || condition === 'unknown') return false
  if (condition === 'always') return true
  if (snapshot.market.isPriceLiquidationDisabled) return false
  const { riskDebt, collateral, liquidationLimit } = position.totals
  const threshold = collateral * thresholdSf
  if (condition === 'ltv_above') return riskDebt * SF > threshold
  if (condition === 'ltv_below') return riskDebt * SF < threshold
  if (condition === 'liquidation_ltv_closer_than') return (riskDebt - liquidationLimit) * SF > -threshold
  return position.borrows.some((debt) =>
    position.supplies.some((supply) => {
      const ratio = debt.price.numerator * supply.price.denominator * SF
      const limit = supply.price.numerator * debt.price.denominator * thresholdSf
      return condition === 'price_ratio_above' ? ratio > limit : ratio < limit
    }),
  )
}
