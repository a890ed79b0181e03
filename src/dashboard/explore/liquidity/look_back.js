import { requestApi } from '../../lib/api.js'
import { useSignal } from '../../lib/hooks.js'
import { formatDay, pluralize } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { DefinitionList } from '../../part/figure.js'
import { ErrorNotice, LoadingNotice } from '../../part/notice.js'
import { formatQuery } from '../requests/plan.js'
import { feeAprOfDays } from './fee_apr.js'
import { readPast } from './past.js'
import { FeeApr } from './rate.js'

const DAY_SEC = 86_400
/** Windows of the fee APR, days. */
const WINDOWS = [7, 30]
/** Midnights at which the position is read to compute its time in range. */
const MIDNIGHTS_MAX = 30

/** @typedef {import('../../lib/shapes.d.ts').FullPosition} FullPosition */
/** @typedef {import('../../lib/shapes.d.ts').Position} Position */
/** @typedef {{ data: FullPosition }} PositionAnswer */

/**
 * Figures that need past blocks, read on request because they cost credits: the fee APR over the last days, and the time
 * in range.
 * @typedef {object} Props
 * @property {Position} position
 * @property {readonly import('../../lib/shapes.d.ts').LiquidityEvent[]} flows oldest first
 * @property {string} base path of the position
 * @property {Record<string, string | number>} target
 * @property {number} untilSec
 * @property {import('../../lib/catalog.js').Liquidity} served
 * @property {import('../page.js').Context} context
 */

/** @param {Props} props */
export function LookBack(props) {
  const { flows, untilSec, context } = props
  if (!context.catalog.atTime) return null
  const openedSec = flows[0]?.timestamp ?? untilSec
  const windows = WINDOWS.filter((days) => untilSec - days * DAY_SEC >= openedSec)
  const midnights = listMidnights(openedSec, untilSec)
  return html`
    ${windows.length > 0 && html`<${Windows} ...${props} windows=${windows} />`}
    ${midnights.length > 0 && html`<${InRange} ...${props} midnights=${midnights} />`}
  `
}

/**
 * Lists midnights (UTC) since the opening, newest first, because endpoints may keep no state of older ones.
 * @param {number} openedSec
 * @param {number} untilSec
 */
function listMidnights(openedSec, untilSec) {
  const last = Math.floor(untilSec / DAY_SEC)
  const count = Math.min(MIDNIGHTS_MAX, last - Math.ceil(openedSec / DAY_SEC) + 1)
  return Array.from({ length: Math.max(0, count) }, (_, index) => (last - index) * DAY_SEC)
}

/**
 * Reads the position at past moments on `start`; a further `start` reads those that are left. Ends with its part of the page.
 * @param {Props & { moments: readonly number[], full: boolean }} options
 */
function usePast({ moments, full, base, target, context: { key } }) {
  const [past, setPast] = useState(/** @type {import('./past.js').Past | undefined} */ (undefined))
  const startSignal = useSignal()
  const { positions = [], failure } = past ?? {}
  const start = () => {
    const signal = startSignal()
    /** @returns {Promise<import('../../lib/api.js').Answer<PositionAnswer> | import('../../lib/api.js').Failure>} */
    const read = (/** @type {number} */ at_time) =>
      requestApi(`${base}?${formatQuery({ ...target, at_time, ...(full && { full: 'true' }) })}`, { key, signal })
    readPast(moments, { positions, signal, read, onPast: setPast }).catch((error) => {
      if (!signal.aborted) throw error
    })
  }
  return { isStarted: past !== undefined, positions, failure, start }
}

/** @param {Props & { windows: readonly number[] }} props */
function Windows({ windows, ...props }) {
  const { position, flows, untilSec, served } = props
  const moments = windows.map((days) => untilSec - days * DAY_SEC)
  const { isStarted, positions, failure, start } = usePast({ ...props, moments, full: true })
  const now = /** @type {FullPosition} */ (position)
  const names = `Fee APR over ${windows.join(' and ')} days`
  if (!isStarted)
    return html`<p class="more"><button type="button" onClick=${start}>${names} <i>${pluralize(windows.length * served.credits.full, 'credit')}</i></button></p>`
  return html`<${DefinitionList} rows=${positions.map((before, index) => [
    html`<a href="formulas#explore.fee_apr_of_days">Fee APR</a> of ${windows[index]} days`,
    html`<${FeeApr} rate=${feeAprOfDays({ before, now, flows, fromSec: moments[index] ?? 0, untilSec })} />`,
  ])} />
  ${failure && html`<${ErrorNotice} failure=${failure} title=${`The position ${windows[positions.length]} days ago could not be read, so that fee APR is not shown`} onRetry=${start} />`}
  ${!failure && positions.length < windows.length && html`<${LoadingNotice}>The position as it was<//>`}`
}

/** @param {Props & { midnights: readonly number[] }} props */
function InRange({ midnights, ...props }) {
  const { isStarted, positions, failure, start } = usePast({ ...props, moments: midnights, full: false })
  if (!isStarted)
    return html`<p class="more"><button type="button" onClick=${start}>Time in range, ${pluralize(midnights.length, 'midnight')} <i>${pluralize(midnights.length * props.served.credits.single, 'credit')}</i></button></p>`
  const inside = positions.map(wasInRange)
  const days = inside.map((yes, index) => ({
    yes,
    text: `${formatDay(midnights[index] ?? 0)}: ${yes ? 'in range' : 'out of range'}`,
  }))
  const count = inside.filter(Boolean).length
  return html`<div class="in-range">
    ${inside.length > 0 && html`<p>In range at <b>${count} of ${inside.length}</b> midnights (UTC), <b>${Math.round((count / inside.length) * 100)} %</b>. <span class="soft">Events in between are not read.</span></p>`}
    <ol class="strip" aria-label="Midnights, oldest first">${days.toReversed().map(({ yes, text }) => html`<li class=${yes ? 'good' : 'warn'} title=${text}><span class="visually-hidden">${text}</span></li>`)}</ol>
    ${failure && html`<${ErrorNotice} failure=${failure} title=${`${formatDay(midnights[positions.length] ?? 0)} could not be read, so nothing before it is shown`} onRetry=${start} />`}
    ${!failure && positions.length < midnights.length && html`<${LoadingNotice}>Midnight ${positions.length + 1} of ${midnights.length}<//>`}
  </div>`
}

/** Returns whether the position was in range: the range includes the lower tick, not the upper. @param {Position} position */
function wasInRange({ is_active: isActive, position_state: { tickLower, tickUpper, pool } }) {
  const tick = Number(pool.tick)
  return isActive && Number(tickLower) <= tick && tick < Number(tickUpper)
}
