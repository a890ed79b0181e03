import { MIGRATIONS } from '../../../sql/files.ts'
import type { Database } from '../database.ts'
import { migrate } from '../migrate.ts'
import { type Migration, UNFINISHED_RESTORE } from '../schema.ts'
import { BackupError, type BackupHeader, type BackupTrailer, malformedBackupError } from './format.ts'
import { readLedger } from './ledger.ts'
import type { BackupPart } from './read.ts'
import { type BackupTable, getTableNames, quoteIdentifier, REPLACED_TABLES, readTables } from './tables.ts'
import { checkBackupVersion, checkEmpty, matchBackupTables, NotEmptyError } from './target.ts'

export interface RestoreOptions {
  readonly header: BackupHeader
  /** The parts after the header. */
  readonly parts: AsyncIterable<BackupPart>
  /** Ends the restore with its reason. */
  readonly stop: AbortSignal
  /** Called every few thousand rows with the table and how many of its rows are loaded. */
  readonly onProgress?: (table: string, rows: number) => void
  /** @default MIGRATIONS */
  readonly migrations?: readonly Migration[]
}

export interface RestoreResult {
  readonly end: BackupTrailer
  /** Names of the migrations that brought an older backup up to this program. */
  readonly migrated: readonly string[]
}

/** For loading a part, counting a table, gathering statistics. */
const DEADLINE_MS = 600_000
/** A service that was just stopped may hold a table for a moment. */
const LOCK_TIMEOUT = '5s'
/** A source that brings nothing for this long is taken for dead. */
const STALL_MAX = '10min'

const MARK = `create table if not exists ${UNFINISHED_RESTORE} (since timestamptz not null default now())`
const UNMARK = `drop table if exists ${UNFINISHED_RESTORE}`

/**
 * Loads a backup in one transaction on the session's connection: any failure, even an altered last byte, leaves the
 * database as it was. The database must have no tables, or empty ones. A marker table, made before the transaction and
 * dropped by it, keeps every process from serving an unfinished restore. An older backup is loaded into the tables of
 * its version, which are then migrated. Throws `BackupError`, `SchemaError`, `SqlError` or `UnavailableError`; after
 * the last, whether the commit happened is unknown.
 */
export async function restoreBackup(session: Database, options: RestoreOptions): Promise<RestoreResult> {
  const { header, migrations = MIGRATIONS } = options
  checkBackupVersion(header, migrations)
  await session.run(MARK, [])
  await session.run('begin', [])
  try {
    await session.run(`set local idle_in_transaction_session_timeout = '${STALL_MAX}'`, [])
    await session.run(`set local lock_timeout = '${LOCK_TIMEOUT}'`, [])
    await session.run(UNMARK, [])
    await migrate(session, { migrations: migrations.slice(0, header.migrations.length) })
    const tables = await matchBackupTables(session, header)
    await session.run(`lock table ${listed(tables)} in share row exclusive mode`, [])
    await checkEmpty(session, tables)
    for (const { name } of tables.filter((table) => REPLACED_TABLES.includes(table.name))) {
      await session.run(`delete from ${quoteIdentifier(name)}`, [])
    }
    const end = await load(session, { ...options, tables })
    await checkCounts(session, end)
    await setSequences(session, end)
    const { applied } = await migrate(session, options)
    await checkLedger(session, end)
    // A later migration may have dropped one of them.
    const left = await readTables(session, getTableNames(tables))
    await session.run(`analyze ${listed(left)}`, [], { deadlineMs: DEADLINE_MS })
    await session.run('commit', [], { deadlineMs: DEADLINE_MS })
    return { end, migrated: applied.filter((name) => migrations.some((each) => each.name === name)) }
  } catch (error) {
    // The server rolls back by itself if it does not get this.
    await session.run('rollback', []).catch(() => undefined)
    // A restore's rows come all at once, so a database that has rows is not one of an unfinished restore.
    if (error instanceof NotEmptyError) await session.run(UNMARK, []).catch(() => undefined)
    throw error
  }
}

function listed(tables: readonly BackupTable[]): string {
  return getTableNames(tables).map(quoteIdentifier).join(', ')
}

async function load(
  session: Database,
  { header, tables, parts, stop, onProgress }: RestoreOptions & { readonly tables: readonly BackupTable[] },
): Promise<BackupTrailer> {
  const inserts = new Map(header.tables.map((table) => [table.name, insertInto(table)]))
  const loaded = new Map<string, number>(tables.map(({ name }) => [name, 0]))
  for await (const part of parts) {
    stop.throwIfAborted()
    if (part.kind === 'end') return part.end
    const insert = part.kind === 'rows' ? inserts.get(part.table) : undefined
    if (part.kind !== 'rows' || insert === undefined) throw malformedBackupError()
    await session.run(insert, [part.json], { deadlineMs: DEADLINE_MS })
    const count = (loaded.get(part.table) ?? 0) + part.count
    loaded.set(part.table, count)
    onProgress?.(part.table, count)
  }
  throw malformedBackupError()
}

/** Safe: `matchBackupTables` has checked the header's names and types against the catalogue. */
function insertInto({ name, columns }: BackupHeader['tables'][number]): string {
  const names = columns.map((column) => quoteIdentifier(column.name)).join(', ')
  const values = columns.map((column, index) => `(r.value ->> ${index})::${column.type}`).join(', ')
  return `insert into ${quoteIdentifier(name)} (${names}) overriding system value
    select ${values} from jsonb_array_elements($1::jsonb) r`
}

async function checkCounts(session: Database, end: BackupTrailer): Promise<void> {
  for (const [name, expected] of Object.entries(end.rows)) {
    const [found] = await session.run<{ rows: string }>(
      `select count(*)::text as rows from ${quoteIdentifier(name)}`,
      [],
      {
        deadlineMs: DEADLINE_MS,
      },
    )
    if (found?.rows === String(expected)) continue
    throw new BackupError(`Cannot restore the backup: "${name}" has ${found?.rows} rows, the backup ${expected}`)
  }
}

async function setSequences(session: Database, end: BackupTrailer): Promise<void> {
  const tables = await readTables(session, Object.keys(end.rows))
  for (const { table, column, reached } of end.sequences) {
    const found = tables.find(({ name }) => name === table)?.columns.find(({ name }) => name === column)
    if (!found?.sequence) throw malformedBackupError()
    await session.run('select setval($1::text::regclass, $2::bigint)', [found.sequence, reached])
  }
}

async function checkLedger(session: Database, { ledger }: BackupTrailer): Promise<void> {
  const found = await readLedger(session)
  const keys = ['organizations', 'granted', 'balance', 'charged', 'odd'] as const
  if (keys.every((key) => found[key] === ledger[key])) return
  throw new BackupError('Cannot restore the backup: its credits do not add up to what they were')
}
