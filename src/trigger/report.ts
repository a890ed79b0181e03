import { watchLineReport } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import type { TriggerProgress } from '../http/page/probes.ts'
import { countDueMessages } from './deliver/queue.ts'

/** Progress of trigger evaluation of all processes; paused and expired triggers are left out. */
export async function readTriggerProgress(db: Database): Promise<TriggerProgress[]> {
  const rows = await watchLineReport(db, {})
  return rows.map(({ chain_id, finality, holder, block, age_sec, blind_since }) => ({
    chain_id: Number(chain_id),
    finality,
    holder,
    block: block === null ? null : Number(block),
    age_sec: age_sec === null ? null : Math.round(age_sec),
    blind_since: blind_since?.toISOString() ?? null,
  }))
}

/** Progress of trigger evaluation, and the state of the delivery queue. */
export async function readTriggerReport(db: Database) {
  const [lines, { due, oldestSec }] = await Promise.all([readTriggerProgress(db), countDueMessages(db)])
  return { lines, messages_due: due, oldest_due_sec: Math.round(oldestSec) }
}
