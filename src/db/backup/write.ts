import { createHash, hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { MIGRATIONS } from '../../../sql/files.ts'
import type { Database } from '../database.ts'
import { checkSchema, type Migration } from '../schema.ts'
import type { Append } from './file.ts'
import { type BackupHeader, type BackupTrailer, FORMAT, FORMAT_VERSION, LINE_MAX } from './format.ts'
import { BACKUP_TABLES, type BackupTable, quoteIdentifier, readLedger, readTables } from './tables.ts'

export interface WriteOptions {
  /** Version of this program, for the header. */
  readonly program: string
  /** Aborts the backup with its reason. */
  readonly stop: AbortSignal
  /** Called every few thousand rows with the table and how many of its rows are written. */
  readonly onProgress?: (table: string, rows: number) => void
  /** @default BACKUP_TABLES */
  readonly tables?: readonly string[]
  /** @default MIGRATIONS */
  readonly migrations?: readonly Migration[]
}

export interface WriteResult {
  readonly header: BackupHeader
  readonly end: BackupTrailer
  /** SHA-256 of the content, hexadecimal. */
  readonly sha256: string
}

/** Approximate characters of one fetch. */
const FETCH_LENGTH = 1_000_000
const FETCH_ROWS_MAX = 8_192
/** Rows of the first fetch, while their length is unknown. */
const FETCH_ROWS_FIRST = 64
const FETCH_DEADLINE_MS = 120_000
/** A reader that stalls this long loses the snapshot, because a snapshot keeps PostgreSQL from removing dead rows. */
const STALL_MAX = '10min'

/**
 * Reads one snapshot of every table and yields the lines of a backup, several in one text; returns the totals. One
 * read-only transaction on its own connection blocks no other; cursors keep memory from growing with the tables.
 * Throws `SchemaError` if the database is not at this program's version, and `UnavailableError` or `SqlError` if the
 * read fails; the last line is then missing, and the text is not a backup.
 */
export async function* writeBackup(session: Database, options: WriteOptions): AsyncGenerator<string, WriteResult> {
  const sha256 = createHash('sha256')
  const addToHash = (text: string): string => {
    sha256.update(text)
    return text
  }
  const rows: Record<string, number> = {}

  await session.run('begin transaction isolation level repeatable read, read only', [])
  await session.run(`set local idle_in_transaction_session_timeout = '${STALL_MAX}'`, [])
  // Checked inside the snapshot: another version may have tables that this program does not know.
  const { migrations = MIGRATIONS } = options
  await checkSchema(session, { migrations })
  const tables = await readTables(session, options.tables ?? BACKUP_TABLES)
  const header = await readHeader(session, { ...options, migrations, tables })
  yield addToHash(toLine(header))
  for (const table of tables) {
    let count = 0
    yield addToHash(toLine({ table: table.name }))
    for await (const lines of readRows(session, table)) {
      options.stop.throwIfAborted()
      count += lines.length
      yield addToHash(`${lines.join('\n')}\n`)
      options.onProgress?.(table.name, count)
    }
    rows[table.name] = count
  }
  const end: BackupTrailer = { rows, sequences: listReachedSequences(tables), ledger: await readLedger(session) }
  yield addToHash(toLine({ end }))
  await session.run('commit', [])
  const digest = sha256.digest('hex')
  yield toLine({ sha256: digest })
  return { header, end, sha256: digest }
}

function toLine(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}

async function readHeader(
  session: Database,
  {
    program,
    migrations,
    tables,
  }: { readonly program: string; readonly migrations: readonly Migration[]; readonly tables: readonly BackupTable[] },
): Promise<BackupHeader> {
  const [database] = await session.run<{ now: Date; postgresql: string }>(
    `select now() as now, current_setting('server_version') as postgresql`,
    [],
  )
  if (database === undefined) throw new Error('Cannot read the database: it returned no row')
  return {
    format: FORMAT,
    version: FORMAT_VERSION,
    created_at: database.now.toISOString(),
    program,
    postgresql: database.postgresql,
    migrations: migrations.map(({ version, name, text }) => ({ version, name, sha256: hash('sha256', text) })),
    tables: tables.map(({ name, columns }) => ({
      name,
      columns: columns.map((column) => ({ name: column.name, type: column.type })),
    })),
  }
}

/** Yields rows as lines, in batches; fetches the next batch while the current one is written. */
async function* readRows(session: Database, { name, columns }: BackupTable): AsyncGenerator<readonly string[]> {
  const values = columns.map((column) => `${quoteIdentifier(column.name)}::text`).join(', ')
  await session.run(
    `declare backup no scroll cursor for select array_to_json(array[${values}]::text[])::text as line from ${quoteIdentifier(name)}`,
    [],
  )
  let rowCount = FETCH_ROWS_FIRST
  let next = fetchLines(session, rowCount)
  for (;;) {
    const lines = await next
    if (lines.length === 0) break
    const length = lines.reduce((sum, each) => sum + each.length, 0)
    rowCount = computeNextRowCount(rowCount, length / lines.length)
    next = fetchLines(session, rowCount)
    // The reader may stop before this promise is awaited.
    next.catch(() => undefined)
    yield lines
  }
  await session.run('close backup', [])
}

async function fetchLines(session: Database, rowCount: number): Promise<readonly string[]> {
  const rows = await session.run<{ line: string }>(`fetch forward ${rowCount} from backup`, [], {
    deadlineMs: FETCH_DEADLINE_MS,
  })
  const lines = rows.map((row) => row.line)
  if (lines.some((each) => each.length > LINE_MAX / 4)) {
    throw new Error(`Cannot write the backup: a row has more than ${LINE_MAX / 4} characters`)
  }
  return lines
}

/** Returns a power of two, because each number is a separate statement that the server keeps prepared. */
function computeNextRowCount(rowCount: number, lengthOfRow: number): number {
  const fitting = 2 ** Math.floor(Math.log2(Math.max(1, FETCH_LENGTH / lengthOfRow)))
  return Math.min(fitting, rowCount * 8, FETCH_ROWS_MAX)
}

function listReachedSequences(tables: readonly BackupTable[]): BackupTrailer['sequences'] {
  return tables.flatMap(({ name, columns }) =>
    columns.flatMap((column) =>
      column.reached === null ? [] : [{ table: name, column: column.name, reached: column.reached }],
    ),
  )
}

/** Level 3 takes a third of the default level's time; the file is a tenth larger. */
const GZIP_LEVEL = 3

/**
 * Writes a backup, compressed. A slow reader slows down reading from the database; memory does not grow. Throws what
 * `writeBackup` and `append` throw, and an `AbortError` if `stop` fires.
 */
export async function compressBackup(
  session: Database,
  { append, ...options }: WriteOptions & { readonly append: Append },
): Promise<WriteResult & { readonly bytes: number }> {
  let result: WriteResult | undefined
  let bytes = 0
  await pipeline(
    Readable.from(
      (async function* () {
        result = yield* writeBackup(session, options)
      })(),
      { objectMode: false },
    ),
    createGzip({ level: GZIP_LEVEL }),
    async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) {
        await append(chunk)
        bytes += chunk.length
      }
    },
    { signal: options.stop },
  )
  if (result === undefined) throw new Error('Cannot write the backup: it ended without its last line')
  return { ...result, bytes }
}
