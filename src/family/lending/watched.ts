import { formatHealthFactor, formatPercentage, formatUsd } from '../../finance/figure.ts'
import { type BoundlessRatio, currentLtv, type LendingTotals } from '../../finance/math/lending.ts'
import { compareRational, type Rational, rational } from '../../lib/number/rational.ts'

/** Figures of a lending position that triggers can watch, with their type; units as in the lists. */
export const LENDING_FIGURES = {
  health_factor: 'number',
  net_worth_usd: 'number',
  total_collateral_usd: 'number',
  total_debt_usd: 'number',
  current_ltv_percentage: 'number',
  /** True while `liquidatable_because` names a reason. */
  is_liquidatable: 'boolean',
  /** Seconds until `due_at` by the chain's clock, 0 after it; above every number without one. */
  due_in_sec: 'number',
} as const

type MoneyFigure = Exclude<keyof typeof LENDING_FIGURES, 'health_factor' | 'is_liquidatable' | 'due_in_sec'>

/** Inputs of a position's watched figures. */
interface WatchedLending {
  /** Undefined if it is unknown. */
  readonly healthFactor: BoundlessRatio | undefined
  /** Undefined if the position cannot be valued. */
  readonly totals: LendingTotals | undefined
  /** Undefined if it is unknown. */
  readonly isLiquidatable: boolean | undefined
  /** Seconds until the debt can be called due whatever its health factor; `max` if no time is set. */
  readonly dueInSec: bigint | 'max' | undefined
}

/** Totals of nothing. */
export const EMPTY_TOTALS: LendingTotals = {
  perUsd: 1n,
  supplied: 0n,
  collateral: 0n,
  debt: 0n,
  riskDebt: 0n,
  liquidationLimit: 0n,
  borrowLimit: 0n,
}

/** Figures of a wallet without a position, as its snapshots show it. */
export const EMPTY_LENDING: WatchedLending = {
  healthFactor: 'max',
  isLiquidatable: false,
  dueInSec: 'max',
  totals: EMPTY_TOTALS,
}

const usd = (units: bigint, { perUsd }: LendingTotals): Rational => rational(units, perUsd)
const ltv = (totals: LendingTotals): Rational => {
  const { numerator, denominator } = currentLtv(totals)
  return { numerator: numerator * 100n, denominator }
}

const MONEY_FIGURES: Readonly<Record<MoneyFigure, (totals: LendingTotals) => Rational>> = {
  net_worth_usd: (totals) => usd(totals.supplied - totals.debt, totals),
  total_collateral_usd: (totals) => usd(totals.collateral, totals),
  total_debt_usd: (totals) => usd(totals.debt, totals),
  current_ltv_percentage: ltv,
}

/** Returns an unrounded figure; undefined if it is unknown or not watched. */
export function getLendingValue(
  { healthFactor, totals, isLiquidatable, dueInSec }: WatchedLending,
  figure: string,
): Rational | 'MAX' | boolean | undefined {
  if (figure === 'health_factor') return healthFactor === 'max' ? 'MAX' : healthFactor
  if (figure === 'is_liquidatable') return isLiquidatable
  if (figure === 'due_in_sec') {
    return typeof dueInSec === 'bigint' ? rational(dueInSec, 1n) : dueInSec && 'MAX'
  }
  return totals === undefined || !isMoneyFigure(figure) ? undefined : MONEY_FIGURES[figure](totals)
}

/** Formats a figure as lists show it; null if it is unknown. */
function formatLendingValue(figures: WatchedLending, figure: string): string | boolean | null {
  const { healthFactor, totals, isLiquidatable, dueInSec } = figures
  if (figure === 'health_factor') return healthFactor === undefined ? null : formatHealthFactor(healthFactor)
  if (figure === 'is_liquidatable') return isLiquidatable ?? null
  if (figure === 'due_in_sec') return dueInSec === undefined ? null : String(dueInSec).toUpperCase()
  if (totals === undefined || !isMoneyFigure(figure)) return null
  return figure === 'current_ltv_percentage'
    ? formatPercentage(currentLtv(totals))
    : formatUsd(MONEY_FIGURES[figure](totals))
}

/** Creates the figures of a position that triggers read; `memo` is the input of their forecast. */
export function createWatchedLending(figures: WatchedLending, memo?: unknown) {
  return {
    value: (figure: string) => getLendingValue(figures, figure),
    text: (figure: string) => formatLendingValue(figures, figure),
    memo,
  }
}

/** Figures of a position that cannot be read. */
export const WATCHED_UNKNOWN = createWatchedLending({
  healthFactor: undefined,
  totals: undefined,
  isLiquidatable: undefined,
  dueInSec: undefined,
})

/** Health factors at which a forecast is sure: from the first on no liquidation, below the second one, if none is halted. */
const SURE = { not: rational(101n, 100n), liquidatable: rational(94n, 100n) } as const

/**
 * Estimates whether a position can be liquidated, in a family that calls no debt due but by the health factor; undefined
 * near 1, where only the chain's own rounding decides.
 */
export function estimateLiquidatable(healthFactor: BoundlessRatio): boolean | undefined {
  if (healthFactor === 'max' || compareRational(healthFactor, SURE.not) >= 0) return false
  return compareRational(healthFactor, SURE.liquidatable) < 0 ? true : undefined
}

function isMoneyFigure(figure: string): figure is keyof typeof MONEY_FIGURES {
  return Object.hasOwn(MONEY_FIGURES, figure)
}
