import type { Hex } from 'viem'
import type { Database } from '../db/database.ts'
import type { StoredPart, StreamTable, StreamTarget } from './stream.ts'

/** Time limit of a statement that stores, milliseconds: thousands of rows on a slow disk. */
export const STORE_DEADLINE_MS = 30_000

/** The chain's history is stopped, or was taken back since the logs were read, so nothing was stored. */
export class NotStoredError extends Error {
  override readonly name = 'NotStoredError'

  constructor({ chainId }: Pick<StreamTarget, 'chainId'>) {
    super(`The history of chain ${chainId} is stopped or was taken back`)
  }
}

/** Bytes as statements of history take them: hexadecimal without prefix. They decode it, so its case does not matter. */
export function toHexDigits(bytes: Hex): string {
  return bytes.slice(2)
}

/** The other way. */
export function hexFromBytes(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

/** A history in the database. */
export interface HistoryName {
  readonly place: Pick<StreamTarget, 'chainId' | 'contract'>
  readonly stream: string
}

/** The parameters of every statement about one history. */
export function nameParams({ place, stream }: HistoryName) {
  return { chainId: place.chainId, contract: toHexDigits(place.contract), stream }
}

/** How statements name subjects; null: everybody. */
export function subjectParam(subjects: readonly Hex[] | null): readonly string[] {
  return subjects?.map(toHexDigits) ?? ['']
}

/** The parameters of every function that stores rows, besides the rows. */
export function partParams(part: StoredPart<unknown>) {
  const { subjects, fromBlock: from, toBlock: to, witnesses, epoch } = part
  return { ...nameParams(part), subjects: subjectParam(subjects), from, to, witnesses, epoch }
}

/** The parameters of every statement that reads rows page by page: at most `max` of these blocks, behind the row `after`. */
export function pageParams(
  { fromBlock, toBlock, max }: { readonly fromBlock: number; readonly toBlock: number; readonly max: number },
  after: { readonly block: number; readonly logIndex: number } = { block: fromBlock, logIndex: -1 },
) {
  const blocks = { fromBlock, toBlock: Math.max(fromBlock, toBlock) }
  return { ...blocks, max, afterBlock: after.block, afterLogIndex: after.logIndex }
}

/** Rows of one statement: writing out more of them holds the event loop for long. */
const PIECE_ROWS = 2_000

/**
 * Stores parts by a statement for each piece of some thousand rows, the newest first, so that what is stored stays if a
 * later one fails. A block is never divided. `store` gives false if nothing may be stored.
 */
export function storeInChunks<Row extends { readonly block: number }>(
  store: (db: Database, piece: StoredPart<Row>) => Promise<boolean>,
): StreamTable<Row>['store'] {
  return async (db, part) => {
    const storeRows = async (piece: StoredPart<Row>) => {
      if (!(await store(db, piece))) throw new NotStoredError(part.place)
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

/**
 * Rows that a statement reads page by page, each page behind the last row of the one before, at most `max`. Undefined if
 * a page is.
 */
export async function readRowPages<Row>(
  { pageMax, max }: { readonly pageMax: number; readonly max: number },
  readPage: (max: number, after: Row | undefined) => Promise<readonly Row[] | undefined>,
): Promise<readonly Row[] | undefined> {
  const rows: Row[] = []
  for (;;) {
    const page = await readPage(Math.min(pageMax, max - rows.length), rows.at(-1))
    if (page === undefined) return undefined
    rows.push(...page)
    if (page.length < pageMax) return rows
  }
}

/**
 * Rows of a statement that tells by a row without them that there are none; undefined if not all of them are stored.
 * `columns` are those that a row has.
 */
export function coveredRows<Row extends { readonly covered: boolean }, Column extends keyof Row>(
  rows: readonly Row[],
  columns: readonly Column[],
): readonly (Row & { readonly [Key in Column]: NonNullable<Row[Key]> })[] | undefined {
  const isThere = (row: Row): row is Row & { readonly [Key in Column]: NonNullable<Row[Key]> } =>
    columns.every((column) => row[column] !== null)
  return rows[0]?.covered === true ? rows.filter(isThere) : undefined
}
