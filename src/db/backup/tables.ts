import { ledgerSum, tableColumnList } from '../../../sql/queries.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { Database } from '../database.ts'
import type { BackupTrailer } from './format.ts'

/**
 * Tables of a backup, each after the tables it refers to. Partitions are read and written through their table, and
 * inheriting tables through their parent. A table missing here fails `test/contract/db/backup/tables_test.ts`.
 */
export const BACKUP_TABLES: readonly string[] = [
  'ledger',
  'organization',
  'spending_limit',
  'credit_grant',
  'api_key',
  'instance_key',
  'instance_secret',
  'endpoint_disabled',
  'feature_disabled',
  'audit_entry',
  'request_caller',
  'request_path',
  'request_log',
  'request_log_dropped',
  'request_rollup',
  'request_rollup_pending',
  'idempotency_record',
  'idempotency_use',
  'webhook',
  'watch',
  'watch_state',
  'watch_told',
  'watch_hour',
  'watch_owed',
  'watch_cursor',
  'watch_sight',
  'watch_blind',
  'watch_blind_trigger',
  'watch_unseen',
  'watch_block',
  'message_count',
  'message',
  'message_try',
  'history_chain',
  'history_place',
  'history_coverage',
  'history_row',
  'first_block',
  'price_at',
  'midnight',
  'snapshot_series',
  'midnight_row',
]

/** Tables that the migrations fill with a row: a restore replaces it by the backup's. */
export const REPLACED_TABLES: readonly string[] = ['ledger', 'request_path']

/**
 * A table from the catalogue, without generated columns. Each column has its type, such as `integer[]`, the sequence
 * that numbers its rows, if any, quoted if needed, and the sequence's last number, null if it was never used.
 */
export interface BackupTable {
  readonly name: string
  readonly columns: Awaited<ReturnType<typeof tableColumnList>>
}

/** Lists the existing tables among `names`, in that order; inheriting tables replace their parent. */
export async function readTables(db: Database, names: readonly string[]): Promise<readonly BackupTable[]> {
  const rows = await tableColumnList(db, { tables: names })
  return [...groupBy(rows, ({ table_name }) => table_name)].map(([name, columns]) => ({ name, columns }))
}

/** Returns the names of tables, in their order. */
export function getTableNames(tables: readonly { readonly name: string }[]): readonly string[] {
  return tables.map(({ name }) => name)
}

/** Quotes an SQL identifier. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Reads the whole log, hence the long deadline. */
const DEADLINE_MS = 600_000

/** Sums the credits of all organizations. */
export async function readLedger(db: Database): Promise<BackupTrailer['ledger']> {
  const [ledger] = await ledgerSum(db, {}, { deadlineMs: DEADLINE_MS })
  if (ledger === undefined) throw new Error('Cannot add up the ledger: the database returned no row')
  return ledger
}
