import { pluralize } from '../../lib/time.js'
import { html } from '../../lib/view.js'
import { Offer, toPressId } from '../requests/offer.js'
import { formatQuery } from '../requests/plan.js'
import { FLOW_PAGES_MAX, toFlowsId } from './flows.js'
import { sortPositions } from './order.js'
import { lacksHistory } from './pnl.js'

/** @typedef {import('../../lib/shapes.d.ts').Position} Position */

/**
 * Path of a position's flows up to the moment of the view.
 * @param {Position} position
 * @param {{ protocol: string, view: Pick<import('../../lib/link.js').View, 'asOf'> }} options
 */
export function toFlowsPath({ token_id, chain_id, manager_address }, { protocol, view }) {
  const query = formatQuery({ chain_id, manager_address, ...(view.asOf === '' ? {} : { at_time: view.asOf }) })
  return `v1/positions/${protocol}/${token_id}/events?${query}`
}

/** Price of a number of histories, each of one page of flows or more. @param {number} credits a page @param {number} [count] */
export function formatFlowsPrice(credits, count = 1) {
  return `${credits * count} to ${pluralize(credits * count * FLOW_PAGES_MAX, 'credit')}`
}

/**
 * Button that reads the histories of all positions that are shown, as far as the service has them at hand. Renders nothing
 * for fewer than two.
 * @param {{ parts: readonly import('../requests/answers.js').RequestedPart[], order: import('./order.js').Order, context: import('../page.js').Context, onPress: () => void }} props
 */
export function HistoriesOffer({ parts, order, context, onPress }) {
  const { catalog, view, paid, pressed } = context
  const unread = parts.flatMap(({ answer, protocol }) => {
    const served = catalog.liquidity.find((each) => each.protocol === protocol)
    if (!answer?.ok || !served?.events) return []
    const { data } = /** @type {import('../../lib/shapes.d.ts').PositionList} */ (answer.body)
    return sortPositions(data, order)
      .filter((position) => position.pnl_status === 'ready' && !lacksHistory(position))
      .map((position) => toFlowsId(toFlowsPath(position, { protocol: served.protocol, view })))
      .filter((id) => !paid.has(id) && !pressed.has(toPressId([id])))
      .map((id) => ({ id, credits: served.credits.events }))
  })
  if (unread.length < 2) return null
  const press = () => {
    for (const { id } of unread) pressed.add(toPressId([id]))
    onPress()
  }
  const credits = unread.reduce((sum, each) => sum + each.credits, 0)
  return html`<p class="more"><${Offer} price=${formatFlowsPrice(credits)} onPress=${press}>Read ${unread.length} histories<//></p>`
}
