import { createHash, hash } from 'node:crypto'
import { MIGRATIONS } from '../../../sql/files.ts'
import type { Database } from '../database.ts'
import type { Migration } from '../schema.ts'
import { checkSchema } from '../schema.ts'
import { type BackupHeader, type BackupTrailer, FORMAT, FORMAT_VERSION, LINE_MAX } from './format.ts'
import { readLedger } from './ledger.ts'
import { BACKUP_TABLES, type BackupTable, quoteIdentifier, readTables } from './tables.ts'

export interface WriteOptions {
  /** Version of this program, for the header. */
  readonly program: string
  /** Ends the backup with its reason. */
  readonly stop: AbortSignal
  /** Called every few thousand rows with the table and how many of its rows are written. */
  readonly onProgress?: (table: string, rows: number) => void
  /** @default BACKED_UP */
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

/** Characters of one fetch, about. */
const FETCH_LENGTH = 1_000_000
const FETCH_ROWS_MAX = 8_192
/** Rows of the first fetch, while their length is unknown. */
const FETCH_ROWS_FIRST = 64
const FETCH_DEADLINE_MS = 120_000
/** A reader that takes nothing for this long loses the snapshot, which keeps PostgreSQL from removing dead rows. */
const STALL_MAX = '10min'

/**
 * Reads one snapshot of every table and yields the lines of a backup, several in one text; returns what was written.
 * One read-only transaction on its own connection blocks no other; cursors keep memory from growing with the tables.
 * Throws `SchemaError` if the database is not of this program's version, and `UnavailableError` or `SqlError` if it
 * breaks off; then the last line is missing, and the text is not a backup.
 */
export async function* writeBackup(session: Database, options: WriteOptions): AsyncGenerator<string, WriteResult> {
  const sha256 = createHash('sha256')
  const hashed = (text: string): string => {
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
  yield hashed(line(header))
  for (const table of tables) {
    let count = 0
    yield hashed(line({ table: table.name }))
    for await (const fetched of readRows(session, table)) {
      options.stop.throwIfAborted()
      count += fetched.length
      yield hashed(`${fetched.join('\n')}\n`)
      options.onProgress?.(table.name, count)
    }
    rows[table.name] = count
  }
  const end: BackupTrailer = { rows, sequences: reachedBy(tables), ledger: await readLedger(session) }
  yield hashed(line({ end }))
  await session.run('commit', [])
  const digest = sha256.digest('hex')
  yield line({ sha256: digest })
  return { header, end, sha256: digest }
}

function line(value: unknown): string {
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
  if (database === undefined) throw new Error('Cannot read the database: it answered no row')
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

/** Rows as lines, some at a time; the next are fetched while these are written. */
async function* readRows(session: Database, { name, columns }: BackupTable): AsyncGenerator<readonly string[]> {
  const values = columns.map((column) => `${quoteIdentifier(column.name)}::text`).join(', ')
  await session.run(
    `declare backup no scroll cursor for select array_to_json(array[${values}]::text[])::text as line from ${quoteIdentifier(name)}`,
    [],
  )
  let wanted = FETCH_ROWS_FIRST
  let next = fetchLines(session, wanted)
  for (;;) {
    const lines = await next
    if (lines.length === 0) break
    const length = lines.reduce((sum, each) => sum + each.length, 0)
    wanted = nextWanted(wanted, length / lines.length)
    next = fetchLines(session, wanted)
    // The reader may stop before this is awaited.
    next.catch(() => undefined)
    yield lines
  }
  await session.run('close backup', [])
}

async function fetchLines(session: Database, rows: number): Promise<readonly string[]> {
  const fetched = await session.run<{ line: string }>(`fetch forward ${rows} from backup`, [], {
    deadlineMs: FETCH_DEADLINE_MS,
  })
  const lines = fetched.map((row) => row.line)
  if (lines.some((each) => each.length > LINE_MAX / 4)) {
    throw new Error(`Cannot write the backup: a row has more than ${LINE_MAX / 4} characters`)
  }
  return lines
}

/** Powers of two: each number is a statement of its own, which the server prepares and keeps. */
function nextWanted(wanted: number, lengthOfRow: number): number {
  const fitting = 2 ** Math.floor(Math.log2(Math.max(1, FETCH_LENGTH / lengthOfRow)))
  return Math.min(fitting, wanted * 8, FETCH_ROWS_MAX)
}

function reachedBy(tables: readonly BackupTable[]): BackupTrailer['sequences'] {
  return tables.flatMap(({ name, columns }) =>
    columns.flatMap((column) =>
      column.reached === null ? [] : [{ table: name, column: column.name, reached: column.reached }],
    ),
  )
}
