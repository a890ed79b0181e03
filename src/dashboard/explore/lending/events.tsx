import type { Answer, Failure } from '../../lib/api.ts'
import { requestApi } from '../../lib/api.ts'
import type { Catalog } from '../../lib/catalog.ts'
import { chainName } from '../../lib/catalog.ts'
import { formatSignificant } from '../../lib/decimal.ts'
import { useLoaded } from '../../lib/hooks.ts'
import type { LendingEvent, LendingEvents } from '../../lib/shapes.ts'
import { formatMoment, parseMoment, pluralize } from '../../lib/time.ts'
import { useState } from '../../lib/view.ts'
import { ExplorerLink } from '../../part/explorer_link.tsx'
import { Amount, Usd } from '../../part/figure.tsx'
import { EmptyState, ErrorNotice, LoadingNotice } from '../../part/notice.tsx'
import { Table } from '../../part/table.tsx'
import type { Context } from '../page.tsx'
import type { Outcome } from '../requests/polling.tsx'
import { usePolledAnswer } from '../requests/polling.tsx'

const PAGE_SIZE = 25

export function toEventPagePath(path: string, page: number) {
  return `${path}&limit=${PAGE_SIZE}${page > 1 ? `&page=${page}` : ''}`
}

/**
 * One page of events, the rows of it at or before the moment of the view, and the search for the page of that moment.
 */
interface EventPage {
  readonly answer: Outcome<LendingEvents>
  readonly again: () => void
  readonly rows: readonly LendingEvent[]
  /** Number of rows on the page after the moment. */
  readonly later: number
  readonly isPast: boolean
  readonly search: { isRunning: boolean; failure: Failure | undefined; start: () => void; creditsEach: number }
}

/**
 * Reads events of a wallet in a market, newest first. The service lists them up to now; rows after the moment of the
 * view are dropped here. Without `path` there is no request.
 */
export function useEvents(path: string | undefined, { key, view, catalog, paid }: Context): EventPage {
  const until = parseMoment(view.asOf)
  const [searched, setSearched] = useState(0)
  const toPagePath = (page: number) => toEventPagePath(path ?? '', page)
  const { value: foundPage, again: repeatSearch } = useLoaded(
    async (signal) =>
      searched > 0 ? findPage(until, searched, (page) => requestApi(toPagePath(page), { key, signal })) : undefined,
    [searched],
  )
  const { answer, again } = usePolledAnswer<LendingEvents>(
    path && toPagePath(typeof foundPage === 'number' ? foundPage : 1),
    key,
    {
      paid,
    },
  )
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

function countPages({ pagination }: LendingEvents) {
  return Math.ceil(pagination.total / PAGE_SIZE)
}

/** Counts the pages that a search reads at most, the shown one included. */
function countSearchReads(pages: number) {
  return Math.ceil(Math.log2(pages - 1)) + 1
}

/**
 * Finds the first page from 2 on with an event at or before a moment (Unix seconds) by binary search; the last page
 * if there is none.
 */
async function findPage(
  until: number,
  pages: number,
  read: (page: number) => Promise<Answer<LendingEvents> | Failure>,
) {
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

const VERBS: Record<string, string> = {
  supply: 'Supplied',
  withdraw: 'Withdrew',
  borrow: 'Borrowed',
  repay: 'Repaid',
  liquidation: 'Liquidated',
}

export function formatEvent({ type, amount, asset }: LendingEvent) {
  return `${VERBS[type] ?? type} ${formatSignificant(amount)} ${asset.symbol}`
}

interface EventsProps {
  readonly events: EventPage
  readonly chainId: number
  readonly catalog: Catalog
}

export function Events({ events: { answer, rows, later, isPast, search }, chainId, catalog }: EventsProps) {
  if (!answer?.ok) return null
  const { page, total } = answer.body.pagination
  const pages = countPages(answer.body)
  if (rows.length === 0 && page < pages) {
    if (search.isRunning) return <LoadingNotice>The events until then</LoadingNotice>
    if (search.failure) return <ErrorNotice failure={search.failure} onRetry={search.start} />
    return (
      <EmptyState title="Not shown yet">
        The newest {later} of {total} events all came after this moment.
        <p class="more">
          <button type="button" onClick={search.start}>
            Find those before <i>up to {pluralize(countSearchReads(pages) * search.creditsEach, 'credit')}</i>
          </button>
        </p>
      </EmptyState>
    )
  }
  if (rows.length === 0)
    return (
      <EmptyState title="No events">
        The wallet {isPast ? 'had moved nothing in this market by then' : 'has moved nothing in this market'}.
      </EmptyState>
    )
  const matching = total - (page - 1) * PAGE_SIZE - later
  return (
    <>
      <Table label="Events" class="events" columns={['When', 'What', 'Amount', 'Value then']}>
        {rows.map((event) => (
          <tr title={`${chainName(catalog, chainId)} block ${event.blockNumber}, ${event.transactionHash}`}>
            <td>
              <ExplorerLink
                catalog={catalog}
                chainId={chainId}
                kind="tx"
                id={event.transactionHash}
                label="its transaction"
              >
                {formatMoment(event.timestamp)}
              </ExplorerLink>
            </td>
            <td>
              <i class={`key ${event.type}`} aria-hidden="true" />
              {VERBS[event.type] ?? event.type}
            </td>
            <td>
              <Amount value={event.amount} symbol={event.asset.symbol} /> {event.asset.symbol}
            </td>
            <td>
              <Usd value={event.amountUSD} />
            </td>
          </tr>
        ))}
      </Table>
      {matching > rows.length && (
        <p class="soft">
          The newest {rows.length} of {matching}
          {isPast && ' until then'}.
        </p>
      )}
    </>
  )
}
