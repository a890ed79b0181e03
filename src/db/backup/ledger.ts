import { ledgerSum } from '../../../sql/queries.ts'
import type { Database } from '../database.ts'
import type { BackupTrailer } from './format.ts'

/** The whole log is read. */
const DEADLINE_MS = 600_000

/** Credits over all organizations. */
export async function readLedger(db: Database): Promise<BackupTrailer['ledger']> {
  const [ledger] = await ledgerSum(db, {}, { deadlineMs: DEADLINE_MS })
  if (ledger === undefined) throw new Error('Cannot add up the ledger: the database answered no row')
  return ledger
}
