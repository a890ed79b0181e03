import type { Clock } from '../../lib/clock.ts'
import { TABLE_MS_MAX, TABLE_PIECE_ROWS, TABLE_ROWS_MAX } from '../limits.ts'
import type { PreparedAnswer } from '../respond.ts'
import { formatRemark } from '../route/csv.ts'
import { type CursorPlace, findPlace } from '../route/cursor.ts'
import type { RouteRequest } from '../route/route.ts'
import { CALLER_LEFT, type Exchange, type SettledAnswer } from './exchange.ts'
import type { Admission, Gate } from './gate.ts'

/** Most times that a piece asks for a place in the rate window, which has one again within a second. */
const ADMISSIONS_MAX = 10

/** What the app does for tables. */
interface TableServices {
  readonly gate: Pick<Gate, 'admit'>
  readonly clock: Clock
  /** True once no further rows may be begun, because the service stops. */
  readonly isStopping: () => boolean
  /** Runs an exchange as a request of its own. Never rejects. */
  readonly run: (exchange: Exchange) => Promise<SettledAnswer>
  /** Generates the id of a settlement. */
  readonly createSettlementId: () => string
}

/** A table whose first rows are charged, and whose others follow them. */
export interface LongTable {
  /** The exchange of its first rows. */
  readonly exchange: Exchange
  /** Headers of its first rows; `link` leads on. */
  readonly head: PreparedAnswer['headers']
  /** Creates the request for rows of its list. */
  readonly createInput: (query: string, part: Pick<RouteRequest, 'rows' | 'reads'>) => RouteRequest
}

/**
 * Has the rest of its list follow an answer that begins the table of a whole list; returns any other as it is. An answer
 * with an idempotency key, which is repeated as it was, and one to HEAD end there, and their `link` leads on.
 */
export function continueTable(
  answer: PreparedAnswer,
  { exchange, createInput }: Pick<LongTable, 'exchange' | 'createInput'>,
  services: TableServices,
): PreparedAnswer {
  const { csv, idempotencyKey, method } = exchange
  const { link, ...headers } = answer.headers
  const isContinued = csv?.isWhole === true && answer.status === 200 && method === 'GET' && idempotencyKey === undefined
  if (!isContinued || link === undefined) return answer
  return { ...answer, headers, rest: readTableRest({ exchange, head: answer.headers, createInput }, services) }
}

/**
 * Yields the rows of a table behind its first ones, piece by piece, each read once the one before is taken. A piece is a
 * request of its own: admitted, charged and logged before it is yielded, at the blocks of the first. Where a piece fails,
 * cannot be paid, or would be one too many, the last text is a remark that says why, and where the list goes on; where the
 * caller left, nothing. Never rejects.
 */
async function* readTableRest(table: LongTable, services: TableServices): AsyncGenerator<string, void> {
  const total = Number(table.head['x-total-count'])
  let { link } = table.head
  for (let page = 2; link !== undefined; page++) {
    const rows = (page - 1) * TABLE_PIECE_ROWS
    const answer = findEnd(rows, table.exchange, services) ?? (await readPiece({ table, link, page }, services))
    if (typeof answer === 'string' || answer.status !== 200) {
      if (table.exchange.signal.aborted) return
      const reason = typeof answer === 'string' ? answer : getMessage(answer)
      yield formatRemark(`Ends after ${rows} of ${total} rows. ${reason}. Go on at ${parseLink(link)}`)
      return
    }
    yield answer.body ?? ''
    link = answer.headers['link']
  }
}

/** Says why a table has no rows behind so many, whatever its list has; undefined if it may. */
function findEnd(rows: number, { startedMs }: Exchange, { clock, isStopping }: TableServices): string | undefined {
  if (rows >= TABLE_ROWS_MAX) return `No table has more than ${TABLE_ROWS_MAX}`
  if (clock.monotonicMs() - startedMs >= TABLE_MS_MAX)
    return `No table takes more than ${TABLE_MS_MAX / 60_000} minutes`
  return isStopping() ? 'The service stops' : undefined
}

async function readPiece(
  { table, link, page }: { readonly table: LongTable; readonly link: string; readonly page: number },
  services: TableServices,
): Promise<PreparedAnswer> {
  const { exchange, head: tableHead, createInput } = table
  const { clock, run, createSettlementId } = services
  const admission = admit(exchange, services)
  // The exchange answers its failure.
  await admission.catch(() => {})
  // A wait for the rate window is no latency of the service.
  const startedMs = clock.monotonicMs()
  if (exchange.signal.aborted) return CALLER_LEFT
  const place = toPlace(exchange, link)
  const rows = { page, limit: TABLE_PIECE_ROWS }
  const { answer } = await run({
    ...exchange,
    settlementId: createSettlementId(),
    startedMs,
    query: place.query,
    place,
    tableHead,
    admission,
    getRequest: () => createInput(place.query, { rows, reads: place.reads }),
  })
  return answer
}

/** Converts the header that leads on in a list to a place for rows in place of its pages. */
function toPlace({ match, path }: Exchange, link: string): CursorPlace {
  const { searchParams } = new URL(parseLink(link))
  searchParams.delete('format')
  const { place } =
    match.kind === 'endpoint' ? findPlace(match.endpoint.route, { path, query: searchParams.toString() }) : {}
  if (place === undefined) throw new Error('Cannot read the place at which a table goes on')
  const query = new URLSearchParams(place.query)
  for (const name of ['page', 'limit']) query.delete(name)
  return { ...place, query: query.toString() }
}

/**
 * Admits a piece as a request, once the rate window has a place for it or the service stops. Throws as `Gate.admit`, and if
 * the caller leaves.
 */
async function admit(
  { principal, match, signal }: Exchange,
  { gate, clock, isStopping }: TableServices,
): Promise<Admission> {
  if (principal === undefined || match.kind !== 'endpoint') return { kind: 'unknown_key' }
  const { name: endpoint, features } = match.endpoint
  for (let tries = 1; ; tries++) {
    const admission = await gate.admit({ principal, endpoint, features })
    const isEarly = admission.kind === 'refused' && admission.code === 'RATE_LIMIT_EXCEEDED'
    if (!isEarly || tries === ADMISSIONS_MAX) return admission
    await clock.sleep(Math.max(1, admission.rateLimit.waitMs), signal)
    // A stop waits for requests under way, not for this one.
    if (isStopping()) return admission
  }
}

function parseLink(link: string): string {
  return /<([^>]*)>/.exec(link)?.[1] ?? ''
}

function getMessage({ body }: PreparedAnswer): string {
  return (JSON.parse(body ?? '') as { readonly error: { readonly message: string } }).error.message
}
