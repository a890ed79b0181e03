import { type Rational, rational } from '../../lib/number/rational.ts'
import { formatHealthFactor, formatPercentage, formatUsd } from '../figure.ts'
import { type BoundlessRatio, currentLtv, type LendingTotals } from '../math/lending.ts'

/** What triggers can watch of a lending position: the figures of the lists, each in their unit. */
export const LENDING_FIGURES = {
  health_factor: 'number',
  net_worth_usd: 'number',
  total_collateral_usd: 'number',
  total_debt_usd: 'number',
  current_ltv_percentage: 'number',
} as const

type LendingFigure = keyof typeof LENDING_FIGURES

/** What the figures of a position come from. */
interface WatchedLending {
  /** Undefined if nobody can tell it. */
  readonly healthFactor: BoundlessRatio | undefined
  /** Undefined if nobody can tell what it is worth. */
  readonly totals: LendingTotals | undefined
}

/** A wallet that has nothing, as its snapshots show it. */
export const EMPTY_LENDING: WatchedLending = {
  healthFactor: 'max',
  totals: { perUsd: 1n, supplied: 0n, collateral: 0n, debt: 0n, riskDebt: 0n, liquidationLimit: 0n, borrowLimit: 0n },
}

const usd = (units: bigint, { perUsd }: LendingTotals): Rational => rational(units, perUsd)
const ltv = (totals: LendingTotals): Rational => {
  const { numerator, denominator } = currentLtv(totals)
  return { numerator: numerator * 100n, denominator }
}

const MONEY: Readonly<Record<Exclude<LendingFigure, 'health_factor'>, (totals: LendingTotals) => Rational>> = {
  net_worth_usd: (totals) => usd(totals.supplied - totals.debt, totals),
  total_collateral_usd: (totals) => usd(totals.collateral, totals),
  total_debt_usd: (totals) => usd(totals.debt, totals),
  current_ltv_percentage: ltv,
}

/** A figure before it is rounded; undefined if it cannot be told or is not watched. */
export function getLendingValue(
  { healthFactor, totals }: WatchedLending,
  figure: string,
): Rational | 'MAX' | undefined {
  if (figure === 'health_factor') return healthFactor === 'max' ? 'MAX' : healthFactor
  return totals === undefined || !isMoney(figure) ? undefined : MONEY[figure](totals)
}

/** The same as a list shows it; null if it cannot be told. */
export function formatLendingValue({ healthFactor, totals }: WatchedLending, figure: string): string | null {
  if (figure === 'health_factor') return healthFactor === undefined ? null : formatHealthFactor(healthFactor)
  if (totals === undefined || !isMoney(figure)) return null
  return figure === 'current_ltv_percentage' ? formatPercentage(currentLtv(totals)) : formatUsd(MONEY[figure](totals))
}

/** What triggers see of a position; `memo` is what foresees its figures. */
export function createWatchedLending(figures: WatchedLending, memo?: unknown) {
  return {
    value: (figure: string) => getLendingValue(figures, figure),
    text: (figure: string) => formatLendingValue(figures, figure),
    memo,
  }
}

/** The same of a position that nobody can value. */
export const WATCHED_UNKNOWN = createWatchedLending({ healthFactor: undefined, totals: undefined })

function isMoney(figure: string): figure is keyof typeof MONEY {
  return Object.hasOwn(MONEY, figure)
}
