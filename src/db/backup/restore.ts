import { MIGRATIONS } from '../../../sql/files.ts'
import type { Database } from '../database.ts'
import { migrate } from '../migrate.ts'
import { compareMigrations, listAppliedMigrations, type Migration, UNFINISHED_RESTORE } from '../schema.ts'
import { BackupError, type BackupHeader, type BackupTrailer, malformedBackupError } from './format.ts'
import type { BackupPart } from './read.ts'
import { type BackupTable, getTableNames, quoteIdentifier, REPLACED_TABLES, readLedger, readTables } from './tables.ts'

export interface RestoreOptions {
  readonly header: BackupHeader
  /** The parts after the header. */
  readonly parts: AsyncIterable<BackupPart>
  /** Aborts the restore with its reason. */
  readonly stop: AbortSignal
  /** Called every few thousand rows with the table and how many of its rows are loaded. */
  readonly onProgress?: (table: string, rows: number) => void
  /** @default MIGRATIONS */
  readonly migrations?: readonly Migration[]
}

export interface RestoreResult {
  readonly end: BackupTrailer
  /** Names of the migrations applied to bring an older backup up to date. */
  readonly migrated: readonly string[]
}

/** Deadline for loading a part, counting a table and gathering statistics. */
const DEADLINE_MS = 600_000
/** A service that was just stopped may hold a table for a moment. */
const LOCK_TIMEOUT = '5s'
/** A source that sends nothing for this long counts as dead. */
const STALL_MAX = '10min'

const CREATE_MARKER = `create table if not exists ${UNFINISHED_RESTORE} (since timestamptz not null default now())`
const DROP_MARKER = `drop table if exists ${UNFINISHED_RESTORE}`

/**
 * Forgets up to which transaction this database has rolled up its log: those of the backup were numbered in another one,
 * and a row with a lower number would never be counted.
 */
const FORGET_FLOOR = `do $$ begin
  if to_regclass('request_rollup_floor') is not null then delete from request_rollup_floor; end if;
end $$`

/**
 * Loads a backup in one transaction on the session's connection: any failure, even an altered last byte, leaves the
 * database as it was. The database must have no tables, or empty ones. A marker table, created before the transaction
 * and dropped by it, keeps every process from serving an unfinished restore. An older backup is loaded into the tables of
 * its version, which are then migrated. Throws `BackupError`, `SchemaError`, `SqlError` or `UnavailableError`; after
 * an `UnavailableError` it is unknown whether the commit happened.
 */
export async function restoreBackup(session: Database, options: RestoreOptions): Promise<RestoreResult> {
  const { header, migrations = MIGRATIONS } = options
  checkBackupVersion(header, migrations)
  await session.run(CREATE_MARKER, [])
  await session.run('begin', [])
  try {
    await session.run(`set local idle_in_transaction_session_timeout = '${STALL_MAX}'`, [])
    await session.run(`set local lock_timeout = '${LOCK_TIMEOUT}'`, [])
    await session.run(DROP_MARKER, [])
    await migrate(session, { migrations: migrations.slice(0, header.migrations.length) })
    const tables = await matchBackupTables(session, header)
    await session.run(`lock table ${formatTableList(tables)} in share row exclusive mode`, [])
    await checkEmpty(session, tables)
    for (const { name } of tables.filter((table) => REPLACED_TABLES.includes(table.name))) {
      await session.run(`delete from ${quoteIdentifier(name)}`, [])
    }
    await session.run(FORGET_FLOOR, [])
    const end = await loadRows(session, { ...options, tables })
    await checkCounts(session, end)
    await setSequences(session, end)
    const { applied } = await migrate(session, options)
    await checkLedger(session, end)
    // A later migration may have dropped some of the tables.
    const remainingTables = await readTables(session, getTableNames(tables))
    await session.run(`analyze ${formatTableList(remainingTables)}`, [], { deadlineMs: DEADLINE_MS })
    await session.run('commit', [], { deadlineMs: DEADLINE_MS })
    return { end, migrated: applied.filter((name) => migrations.some((each) => each.name === name)) }
  } catch (error) {
    // The server rolls back by itself if this statement does not reach it.
    await session.run('rollback', []).catch(() => undefined)
    // A restore commits all rows at once, so a database that has rows is not an unfinished restore.
    const isTargetFilled = error instanceof BackupError && error.isTargetFilled
    if (isTargetFilled) await session.run(DROP_MARKER, []).catch(() => undefined)
    throw error
  }
}

function formatTableList(tables: readonly BackupTable[]): string {
  return getTableNames(tables).map(quoteIdentifier).join(', ')
}

async function loadRows(
  session: Database,
  { header, tables, parts, stop, onProgress }: RestoreOptions & { readonly tables: readonly BackupTable[] },
): Promise<BackupTrailer> {
  const inserts = new Map(header.tables.map((table) => [table.name, toInsertStatement(table)]))
  const rowsByTable = new Map<string, number>(tables.map(({ name }) => [name, 0]))
  for await (const part of parts) {
    stop.throwIfAborted()
    if (part.kind === 'end') return part.end
    const insert = part.kind === 'rows' ? inserts.get(part.table) : undefined
    if (part.kind !== 'rows' || insert === undefined) throw malformedBackupError()
    await session.run(insert, [part.json], { deadlineMs: DEADLINE_MS })
    const count = (rowsByTable.get(part.table) ?? 0) + part.count
    rowsByTable.set(part.table, count)
    onProgress?.(part.table, count)
  }
  throw malformedBackupError()
}

