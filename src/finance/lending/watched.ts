import { type Rational, rational } from '../../lib/number/rational.ts'
import { formatHealthFactor, formatPercentage, formatUsd } from '../figure.ts'
import { type BoundlessRatio, currentLtv, type LendingTotals } from '../math/lending.ts'

/** Figures of a lending position that triggers can watch, with their type; units as in the lists. */
export const LENDING_FIGURES = {
  health_factor: 'number',
  net_worth_usd: 'number',
  total_collateral_usd: 'number',
  total_debt_usd: 'number',
  current_ltv_percentage: 'number',
} as const

type LendingFigure = keyof typeof LENDING_FIGURES

/** Inputs of a position's watched figures. */
interface WatchedLending {
  /** Undefined if it is unknown. */
  readonly healthFactor: BoundlessRatio | undefined
  /** Undefined if the position cannot be valued. */
  readonly totals: LendingTotals | undefined
}

/** Figures of a wallet without a position, as its snapshots show it. */
export const EMPTY_LENDING: WatchedLending = {
  healthFactor: 'max',
  totals: { perUsd: 1n, supplied: 0n, collateral: 0n, debt: 0n, riskDebt: 0n, liquidationLimit: 0n, borrowLimit: 0n },
}

const usd = (units: bigint, { perUsd }: LendingTotals): Rational => rational(units, perUsd)
const ltv = (totals: LendingTotals): Rational => {
  const { numerator, denominator } = currentLtv(totals)
  return { numerator: numerator * 100n, denominator }
}

const MONEY_FIGURES: Readonly<Record<Exclude<LendingFigure, 'health_factor'>, (totals: LendingTotals) => Rational>> = {
  net_worth_usd: (totals) => usd(totals.supplied - totals.debt, totals),
  total_collateral_usd: (totals) => usd(totals.collateral, totals),
  total_debt_usd: (totals) => usd(totals.debt, totals),
  current_ltv_percentage: ltv,
}

/** Returns an unrounded figure; undefined if it is unknown or not watched. */
export function getLendingValue(
  { healthFactor, totals }: WatchedLending,
  figure: string,
): Rational | 'MAX' | undefined {
  if (figure === 'health_factor') return healthFactor === 'max' ? 'MAX' : healthFactor
  return totals === undefined || !isMoneyFigure(figure) ? undefined : MONEY_FIGURES[figure](totals)
}

/** Formats a figure as lists show it; null if it is unknown. */
export function formatLendingValue({ healthFactor, totals }: WatchedLending, figure: string): string | null {
  if (figure === 'health_factor') return healthFactor === undefined ? null : formatHealthFactor(healthFactor)
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

/** Figures of a position that cannot be valued. */
export const WATCHED_UNKNOWN = createWatchedLending({ healthFactor: undefined, totals: undefined })

function isMoneyFigure(figure: string): figure is keyof typeof MONEY_FIGURES {
  return Object.hasOwn(MONEY_FIGURES, figure)
}
