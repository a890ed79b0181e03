import type { Database } from '../../src/db/database.ts'
import { waitFor } from './wait_for.ts'

/** Waits until so many statements of this database wait for locks. */
export async function waitForLockWaits(db: Database, count = 1): Promise<void> {
  const sql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await waitFor(`${count} to wait for locks`, async () => (await db.run(sql, [])).length === count)
}
