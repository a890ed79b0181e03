import { formatUsd } from '../../../../finance/figure.ts'
import { formatRational } from '../../../../lib/number/rational.ts'
import type { ConfirmedFigures } from '../../../watch.ts'
import { positionValue, type WatchedPosition } from '../math/watched.ts'

const PERCENTAGE_DIGITS = 4

/** Converts a position to the figures that triggers watch. */
export function toConfirmedFigures(watched: WatchedPosition): ConfirmedFigures {
  return {
    value: (figure) => positionValue(watched, figure),
    text: (figure) => formatFigure(positionValue(watched, figure), figure),
    memo: watched,
  }
}

/** Figures of a position that cannot be decoded. */
export const WATCHED_UNKNOWN: ConfirmedFigures = { value: () => undefined, text: () => null, memo: undefined }

function formatFigure(value: ReturnType<typeof positionValue>, figure: string): string | boolean | null {
  if (value === undefined || typeof value === 'boolean') return value ?? null
  return figure.endsWith('_usd') ? formatUsd(value) : formatRational(value, { digits: PERCENTAGE_DIGITS })
}
