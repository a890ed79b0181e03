import { changedListError } from '../../lib/pinned_list.ts'
import type { PreparedAnswer } from '../respond.ts'
import type { CsvTable } from '../route/csv.ts'
import type { CursorPlace } from '../route/cursor.ts'

type TableHeaders = PreparedAnswer['headers']

/** What an answer is written from, and where it stands in its list. */
interface TableSource {
  /** The answer as JSON. */
  readonly body: string
  readonly headers: TableHeaders
  readonly place: CursorPlace | undefined
  /** Headers of the table that the answer continues, if it does. */
  readonly tableHead: TableHeaders | undefined
}

/**
 * Writes an answer as a table. Throws `CodedError` INVALID_PARAMETER if it continues a table whose headers, which its reader
 * has, would not be true of it.
 */
export function writeTable(
  csv: CsvTable,
  { body, headers, place, tableHead }: TableSource,
): Pick<PreparedAnswer, 'body' | 'headers'> {
  const table = csv.write(body, { isContinued: tableHead !== undefined })
  const merged = { ...headers, ...table.headers }
  if (tableHead !== undefined && !isToldBy(tableHead, merged)) throw changedListError()
  if (place === undefined && !csv.isWhole) return { body: table.body, headers: merged }
  // A whole table, and one that goes on by a cursor, lead on by one.
  const { link: _, ...others } = merged
  const { link } = headers
  return { body: table.body, headers: link === undefined ? others : { ...others, link: csv.toTableLink(link) } }
}

/** True if the headers of a table tell of further rows what their own headers tell. */
function isToldBy(head: TableHeaders, rows: TableHeaders): boolean {
  // Of a list that is as of no block, its cursor has looked whether it may go on.
  const same = head['x-as-of'] === undefined ? ['x-as-of', 'x-fx'] : ['x-as-of', 'x-fx', 'x-total-count']
  const isSame = same.every((name) => head[name] === rows[name])
  const isCovered = head['x-coverage'] === rows['x-coverage'] || head['x-coverage'] === 'partial'
  const told = new Set(head['x-unwitnessed']?.split(','))
  return isSame && isCovered && (rows['x-unwitnessed']?.split(',') ?? []).every((chainId) => told.has(chainId))
}
