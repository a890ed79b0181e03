import * as v from 'valibot'
import { CodedError } from '../../lib/error.ts'
import { changedListError, type PinnedRead } from '../../lib/pinned_list.ts'
import { hashText } from '../../lib/text/hash_text.ts'
import { PAGE_LIMIT_MAX, PAGE_MAX } from '../limits.ts'
import type { Reply, Route } from './route.ts'

/*
 * Cursors: the place at which a list goes on, and the blocks at which it began. A cursor is no secret and is not signed: it
 * says nothing that its caller may not ask for by parameters, and is checked as they are.
 */

/** Parameter of lists beside `page`. */
export const CURSOR_PARAMETER_NAME = 'cursor'

/** The place that a request names by a cursor. */
export interface CursorPlace {
  /** The query with the page in place of the cursor. */
  readonly query: string
  readonly reads: readonly PinnedRead[]
  /** Entries of the list when the cursor was made. */
  readonly total: number
}

const WHOLE = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const READS_MAX = 64
const OVERRIDES_MAX = 4
const schema = v.strictTuple([
  v.pipe(v.string(), v.length(16)),
  v.pipe(WHOLE, v.minValue(1), v.maxValue(PAGE_MAX)),
  WHOLE,
  v.pipe(v.array(v.strictTuple([WHOLE, WHOLE, v.nullable(WHOLE)])), v.maxLength(READS_MAX)),
  v.pipe(v.array(v.strictTuple([v.string(), v.string()])), v.maxLength(OVERRIDES_MAX)),
])

/** True if a list may be read on by cursors: its parameters select a page. */
export function takesCursor({ method, input, body }: Pick<Route, 'method' | 'input' | 'body'>): boolean {
  const { entries = {} } = input as { readonly entries?: Readonly<Record<string, unknown>> }
  return method === 'GET' && body === undefined && 'page' in entries && 'limit' in entries
}

/** Parameters that say how a list is shown, not which: a cursor goes with any of them. */
const SHOWN = ['page', CURSOR_PARAMETER_NAME, 'format']

/** Names a list by its path and the parameters that select it. */
function nameList(path: string, query: URLSearchParams, overrides: readonly string[]): string {
  const selecting = [...query].filter(([name]) => !SHOWN.includes(name) && !overrides.includes(name)).sort()
  return hashText(JSON.stringify([path, selecting]))
}

/** The place that a request names by a cursor, if any, or what is wrong with the cursor. */
interface FoundPlace {
  readonly place?: CursorPlace | undefined
  readonly fault?: CodedError
}

/** Of a request without a cursor. */
export const NO_PLACE: FoundPlace = {}

/** Finds the place that a request to a route names by a cursor. */
export function findPlace(
  route: Route,
  { path, query }: { readonly path: string; readonly query: string },
): FoundPlace {
  if (!takesCursor(route)) return NO_PLACE
  try {
    return { place: readCursor(path, query) }
  } catch (error) {
    if (error instanceof CodedError) return { fault: error }
    throw error
  }
}

/**
 * Reads the cursor of a request; undefined without one. Throws `CodedError` INVALID_PARAMETER for text that is no cursor
 * of this list, and for a page or a receipt beside it.
 */
function readCursor(path: string, query: string): CursorPlace | undefined {
  if (!query.includes(CURSOR_PARAMETER_NAME)) return undefined
  const parameters = new URLSearchParams(query)
  const [sent, ...others] = parameters.getAll(CURSOR_PARAMETER_NAME)
  if (sent === undefined) return undefined
  if (others.length > 0) throw cursorError('expected it once, it is repeated')
  if (parameters.has('page')) throw cursorError('expected no "page" beside it')
  if (parameters.has('receipt')) {
    throw cursorError('expected none with "receipt": name the block with "at_block", and the page with "page"')
  }
  const parsed = v.safeParse(schema, parse(sent))
  if (!parsed.success) throw cursorError('expected the one of a `Link: rel="next"`, unchanged')
  const [list, page, total, reads, overrides] = parsed.output
  parameters.delete(CURSOR_PARAMETER_NAME)
  if (
    nameList(
      path,
      parameters,
      overrides.map(([name]) => name),
    ) !== list
  ) {
    throw cursorError('expected one of this list: other parameters than "format" stay as they were')
  }
  for (const [name, value] of [...overrides, ['page', String(page)] as const]) parameters.set(name, value)
  return {
    query: parameters.toString(),
    total,
    reads: reads.map(([chainId, number, sec]) => ({
      chainId,
      number,
      ...(sec !== null && { timestampSec: sec }),
    })),
  }
}

/**
 * Returns the address with which a list goes on behind a reply; undefined at its end, and with a receipt. `address` is the
 * absolute one of the request, `path` its canonical path. Throws `CodedError` INVALID_PARAMETER if the list is another than
 * its cursor began.
 */
export function findNextCursor(
  { pagination, asOf = [], isLog = false }: Reply,
  {
    address,
    path,
    place,
  }: { readonly address: string; readonly path: string; readonly place: CursorPlace | undefined },
): string | undefined {
  if (pagination === undefined) return undefined
  const { page: shownPage, limit, total, next_page } = pagination
  const isChanged = place !== undefined && (isLog ? total < place.total : total !== place.total)
  if (isChanged) throw changedListError()
  const current = new URL(address).searchParams
  // A cursor goes with no receipt: pages lead on.
  if (next_page === null || current.has('receipt')) return undefined
  const target = new URL(next_page)
  const changed = [...target.searchParams].filter(([name, value]) => current.get(name) !== value)
  const overrides = changed.filter(([name]) => name !== 'page')
  let page = Number(target.searchParams.get('page'))
  // Behind the rows of a table come pages of the largest size.
  if (limit > PAGE_LIMIT_MAX) {
    page = (shownPage * limit) / PAGE_LIMIT_MAX + 1
    for (const parameters of [current, target.searchParams]) parameters.set('limit', String(PAGE_LIMIT_MAX))
  }
  const list = nameList(
    path,
    current,
    overrides.map(([name]) => name),
  )
  const reads = asOf.map((each) => [
    each.chainId,
    Number(each.blockNumber),
    each.timestampSec === undefined ? null : Number(each.timestampSec),
  ])
  const cursor = Buffer.from(JSON.stringify([list, page, total, reads, overrides])).toString('base64url')
  for (const name of ['page', ...overrides.map(([each]) => each)]) target.searchParams.delete(name)
  target.searchParams.set(CURSOR_PARAMETER_NAME, cursor)
  return target.href
}

function cursorError(detail: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${CURSOR_PARAMETER_NAME}": ${detail}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return undefined
  }
}
