import { formatPercent } from '../../lib/decimal.ts'
import type { Position } from '../../lib/shapes.ts'

/** Rate of a row: a ratio a year, and what it is. */
export interface RowRate {
  readonly ratio: string
  readonly words: string
}

/**
 * Sums what the answer says that a position brings in a year: its fees since it was opened, and its rewards at their present
 * rates. Undefined if it says neither; the words name what the sum lacks.
 */
export function describeRate({ pnl, rewards = [] }: Pick<Position, 'pnl' | 'rewards'>): RowRate | undefined {
  const told = rewards.filter(({ apr }) => apr !== null)
  const parts = [
    ...(pnl?.fee_apr ? [{ percent: pnl.fee_apr, name: 'fees since it was opened' }] : []),
    ...told.map(({ apr, token }) => ({ percent: apr ?? '', name: `${token.symbol} at its present rate` })),
  ]
  if (parts.length === 0) return undefined
  const untold = rewards.filter(({ apr }) => apr === null).map(({ token }) => token.symbol)
  const words = parts.map(({ percent, name }) => `${formatPercent(percent)} ${name}`).join(', ')
  return {
    ratio: parts.reduce((sum, { percent }) => sum + Number(percent) / 100, 0).toFixed(8),
    words: `A year: ${words}${untold.length === 0 ? '' : `, without ${untold.join(' and ')}`}`,
  }
}
