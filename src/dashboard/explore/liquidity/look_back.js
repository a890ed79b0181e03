import { requestApi } from '../../lib/api.js'
import { formatDay, pluralize } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { DefinitionList } from '../../part/figure.js'
import { ErrorNotice, LoadingNotice } from '../../part/notice.js'
import { formatQuery } from '../requests/plan.js'
import { feeAprOfDays } from './fee_apr.js'
import { FeeApr } from './rate.js'

const DAY_SEC = 86_400
/** Windows of the fee APR, days. */
const WINDOWS = [7, 30]
/** Midnights at which it is asked whether the position was in range. */
const MIDNIGHTS_MAX = 30

/** @typedef {import('../../lib/shapes.d.ts').FullPosition} FullPosition */
/** @typedef {import('../../lib/shapes.d.ts').Position} Position */
/** @typedef {{ data: FullPosition }} One */

/**
 * What only past blocks tell, asked for its price: the fee APR over the last days, and when the position was in range.
 * @typedef {object} Props
 * @property {Position} position
 * @property {readonly import('../../lib/shapes.d.ts').LiquidityEvent[]} flows oldest first
 * @property {string} base path of the position
 * @property {Record<string, string | number>} place
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
  const midnights = midnightsOf(openedSec, untilSec)
  return html`
    ${windows.length > 0 && html`<${Windows} ...${props} windows=${windows} />`}
    ${midnights.length > 0 && html`<${InRange} ...${props} midnights=${midnights} />`}
  `
}

/** Midnights (UTC) of a life, newest first: endpoints may keep no older ones. @param {number} openedSec @param {number} untilSec */
function midnightsOf(openedSec, untilSec) {
  const last = Math.floor(untilSec / DAY_SEC)
  const count = Math.min(MIDNIGHTS_MAX, last - Math.ceil(openedSec / DAY_SEC) + 1)
  return Array.from({ length: Math.max(0, count) }, (_, index) => (last - index) * DAY_SEC)
}

/**
 * Answers about past moments, one after the other, until one fails.
 * @param {Props & { moments: readonly number[], full: boolean }} asked
 */
function usePast({ moments, full, base, place, context: { key } }) {
  const [state, setState] = useState(
    /** @type {{ isAsked: boolean, found: readonly FullPosition[], failure?: import('../../lib/api.js').Failure }} */ ({
      isAsked: false,
      found: [],
    }),
  )
  const start = async () => {
    /** @type {FullPosition[]} */
    const found = []
    setState({ isAsked: true, found })
    for (const at_time of moments) {
      const query = formatQuery({ ...place, at_time, ...(full && { full: 'true' }) })
      /** @type {import('../../lib/api.js').Answer<One> | import('../../lib/api.js').Failure} */
      const answer = await requestApi(`${base}?${query}`, { key })
      if (!answer.ok) return setState({ isAsked: true, found, failure: answer })
      found.push(answer.body.data)
      setState({ isAsked: true, found: [...found] })
    }
    return undefined
  }
  return { ...state, start }
}

/** @param {Props & { windows: readonly number[] }} props */
function Windows({ windows, ...props }) {
  const { position, flows, untilSec, served } = props
  const moments = windows.map((days) => untilSec - days * DAY_SEC)
  const { isAsked, found, failure, start } = usePast({ ...props, moments, full: true })
  const now = /** @type {FullPosition} */ (position)
  const names = `Fee APR over ${windows.join(' and ')} days`
  if (!isAsked)
    return html`<p class="more"><button type="button" onClick=${start}>${names} <i>${pluralize(windows.length * served.credits.full, 'credit')}</i></button></p>`
  return html`<${DefinitionList} rows=${found.map((before, index) => [
    html`<a href="formulas#explore.fee_apr_of_days">Fee APR</a> of ${windows[index]} days`,
    html`<${FeeApr} rate=${feeAprOfDays({ before, now, flows, fromSec: moments[index] ?? 0, untilSec })} />`,
  ])} />
  ${failure && html`<${ErrorNotice} failure=${failure} title=${`The position ${windows[found.length]} days ago could not be read, so that fee APR is not shown`} onRetry=${start} />`}
  ${!failure && found.length < windows.length && html`<${LoadingNotice}>The position as it was<//>`}`
}

/** @param {Props & { midnights: readonly number[] }} props */
function InRange({ midnights, ...props }) {
  const { isAsked, found, failure, start } = usePast({ ...props, moments: midnights, full: false })
  if (!isAsked)
    return html`<p class="more"><button type="button" onClick=${start}>Time in range, ${pluralize(midnights.length, 'midnight')} <i>${pluralize(midnights.length * props.served.credits.single, 'credit')}</i></button></p>`
  const inside = found.map(wasInRange)
  const days = inside.map((yes, index) => ({
    yes,
    text: `${formatDay(midnights[index] ?? 0)}: ${yes ? 'in range' : 'out of range'}`,
  }))
  const count = inside.filter(Boolean).length
  return html`<div class="in-range">
    ${inside.length > 0 && html`<p>In range at <b>${count} of ${inside.length}</b> midnights (UTC), <b>${Math.round((count / inside.length) * 100)} %</b>. <span class="soft">What happened between them is not read.</span></p>`}
    <ol class="strip" aria-label="Midnights, oldest first">${days.toReversed().map(({ yes, text }) => html`<li class=${yes ? 'good' : 'warn'} title=${text}><span class="visually-hidden">${text}</span></li>`)}</ol>
    ${failure && html`<${ErrorNotice} failure=${failure} title=${`${formatDay(midnights[found.length] ?? 0)} could not be read, so nothing before it is shown`} onRetry=${start} />`}
    ${!failure && found.length < midnights.length && html`<${LoadingNotice}>Midnight ${found.length + 1} of ${midnights.length}<//>`}
  </div>`
}

/** The lower tick belongs to the range, the upper does not. @param {Position} position */
function wasInRange({ is_active: isActive, position_state: { tickLower, tickUpper, pool } }) {
  const tick = Number(pool.tick)
  return isActive && Number(tickLower) <= tick && tick < Number(tickUpper)
}
