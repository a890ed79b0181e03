import { tableColumnList } from '../../../sql/queries.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { Database } from '../database.ts'

/**
 * Tables of a backup, each after those that it refers to. Partitions are read and written through their table, and one
 * that others inherit stands for those. A table that is not among them fails `test/db/backup/tables_test.ts`.
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
  'watch_cursor',
  'watch_sight',
  'watch_blind',
  'watch_block',
  'message_count',
  'message',
  'message_try',
  'history_chain',
  'history_place',
  'history_coverage',
  'history_row',
  'price_at',
  'midnight',
  'snapshot_series',
  'midnight_row',
]

/** Tables with a row that the migrations make: a restore replaces it by the backup's. */
export const REPLACED_TABLES: readonly string[] = ['ledger', 'request_path']

/**
 * A table as the catalogue has it, without generated columns: of each the type, such as `integer[]`, the sequence that
 * numbers its rows, if any, quoted if needed, and the last number of that; null if it was never used.
 */
export interface BackupTable {
  readonly name: string
  readonly columns: Awaited<ReturnType<typeof tableColumnList>>
}

/** Those of these tables that exist, in the given order; tables that inherit one of them take its place. */
export async function readTables(db: Database, names: readonly string[]): Promise<readonly BackupTable[]> {
  const rows = await tableColumnList(db, { tables: names })
  return [...groupBy(rows, ({ table_name }) => table_name)].map(([name, columns]) => ({ name, columns }))
}

/** Names of tables, in their order. */
export function getTableNames(tables: readonly { readonly name: string }[]): readonly string[] {
  return tables.map(({ name }) => name)
}

/** A quoted identifier of SQL. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
