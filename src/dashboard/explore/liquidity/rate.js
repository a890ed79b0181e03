import { formatRatioAsPercent } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'

/** A yearly rate, or why it is not told. @param {{ rate: import('./fee_apr.js').Rate }} props */
export function FeeApr({ rate }) {
  if ('because' in rate) return html`<span class="absent">not told: ${rate.because}</span>`
  return formatRatioAsPercent(rate.apr.toFixed(6))
}
