import { formatRatioAsPercent } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Amount, TokenSymbol, Usd } from '../../part/figure.js'
import { LiquidationPrice } from './liquidation_price.js'

/**
 * A supplied or borrowed asset, and the price of it alone at which the position is liquidated.
 * @typedef {object} Asset
 * @property {string} symbol
 * @property {string | null | undefined} amount whole tokens; absent if the answer has no amount
 * @property {string | null} usd
 * @property {string | null} apy
 * @property {string} note
 * @property {import('./liquidation_price.js').Edge | undefined} [edge]
 * @property {string | undefined} [withdrawal] what a withdrawal pays, if that is less than the amount
 */

/** @param {{ title: string, kind: 'supply' | 'debt', rows: readonly Asset[] }} props */
export function Assets({ title, kind, rows }) {
  const maxUsd = Math.max(...rows.map(({ usd }) => Number(usd)), 1e-6)
  return html`<div class="assets">
    <h5>${title}</h5>
    ${rows.length === 0 && html`<p class="soft">Nothing.</p>`}
    <ul>
      ${rows.map(
        ({ symbol, amount, usd, apy, note, edge, withdrawal }) => html`<li>
          <span>${amount && html`<${Amount} value=${amount} symbol=${symbol} /> `}<${TokenSymbol} symbol=${symbol} />${note !== '' && html` <i>${note}</i>`}</span>
          <span><${Usd} value=${usd} /></span>
          <span class="soft">${apy !== null && `${formatRatioAsPercent(apy)} APY`}</span>
          ${withdrawal && html`<p class="edge soft">${withdrawal}</p>`}
          ${edge && html`<p class="edge soft"><${LiquidationPrice} at=${edge} /></p>`}
          <svg class="share" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true"><rect class=${kind} width=${(Number(usd) / maxUsd) * 100} height="3" /></svg>
        </li>`,
      )}
    </ul>
  </div>`
}
