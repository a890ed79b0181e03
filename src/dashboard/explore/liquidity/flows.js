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
const PAGES_MAX = 4
const SHOWN_MAX = 25

/** @type {Record<Flow['type'], string>} */
const VERBS = { increase: 'Deposited', decrease: 'Withdrew', collect: 'Collected' }

/**
 * Reads all flows of a position up to the moment of the view, oldest first, in pages of 25. `rows` is undefined if there are
 * more than `PAGES_MAX` pages.
 * @param {string | undefined} path undefined: no request
 * @param {string} key
 */
export function useFlows(path, key) {
  const [state, setState] = useState(
    /** @type {{ answer?: import('../requests/polling.js').Outcome<Events>, rows?: readonly Flow[] }} */ ({}),
  )
  const read = (/** @type {AbortSignal} */ signal) => readAll(path ?? '', { key, signal, onState: setState })
  const readAgain = useTask(path === undefined ? undefined : read, [path, key])
  const again = () => {
    setState({})
    readAgain()
  }
  return { request: { answer: state.answer, again }, rows: state.rows }
}

/**
 * @param {string} path
 * @param {{ key: string, signal: AbortSignal, onState: (state: { answer: import('../requests/polling.js').Outcome<Events>, rows?: readonly Flow[] }) => void }} options
 */
async function readAll(path, { key, signal, onState }) {
  const toPagePath = (/** @type {number} */ page) => `${path}&limit=${PAGE_SIZE}${page > 1 ? `&page=${page}` : ''}`
  /** @type {import('../requests/polling.js').Outcome<Events>} */
  let first
  await pollAnswer(toPagePath(1), {
    key,
    signal,
    onAnswer: (/** @type {import('../requests/polling.js').Outcome<Events>} */ answer) => {
      first = answer
      if (!answer?.ok) onState({ answer })
    },
  })
  if (!first?.ok) return
  const rows = [...first.body.data]
  const pages = Math.ceil(first.body.pagination.total / PAGE_SIZE)
  for (let page = 2; page <= pages && pages <= PAGES_MAX; page++) {
    /** @type {import('../../lib/api.js').Answer<Events> | import('../../lib/api.js').Failure} */
    const next = await requestApi(toPagePath(page), { key, signal })
    if (!next.ok) return onState({ answer: next })
    rows.push(...next.body.data)
  }
  return onState({ answer: first, rows: pages <= PAGES_MAX ? rows.toReversed() : undefined })
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
