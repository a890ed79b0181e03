import type { Database } from '../database.ts'
import { compareMigrations, listAppliedMigrations, type Migration } from '../schema.ts'
import { BackupError, type BackupHeader } from './format.ts'
import { type BackupTable, getTableNames, quoteIdentifier, REPLACED_TABLES, readTables } from './tables.ts'

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
export async function matchBackupTables(db: Database, header: BackupHeader): Promise<readonly BackupTable[]> {
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
export async function checkEmpty(db: Database, tables: readonly BackupTable[]): Promise<void> {
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
