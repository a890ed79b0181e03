import type { Database } from '../database.ts'
import { compareMigrations, listAppliedMigrations, type Migration } from '../schema.ts'
import { BackupError, type BackupHeader } from './format.ts'
import { type BackupTable, getTableNames, quoteIdentifier, REPLACED_TABLES, readTables } from './tables.ts'

/** Throws `BackupError` unless the backup was made by this program or an older one. */
export function checkBackupVersion({ migrations }: BackupHeader, known: readonly Migration[]): void {
  const { other, isNewer } = compareMigrations(migrations, known)
  if (isNewer) {
    throw new BackupError(
      `Cannot restore the backup: its tables are of version ${migrations.length}, this program knows ${known.length}; ` +
        'run the newer program',
    )
  }
  if (migrations.length > 0 && other === undefined) return
  throw new BackupError('Cannot restore the backup: its tables are not those of any version of this program')
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
  const { length: present } = await listAppliedMigrations(db)
  if (present <= header.migrations.length) return
  throw new BackupError(
    `Cannot restore the backup: its tables are of version ${header.migrations.length}, those of the database already of ` +
      `version ${present}; restore into a database without tables, which are then migrated`,
  )
}

/** The backup's tables, as the database has them. Throws `BackupError` if they differ. */
export async function matchBackupTables(db: Database, header: BackupHeader): Promise<readonly BackupTable[]> {
  const tables = await readTables(db, getTableNames(header.tables))
  for (const { name, columns } of header.tables) {
    const found = tables
      .find((table) => table.name === name)
      ?.columns.map(columnText)
      .toSorted()
    const expected = columns.map(columnText).toSorted()
    if (found?.join() === expected.join()) continue
    throw new BackupError(`Cannot restore the backup: its table "${name}" is not that of the database`)
  }
  return tables
}

/** The database has rows already. */
export class NotEmptyError extends BackupError {}

/** Throws `NotEmptyError` if a table has a row that no migration made. */
export async function checkEmpty(db: Database, tables: readonly BackupTable[]): Promise<void> {
  for (const { name } of tables.filter((table) => !REPLACED_TABLES.includes(table.name))) {
    const [found] = await db.run<{ filled: boolean }>(
      `select exists (select from ${quoteIdentifier(name)}) as filled`,
      [],
    )
    if (!found?.filled) continue
    throw new NotEmptyError(
      `Cannot restore the backup: expected an empty database, and its table "${name}" has rows; nothing was changed`,
    )
  }
}

function columnText({ name, type }: { readonly name: string; readonly type: string }): string {
  return JSON.stringify([name, type])
}