/** Safe: `matchBackupTables` has checked the header's names and types against the catalogue. */
function toInsertStatement({ name, columns }: BackupHeader['tables'][number]): string {
  const names = columns.map((column) => quoteIdentifier(column.name)).join(', ')
  const values = columns.map((column, index) => `(r.value ->> ${index})::${column.type}`).join(', ')
  return `insert into ${quoteIdentifier(name)} (${names}) overriding system value
    select ${values} from jsonb_array_elements($1::jsonb) r`
}

async function checkCounts(session: Database, end: BackupTrailer): Promise<void> {
  for (const [name, expected] of Object.entries(end.rows)) {
    const [row] = await session.run<{ rows: string }>(
      `select count(*)::text as rows from ${quoteIdentifier(name)}`,
      [],
      {
        deadlineMs: DEADLINE_MS,
      },
    )
    if (row?.rows === String(expected)) continue
    throw new BackupError(`Cannot restore the backup: "${name}" has ${row?.rows} rows, the backup ${expected}`)
  }
}

async function setSequences(session: Database, end: BackupTrailer): Promise<void> {
  const tables = await readTables(session, Object.keys(end.rows))
  for (const { table, column, reached } of end.sequences) {
    const sequenceColumn = tables.find(({ name }) => name === table)?.columns.find(({ name }) => name === column)
    if (!sequenceColumn?.sequence) throw malformedBackupError()
    await session.run('select setval($1::text::regclass, $2::bigint)', [sequenceColumn.sequence, reached])
  }
}

async function checkLedger(session: Database, { ledger }: BackupTrailer): Promise<void> {
  const restoredLedger = await readLedger(session)
  const keys = ['organizations', 'granted', 'balance', 'charged', 'odd'] as const
  if (keys.every((key) => restoredLedger[key] === ledger[key])) return
  throw new BackupError('Cannot restore the backup: its sums of credits differ from those in the backup')
}

/** Throws `BackupError` unless this program or an older one wrote the backup. */
export function checkBackupVersion({ migrations }: BackupHeader, knownMigrations: readonly Migration[]): void {
  const { firstDifference, isNewer } = compareMigrations(migrations, knownMigrations)
  if (isNewer) {
    throw new BackupError(
      `Cannot restore the backup: its tables are at version ${migrations.length}, this program knows ${knownMigrations.length}; ` +
        'run the newer program',
    )
  }
  if (migrations.length > 0 && firstDifference === undefined) return
  throw new BackupError('Cannot restore the backup: its tables match no version of this program')
}

/**
 * Throws `BackupError` unless the backup may go into this database: it must have no tables, or empty ones no newer than
 * the backup's. Changes nothing.
 */
export async function checkTarget(
  db: Database,
  { header, migrations }: { readonly header: BackupHeader; readonly migrations: readonly Migration[] },
): Promise<void> {
  checkBackupVersion(header, migrations)
  await checkEmpty(db, await readTables(db, getTableNames(header.tables)))
  const { length: appliedCount } = await listAppliedMigrations(db)
  if (appliedCount <= header.migrations.length) return
  throw new BackupError(
    `Cannot restore the backup: its tables are at version ${header.migrations.length}, the database's already at ` +
      `version ${appliedCount}; restore into a database without tables, the restore migrates it`,
  )
}

/** Returns the database's counterparts of the backup's tables. Throws `BackupError` if they differ. */
async function matchBackupTables(db: Database, header: BackupHeader): Promise<readonly BackupTable[]> {
  const tables = await readTables(db, getTableNames(header.tables))
  for (const { name, columns } of header.tables) {
    const actual = tables
      .find((table) => table.name === name)
      ?.columns.map(formatColumn)
      .toSorted()
    const expected = columns.map(formatColumn).toSorted()
    if (actual?.join() === expected.join()) continue
    throw new BackupError(`Cannot restore the backup: its table "${name}" differs from the database's`)
  }
  return tables
}

/** Throws `BackupError` if a table has a row that no migration inserted. */
async function checkEmpty(db: Database, tables: readonly BackupTable[]): Promise<void> {
  for (const { name } of tables.filter((table) => !REPLACED_TABLES.includes(table.name))) {
    const [row] = await db.run<{ filled: boolean }>(
      `select exists (select from ${quoteIdentifier(name)}) as filled`,
      [],
    )
    if (!row?.filled) continue
    throw new BackupError(
      `Cannot restore the backup: expected an empty database, and its table "${name}" has rows; nothing was changed`,
      { isTargetFilled: true },
    )
  }
}

function formatColumn({ name, type }: { readonly name: string; readonly type: string }): string {
  return JSON.stringify([name, type])
}
