import ledgerSumSql from '../../../sql/queries/ledger_sum.sql' with { type: 'text' }
import type { Database } from '../database.ts'
import { query } from '../query.ts'

const sumLedger = query(ledgerSumSql, 'background')

/** The whole log is read. */
const DEADLINE_MS = 600_000

/** Credits over all organizations, as decimal strings. */
interface Ledger {
  readonly organizations: number
  readonly granted: string
  readonly balance: string
  /** What the log charged. */
  readonly charged: string
  /** Organizations whose credits do not add up: granted is not balance plus charged. */
  readonly odd: number
}

/** Adds up the ledger. */
export async function readLedger(db: Database): Promise<Ledger> {
  const [ledger] = await sumLedger(db, [], { deadlineMs: DEADLINE_MS })
  if (ledger === undefined) throw new Error('Cannot add up the ledger: the database answered no row')
  return ledger
}
