import { requestApi } from '../../lib/api.js'
import { chainName } from '../../lib/catalog.js'
import { formatSignificant } from '../../lib/decimal.js'
import { useLoaded } from '../../lib/hooks.js'
import { formatMoment, parseMoment, pluralize } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { ExplorerLink } from '../../part/explorer_link.js'
import { Amount, Usd } from '../../part/figure.js'
import { EmptyState, ErrorNotice, LoadingNotice } from '../../part/notice.js'
import { Table } from '../../part/table.js'
import { usePolledAnswer } from '../requests/polling.js'

const PAGE_SIZE = 25

/** @param {string} path @param {number} page */
export function toEventPagePath(path, page) {
  return `${path}&limit=${PAGE_SIZE}${page > 1 ? `&page=${page}` : ''}`
}

/**
 * One page of events, the rows of it at or before the moment of the view, and the search for the page of that moment.
 * @typedef {object} EventPage
 * @property {import('../requests/polling.js').Outcome<import('../../lib/shapes.d.ts').LendingEvents>} answer
 * @property {() => void} again
 * @property {readonly import('../../lib/shapes.d.ts').LendingEvent[]} rows
 * @property {number} later number of rows on the page after the moment
 * @property {boolean} isPast
 * @property {{ isRunning: boolean, failure: import('../../lib/api.js').Failure | undefined, start: () => void, creditsEach: number }} search
 */

/**
 * Reads events of a wallet in a market, newest first. The service lists them up to now; rows after the moment of the view
 * are dropped here.
 * @param {string | undefined} path undefined: no request
 * @param {import('../page.js').Context} context
 * @returns {EventPage}
 */
export function useEvents(path, { key, view, catalog, paid }) {
  const until = parseMoment(view.asOf)
  const [searched, setSearched] = useState(0)
  const toPagePath = (/** @type {number} */ page) => toEventPagePath(path ?? '', page)
  const { value: foundPage, again: repeatSearch } = useLoaded(
    async (signal) =>
      searched > 0 ? findPage(until, searched, (page) => requestApi(toPagePath(page), { key, signal })) : undefined,
    [searched],
  )
  /** @type {{ answer: import('../requests/polling.js').Outcome<import('../../lib/shapes.d.ts').LendingEvents>, again: () => void }} */
  const { answer, again } = usePolledAnswer(path && toPagePath(typeof foundPage === 'number' ? foundPage : 1), key, {
    paid,
  })
  const all = answer?.ok ? answer.body.data : []
  const rows = all.filter(({ timestamp }) => timestamp <= until)
  const failure = typeof foundPage === 'object' ? foundPage : undefined
  const start = () => {
    if (searched > 0) repeatSearch()
    else if (answer?.ok) setSearched(countPages(answer.body))
  }
  const search = {
    isRunning: searched > 0 && failure === undefined,
    failure,
    start,
    creditsEach: catalog.credits.events,
  }
  return { answer, again, rows, later: all.length - rows.length, isPast: view.asOf !== '', search }
}

/** @param {import('../../lib/shapes.d.ts').LendingEvents} body */
function countPages({ pagination }) {
  return Math.ceil(pagination.total / PAGE_SIZE)
}

/** Counts the pages that a search reads at most, the shown one included. @param {number} pages */
function countSearchReads(pages) {
  return Math.ceil(Math.log2(pages - 1)) + 1
}

/**
 * Finds the first page from 2 on with an event at or before a moment by binary search; the last page if there is none.
 * @param {number} until Unix seconds
 * @param {number} pages
 * @param {(page: number) => Promise<import('../../lib/api.js').Answer<import('../../lib/shapes.d.ts').LendingEvents> | import('../../lib/api.js').Failure>} read
 */
async function findPage(until, pages, read) {
  let [from, to] = [2, pages]
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    const answer = await read(middle)
    if (!answer.ok) return answer
    if ((answer.body.data.at(-1)?.timestamp ?? 0) > until) from = middle + 1
    else to = middle
  }
  return from
}

/** @type {Record<string, string>} */
const VERBS = {
  supply: 'Supplied',
  withdraw: 'Withdrew',
  borrow: 'Borrowed',
  repay: 'Repaid',
  liquidation: 'Liquidated',
}

/** @param {import('../../lib/shapes.d.ts').LendingEvent} event */
export function formatEvent({ type, amount, asset }) {
  return `${VERBS[type] ?? type} ${formatSignificant(amount)} ${asset.symbol}`
}

/** @param {{ events: EventPage, chainId: number, catalog: import('../../lib/catalog.js').Catalog }} props */
export function Events({ events: { answer, rows, later, isPast, search }, chainId, catalog }) {
  if (!answer?.ok) return null
  const { page, total } = answer.body.pagination
  const pages = countPages(answer.body)
  if (rows.length === 0 && page < pages) {
    if (search.isRunning) return html`<${LoadingNotice}>The events until then<//>`
    if (search.failure) return html`<${ErrorNotice} failure=${search.failure} onRetry=${search.start} />`
    return html`<${EmptyState} title="Not shown yet">The newest ${later} of ${total} events all came after this moment.
      <p class="more"><button type="button" onClick=${search.start}>Find those before <i>up to ${pluralize(countSearchReads(pages) * search.creditsEach, 'credit')}</i></button></p><//>`
  }
  if (rows.length === 0)
    return html`<${EmptyState} title="No events">The wallet ${isPast ? 'had moved nothing in this market by then' : 'has moved nothing in this market'}.<//>`
  const matching = total - (page - 1) * PAGE_SIZE - later
  return html`<${Table} label="Events" class="events" columns=${['When', 'What', 'Amount', 'Value then']}>
      ${rows.map(
        (
          event,
        ) => html`<tr title=${`${chainName(catalog, chainId)} block ${event.blockNumber}, ${event.transactionHash}`}>
          <td><${ExplorerLink} catalog=${catalog} chainId=${chainId} kind="tx" id=${event.transactionHash} label="its transaction">${formatMoment(event.timestamp)}<//></td>
          <td><i class=${`key ${event.type}`} aria-hidden="true"></i>${VERBS[event.type] ?? event.type}</td>
          <td><${Amount} value=${event.amount} symbol=${event.asset.symbol} /> ${event.asset.symbol}</td>
          <td><${Usd} value=${event.amountUSD} /></td>
        </tr>`,
      )}
    <//>
    ${matching > rows.length && html`<p class="soft">The newest ${rows.length} of ${matching}${isPast && ' until then'}.</p>`}`
}
