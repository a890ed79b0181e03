import { createWatchedLending, LENDING_FIGURES } from '../../../finance/lending/watched.ts'
import { healthFactor } from '../../../finance/math/lending.ts'
import { rational } from '../../../lib/number/rational.ts'
import type { ConfirmedFigures, FigureValue } from '../../watch.ts'
import type { AssessedObligation } from '../math/risk.ts'

/** Figures of an obligation that triggers can watch, with their type. */
export const OBLIGATION_FIGURES = {
  ...LENDING_FIGURES,
  /** True while `liquidatable_because` names a reason. */
  is_liquidatable: 'boolean',
  /** Seconds until `due_at` by the cluster's clock, 0 after it; above every number without one. */
  due_in_sec: 'number',
} as const

/** Converts an obligation to the figures that triggers watch: undefined figures if the position is undefined. */
export function toConfirmedFigures(position: AssessedObligation | undefined): ConfirmedFigures {
  const totals = position?.totals
  const lending = createWatchedLending({ healthFactor: totals && healthFactor(totals), totals })
  return {
    ...lending,
    value: (figure) => (isOwnFigure(figure) ? position && getOwnValue(position, figure) : lending.value(figure)),
    text(figure) {
      if (!isOwnFigure(figure)) return lending.text(figure)
      const value = position && getOwnValue(position, figure)
      if (value === undefined || typeof value === 'boolean') return value ?? null
      return value === 'MAX' ? value : String(value.numerator)
    },
  }
}

type OwnFigure = 'is_liquidatable' | 'due_in_sec'

function isOwnFigure(figure: string): figure is OwnFigure {
  return figure === 'is_liquidatable' || figure === 'due_in_sec'
}

function getOwnValue({ liquidatableBecause, dueAtSec, snapshot }: AssessedObligation, figure: OwnFigure): FigureValue {
  if (figure === 'is_liquidatable') return liquidatableBecause.length > 0
  if (dueAtSec === undefined) return 'MAX'
  const leftSec = dueAtSec - snapshot.timestampSec
  return rational(leftSec > 0n ? leftSec : 0n, 1n)
}
