import type { Hex } from 'viem'
import { historyRowStore } from '../../sql/functions.ts'
import { toArrayText } from '../db/codec.ts'
import type { Database } from '../db/database.ts'
import type { StoredPart, StreamTable, StreamTarget } from './stream.ts'

/** Time limit of a statement that stores, milliseconds: thousands of rows on a slow disk. */
const STORE_DEADLINE_MS = 30_000

/** Nothing was stored: the chain's history is stopped, or was rolled back since the logs were read. */
export class NotStoredError extends Error {
  override readonly name = 'NotStoredError'

  constructor({ chainId }: Pick<StreamTarget, 'chainId'>) {
    super(`The history of chain ${chainId} is stopped or was rolled back`)
  }
}

/** Bytes as hexadecimal digits without prefix, for statements of history, which decode them: case does not matter. */
export function toHexDigits(bytes: Hex): string {
  return bytes.slice(2)
}

/** Bytes of a database row as prefixed hexadecimal. */
export function hexFromBytes(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

/** Names a history in the database. */
export interface HistoryName {
  readonly target: Pick<StreamTarget, 'chainId' | 'contract'>
  readonly stream: string
}

/** The parameters of every statement about one history. */
export function toNameParams({ target, stream }: HistoryName) {
  return { chainId: target.chainId, contract: toHexDigits(target.contract), stream }
}

/** Subjects as parameters of statements; null: the global history, named by an empty text. */
export function toSubjectParam(subjects: readonly Hex[] | null): readonly string[] {
  return subjects?.map(toHexDigits) ?? ['']
}

/** The parameters that store a part, besides its rows. */
function toPartParams(part: StoredPart<unknown>) {
  const { subjects, fromBlock: from, toBlock: to, witnesses, epoch } = part
  return { ...toNameParams(part), subjects: toSubjectParam(subjects), from, to, witnesses, epoch }
}

/** A value of a column; bytes are hexadecimal digits without prefix, as `toHexDigits` returns them. */
type ColumnValue = string | number | bigint | null

/** Rows of streams in a table of the database that inherits `history_row`. */
interface RowTable<Row> {
  /** Name of the table. */
  readonly name: string
  readonly toSubject: (row: Row) => Hex
  /** The column that holds the subject, and its value for a subject. @default {its bytes} */
  readonly subjectColumn: string
  readonly toSubjectValue?: (subject: Hex) => ColumnValue
  /** Values of all columns that a row brings, by name; `place` is not among them. */
  readonly columns: Readonly<Record<string, (row: Row) => ColumnValue>> & { readonly block: (row: Row) => number }
}

/**
 * Creates the store of a table's rows: a stream needs no function of its own in the database. If the table's primary key
 * has `block`, its rows each come from a log, and rows of two endpoints replace those of one; if not, a row says since
 * when something is so, and the earliest is kept.
 */
export function createRowTable<Row extends { readonly block: number }>({
  name: table,
  toSubject,
  subjectColumn,
  toSubjectValue = toHexDigits,
  columns,
}: RowTable<Row>): StreamTable<Row> {
  const names = Object.keys(columns)
  const getters = Object.values(columns)
  const store = storeInChunks<Row>((db, part) => {
    const { rows, subjects, witnesses } = part
    const params = {
      ...toPartParams(part),
      table,
      columns: names,
      values: getters.map((getValue) => toArrayText(rows.map(getValue))),
      subjectColumn,
      subjectValues: (subjects ?? []).map((subject) => String(toSubjectValue(subject))),
      rowSubjects: witnesses > 1 ? [] : rows.map((row) => toHexDigits(toSubject(row))),
    }
    return historyRowStore(db, params, { deadlineMs: STORE_DEADLINE_MS })
  })
  return { toSubject, store }
}

/** Rows of one statement: encoding more of them would block the event loop. */
const PIECE_ROWS = 2_000

/**
 * Stores a part in chunks of some thousand rows, one statement each, newest first, so that stored chunks stay if a
 * later one fails. A block is never divided. `store` returns false if nothing may be stored.
 */
export function storeInChunks<Row extends { readonly block: number }>(
  store: (db: Database, piece: StoredPart<Row>) => Promise<boolean>,
): StreamTable<Row>['store'] {
  return async (db, part) => {
    const storeRows = async (piece: StoredPart<Row>) => {
      if (!(await store(db, piece))) throw new NotStoredError(part.target)
    }
    const { rows } = part
    let { toBlock } = part
    let end = rows.length
    while (end > PIECE_ROWS) {
      let start = end - PIECE_ROWS
      const fromBlock = rows[start]?.block ?? toBlock
      while (rows[start - 1]?.block === fromBlock) start--
      if (start === 0) break
      await storeRows({ ...part, fromBlock, toBlock, rows: rows.slice(start, end) })
      toBlock = fromBlock - 1
      end = start
    }
    await storeRows({ ...part, toBlock, rows: rows.slice(0, end) })
  }
}

/** Rows of one history in these blocks, at most `max` of them. */
export interface RowsQuery extends HistoryName {
  readonly fromBlock: number
  readonly toBlock: number
  readonly max: number
}

/**
 * Reads stored rows, oldest first, page by page, so that no statement blocks the event loop for long. Undefined if some
 * are not stored. Throws as `list`.
 */
export async function readStoredRows<
  Listed extends { readonly covered: boolean },
  Column extends keyof Listed,
  Row extends { readonly block: number; readonly logIndex: number },
>(
  query: RowsQuery,
  options: {
    /** Most rows of one statement. */
    readonly pageMax: number
    /** Runs the statement of a page. It returns one row with null columns if there are none. */
    readonly list: (page: RowsPage) => Promise<readonly Listed[]>
    /** Columns that are non-null in every real row. */
    readonly columns: readonly Column[]
    readonly toRow: (listed: Listed & { readonly [Key in Column]: NonNullable<Listed[Key]> }) => Row
  },
): Promise<readonly Row[] | undefined> {
  const { pageMax, list, columns, toRow } = options
  const hasColumns = (row: Listed): row is Listed & { readonly [Key in Column]: NonNullable<Listed[Key]> } =>
    columns.every((column) => row[column] !== null)
  const rows: Row[] = []
  for (;;) {
    const max = Math.min(pageMax, query.max - rows.length)
    const listed = await list(toPageParams({ ...query, max }, rows.at(-1)))
    if (listed[0]?.covered !== true) return undefined
    const page = listed.filter(hasColumns).map(toRow)
    rows.push(...page)
    if (page.length < pageMax) return rows
  }
}

/** The parameters of every statement that reads a page of rows. */
export type RowsPage = ReturnType<typeof toPageParams>

/** Returns the parameters of the page behind `after`. */
function toPageParams(
  query: RowsQuery,
  after: { readonly block: number; readonly logIndex: number } = { block: query.fromBlock, logIndex: -1 },
) {
  const { fromBlock, toBlock, max } = query
  const blocks = { fromBlock, toBlock: Math.max(fromBlock, toBlock) }
  return { ...toNameParams(query), ...blocks, max, afterBlock: after.block, afterLogIndex: after.logIndex }
}
