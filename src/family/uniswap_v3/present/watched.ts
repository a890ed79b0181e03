import { formatUsd } from '../../../finance/figure.ts'
import { formatRational } from '../../../lib/number/rational.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import { positionValue, type WatchedPosition } from '../math/watched.ts'

const PERCENTAGE_DIGITS = 4

/** What triggers see of a position. */
export function toConfirmedFigures(watched: WatchedPosition): ConfirmedFigures {
  return {
    value: (figure) => positionValue(watched, figure),
    text: (figure) => textOf(positionValue(watched, figure), figure),
    memo: watched,
  }
}

/** The same of a position that cannot be decoded. */
export const WATCHED_UNKNOWN: ConfirmedFigures = { value: () => undefined, text: () => null, memo: undefined }

function textOf(value: ReturnType<typeof positionValue>, figure: string): string | boolean | null {
  if (value === undefined || typeof value === 'boolean') return value ?? null
  return figure.endsWith('_usd') ? formatUsd(value) : formatRational(value, { digits: PERCENTAGE_DIGITS })
}
