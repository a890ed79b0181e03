import { formatRatioAsPercent } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'

/** A yearly rate, or the reason why there is none. @param {{ rate: import('./fee_apr.js').Rate }} props */
export function FeeApr({ rate }) {
  if ('reason' in rate) return html`<span class="absent">no rate: ${rate.reason}</span>`
  return formatRatioAsPercent(rate.apr.toFixed(6))
}
