import { requestApi } from '../../lib/api.js'
import { useTask } from '../../lib/hooks.js'
import { formatMoment, pluralize } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { Amount, Usd } from '../../part/figure.js'
import { Table } from '../../part/table.js'
import { pollAnswer } from '../requests/polling.js'

/** @typedef {import('../../lib/shapes.d.ts').LiquidityEvents} Events */
/** @typedef {import('../../lib/shapes.d.ts').LiquidityEvent} Flow */

const PAGE_SIZE = 25
/** Pages of flows that are read at most: a hundred flows. */
export const FLOW_PAGES_MAX = 4
const SHOWN_MAX = 25

/** @type {Record<Flow['type'], string>} */
const VERBS = { increase: 'Deposited', decrease: 'Withdrew', collect: 'Collected' }

/** @param {string} path @param {number} page */
function toFlowPagePath(path, page) {
  return `${path}&limit=${PAGE_SIZE}${page > 1 ? `&page=${page}` : ''}`
}

/** Entry of `paid` that says that all pages were read that this page reads. @param {string} path */
export function toFlowsId(path) {
  return `${path} read`
}

/**
 * Reads all flows of a position up to the moment of the view, oldest first, in pages of 25. `rows` is undefined if there are
 * more than `FLOW_PAGES_MAX` pages. Pages in `paid` are not requested again.
 * @param {string | undefined} path undefined: no request
 * @param {Pick<import('../page.js').Context, 'key' | 'paid'>} context
 */
export function useFlows(path, { key, paid }) {
  const [state, setState] = useState(
    /** @type {{ answer?: import('../requests/polling.js').Outcome<Events>, rows?: readonly Flow[] }} */ ({}),
  )
  const read = (/** @type {AbortSignal} */ signal) => readAll(path ?? '', { key, paid, signal, onState: setState })
  const readAgain = useTask(path === undefined ? undefined : read, [path, key])
  const again = () => {
    setState({})
    readAgain()
  }
  return { request: { answer: state.answer, again }, rows: state.rows }
}

/**
 * @param {string} path
 * @param {Pick<import('../page.js').Context, 'key' | 'paid'> & { signal: AbortSignal, onState: (state: { answer: import('../requests/polling.js').Outcome<Events>, rows?: readonly Flow[] }) => void }} options
 */
async function readAll(path, { key, paid, signal, onState }) {
  const getPaid = (/** @type {number} */ page) =>
    /** @type {import('../../lib/api.js').Answer<Events> | undefined} */ (paid.get(toFlowPagePath(path, page)))
  const keep = (/** @type {number} */ page, /** @type {import('../requests/polling.js').Outcome<Events>} */ answer) => {
    if (answer?.ok) paid.set(toFlowPagePath(path, page), answer)
  }
  /** @type {import('../requests/polling.js').Outcome<Events>} */
  let first = getPaid(1)
  if (first === undefined) {
    await pollAnswer(toFlowPagePath(path, 1), {
      key,
      signal,
      onAnswer: (/** @type {import('../requests/polling.js').Outcome<Events>} */ answer) => {
        first = answer
        keep(1, answer)
        if (!answer?.ok) onState({ answer })
      },
    })
  }
  if (!first?.ok) return
  const rows = [...first.body.data]
  const pages = Math.ceil(first.body.pagination.total / PAGE_SIZE)
  for (let page = 2; page <= pages && pages <= FLOW_PAGES_MAX; page++) {
    /** @type {import('../../lib/api.js').Answer<Events> | import('../../lib/api.js').Failure} */
    const next = getPaid(page) ?? (await requestApi(toFlowPagePath(path, page), { key, signal }))
    keep(page, next)
    if (!next.ok) return onState({ answer: next })
    rows.push(...next.body.data)
  }
  paid.set(toFlowsId(path), first)
  return onState({ answer: first, rows: pages <= FLOW_PAGES_MAX ? rows.toReversed() : undefined })
}

/** @param {{ body: Events, symbols: readonly string[] }} props newest flows and their total */
export function Flows({ body: { data, pagination }, symbols: [symbol0, symbol1] }) {
  const shown = data.slice(0, SHOWN_MAX)
  return html`<details class="as-table"><summary>${pluralize(pagination.total, 'flow')}: deposits, withdrawals, collects</summary>
    <${Table} label="Flows" class="events" columns=${['When', 'What', symbol0, symbol1, 'Value then']}>
      ${shown.map(
        ({ timestamp, type, amounts, usd_value: usd }) => html`<tr>
          <td>${formatMoment(timestamp)}</td>
          <td><i class=${`key ${type}`} aria-hidden="true"></i>${VERBS[type]}</td>
          <td><${Amount} value=${amounts.token0.amount} symbol=${symbol0} /></td>
          <td><${Amount} value=${amounts.token1.amount} symbol=${symbol1} /></td>
          <td>${type === 'decrease' ? html`<span class="soft">when collected</span>` : html`<${Usd} value=${usd} />`}</td>
        </tr>`,
      )}
    <//>
    ${pagination.total > shown.length && html`<p class="soft">The newest ${shown.length} of ${pagination.total}.</p>`}
  </details>`
}
