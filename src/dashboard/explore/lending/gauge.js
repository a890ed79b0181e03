import { formatRatioAsPercent } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Usd } from '../../part/figure.js'
import { computeCushion } from '../liquidity/scale.js'

const RADIUS = 84
const CENTER = { x: 110, y: 104 }
/** Health factors at which the mood changes. */
const THIN = '1.5'
const CRITICAL = '1.1'

/** @param {string} healthFactor */
function mood(healthFactor) {
  const left = computeCushion(healthFactor)
  return left < computeCushion(CRITICAL) ? 'bad' : left < computeCushion(THIN) ? 'warn' : 'good'
}

/** @type {Record<string, string>} */
const WORDS = { bad: 'close to liquidation', warn: 'thin', good: 'comfortable' }

/**
 * A health factor as a gauge: the needle shows which part of the weighted collateral may be lost before liquidation.
 * @param {{ healthFactor: string, target: string, bell?: unknown }} props
 */
export function Gauge({ healthFactor, target, bell }) {
  const left = computeCushion(healthFactor)
  const debtless = !/^\d/.test(healthFactor)
  const state = mood(healthFactor)
  const said = debtless ? 'No debt: nothing can be liquidated' : `Health factor ${healthFactor}, ${WORDS[state]}`
  const spread = [
    ['bad', 0, computeCushion(CRITICAL)],
    ['warn', computeCushion(CRITICAL), computeCushion(THIN)],
    ['good', computeCushion(THIN), 1],
  ]
  return html`<figure class="gauge">
    <svg viewBox="0 0 220 128" role="img" aria-label=${said}>
      ${spread.map(([name, from, to]) => html`<path class=${`arc ${name}`} d=${arc(Number(from), Number(to))} />`)}
      <path class="arc-now ${state}" d=${arc(0, Math.max(left, 0.004))} />
      <${Tick} at=${computeCushion(target)} />
      <line class="needle" x1=${point(left, RADIUS - 11).x} y1=${point(left, RADIUS - 11).y} x2=${point(left, RADIUS + 8).x} y2=${point(left, RADIUS + 8).y} />
      <text class="gauge-value ${state}" x=${CENTER.x} y=${CENTER.y - 12}>${debtless ? '∞' : healthFactor}</text>
      <text class="gauge-name" x=${CENTER.x} y=${CENTER.y + 8}>health factor</text>
    </svg>
    <figcaption>
      ${
        debtless
          ? 'No debt: nothing can be liquidated.'
          : left === 0
            ? html`<b class="bad">Can be liquidated.</b>`
            : html`Liquidation if weighted collateral falls by <b class=${state}>${formatRatioAsPercent(left.toFixed(6), 1)}</b> against the debt.`
      }
    </figcaption>
    ${bell}
  </figure>`
}

/** @param {{ at: number }} props where the safe amounts keep the health factor */
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
