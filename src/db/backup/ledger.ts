import { ledgerSum } from '../../../sql/queries.ts'
import type { Database } from '../database.ts'
import type { BackupTrailer } from './format.ts'

/** Reads the whole log, hence the long deadline. */
const DEADLINE_MS = 600_000

/** Sums the credits of all organizations. */
export async function readLedger(db: Database): Promise<BackupTrailer['ledger']> {
  const [ledger] = await ledgerSum(db, {}, { deadlineMs: DEADLINE_MS })
  if (ledger === undefined) throw new Error('Cannot add up the ledger: the database returned no row')
  return ledger
}
