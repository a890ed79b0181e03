import { formatRatioAsPercent } from '../../lib/decimal.ts'
import type { Rate } from './fee_apr.ts'

/** A yearly rate, or the reason why there is none. */
export function FeeApr({ rate }: { rate: Rate }) {
  if ('reason' in rate) return <span class="absent">no rate: {rate.reason}</span>
  return formatRatioAsPercent(rate.apr.toFixed(6))
}
