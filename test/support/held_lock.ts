import { openSession } from '../../src/db/connection/session.ts'
import { slowClock } from './test_clock.ts'
import { waitFor } from './wait_for.ts'

/** A lock that a session of its own holds, so that statements wait for the test instead of for time. */
export interface HeldLock {
  /** SQL of a call that returns once the lock was released, then at once. */
  readonly wait: string
  /** Returns once a statement waits for the lock, after it has taken its other locks and its transaction id. */
  untilWaiting(): Promise<void>
  release(): Promise<void>
}

let locks = 0

/** Takes a lock of the database at `url`. */
export async function holdLock(url: string): Promise<HeldLock> {
  const key = ++locks
  const holder = await openSession({ url, applicationName: 'holder', clock: slowClock })
  await holder.run(`select pg_advisory_lock(${key})`, [])
  const waiting = `select from pg_locks where locktype = 'advisory' and objid = ${key} and not granted`
  return {
    wait: `pg_advisory_xact_lock_shared(${key})`,
    untilWaiting: () => waitFor('a statement that waits', async () => (await holder.run(waiting, [])).length > 0),
    release: () => holder.close(),
  }
}
