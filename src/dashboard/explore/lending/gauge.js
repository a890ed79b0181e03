import { formatRatioAsPercent, formatSignificant } from '../../lib/decimal.js'
import { formatMoment } from '../../lib/time.js'
import { html } from '../../lib/view.js'
import { Usd } from '../../part/figure.js'
import { computeCushion } from '../liquidity/scale.js'

const RADIUS = 84
const CENTER = { x: 110, y: 104 }
/** Health factors at which the colour changes. */
const THIN = '1.5'
const CRITICAL = '1.1'

/** @param {string} healthFactor */
function getMood(healthFactor) {
  const cushion = computeCushion(healthFactor)
  return cushion < computeCushion(CRITICAL) ? 'bad' : cushion < computeCushion(THIN) ? 'warn' : 'good'
}

/** @type {Record<string, string>} */
const WORDS = { bad: 'close to liquidation', warn: 'thin', good: 'comfortable' }

/** @type {Record<string, string>} */
const REASONS = {
  health_factor: 'its health factor',
  deleveraging: 'a call to deleverage it',
  market_deleveraging: 'a reserve above its limit',
  debt_matured: 'the maturity of its debt',
  term_ended: 'the end of its term',
  obligation_order: 'an order of its own',
}

/** @typedef {{ liquidatable_because: readonly string[], due_at: number | null }} Due */

/** What can be called due of a position. @param {{ due: Due, isKnown: boolean }} props `isKnown`: a fall of the health factor is said already */
function DueNotice({ due: { liquidatable_because: reasons, due_at: dueAt }, isKnown }) {
  const others = isKnown ? reasons.filter((reason) => reason !== 'health_factor') : reasons
  return html`${others.length > 0 && html`<p><b class="bad">Can be liquidated: ${others.map((reason) => REASONS[reason] ?? reason).join(', ')}.</b></p>`}
    ${dueAt !== null && html`<p>Debt can be called from ${formatMoment(dueAt)}.</p>`}`
}

/**
 * Gauge of a health factor. The needle shows the share of the weighted collateral that may be lost before liquidation.
 * @param {{ healthFactor: string, target: string, due?: Due, bell?: unknown }} props
 */
export function Gauge({ healthFactor, target, due, bell }) {
  const cushion = computeCushion(healthFactor)
  const isDebtless = !/^\d/.test(healthFactor)
  const state = getMood(healthFactor)
  const label = isDebtless ? 'No debt: nothing can be liquidated' : `Health factor ${healthFactor}, ${WORDS[state]}`
  const arcs = [
    ['bad', 0, computeCushion(CRITICAL)],
    ['warn', computeCushion(CRITICAL), computeCushion(THIN)],
    ['good', computeCushion(THIN), 1],
  ]
  return html`<figure class="gauge">
    <svg viewBox="0 0 220 128" role="img" aria-label=${label}>
      ${arcs.map(([name, from, to]) => html`<path class=${`arc ${name}`} d=${arc(Number(from), Number(to))} />`)}
      <path class="arc-now ${state}" d=${arc(0, Math.max(cushion, 0.004))} />
      <${Tick} at=${computeCushion(target)} />
      <line class="needle" x1=${point(cushion, RADIUS - 11).x} y1=${point(cushion, RADIUS - 11).y} x2=${point(cushion, RADIUS + 8).x} y2=${point(cushion, RADIUS + 8).y} />
      <text class="gauge-value ${state}" x=${CENTER.x} y=${CENTER.y - 12}>${isDebtless ? '∞' : formatHealthFactor(healthFactor)}</text>
      <text class="gauge-name" x=${CENTER.x} y=${CENTER.y + 8}>health factor</text>
    </svg>
    <figcaption>
      ${
        isDebtless
          ? 'No debt: nothing can be liquidated.'
          : cushion === 0
            ? html`<b class="bad">${isLiquidatable(healthFactor) ? 'Can be liquidated.' : 'At the edge: can be liquidated below 1.'}</b>`
            : html`Liquidation if weighted collateral falls by <b class=${state}>${formatRatioAsPercent(cushion.toFixed(6), 1)}</b> against the debt.`
      }
      ${due && html`<${DueNotice} due=${due} isKnown=${cushion === 0 && isLiquidatable(healthFactor)} />`}
    </figcaption>
    ${bell}
  </figure>`
}

/**
 * Protocols liquidate below 1. The figure is cut, so that 1.0000 may be a little more.
 * @param {string} healthFactor
 */
export function isLiquidatable(healthFactor) {
  return /^\d/.test(healthFactor) && Number(healthFactor) < 1
}

/** Digits of a health factor for which the picture has room. */
const DIGITS_MAX = 11
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

/** Formats a health factor for the picture, whose label has all digits. @param {string} healthFactor */
export function formatHealthFactor(healthFactor) {
  if (healthFactor.length <= DIGITS_MAX) return healthFactor
  const isPower = /^\d{16}/.test(healthFactor)
  return isPower ? formatSignificant(healthFactor) : COMPACT.format(Number(healthFactor))
}

/** @param {{ at: number }} props position of the health factor that the safe amounts keep */
function Tick({ at }) {
  const [inner, outer] = [point(at, RADIUS + 6), point(at, RADIUS + 15)]
  return html`<line class="target" x1=${inner.x} y1=${inner.y} x2=${outer.x} y2=${outer.y} />`
}

/** @param {number} share @param {number} radius */
function point(share, radius) {
  const angle = Math.PI * (1 - share)
  return { x: CENTER.x + radius * Math.cos(angle), y: CENTER.y - radius * Math.sin(angle) }
}

/** @param {number} from @param {number} to shares of the half circle */
function arc(from, to) {
  const [start, end] = [point(from, RADIUS), point(to, RADIUS)]
  return `M${start.x} ${start.y}A${RADIUS} ${RADIUS} 0 0 1 ${end.x} ${end.y}`
}

/** Rows of the amounts that keep a health factor. @param {string} target @param {{ borrow: string, withdraw: string }} amounts */
export function safeRows(target, { borrow, withdraw }) {
  const name = (/** @type {string} */ verb) => html`Safe to ${verb} <span class="target-key">keeps ${target}</span>`
  return [
    [name('borrow'), html`<${Usd} value=${borrow} />`],
    [name('withdraw'), html`<${Usd} value=${withdraw} />`],
  ]
}
