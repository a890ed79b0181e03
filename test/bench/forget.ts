import type { Database } from '../../src/db/database.ts'

/** Empties the tables of histories: a row that is there already costs less to store. */
export async function forgetHistories(db: Database): Promise<void> {
  await db.run('truncate history_chain, history_place, history_coverage, lending_event, position_flow cascade', [], {
    lane: 'background',
    deadlineMs: 30_000,
  })
}
