import { openSession } from '../../src/db/connection/session.ts'
import { systemClock } from '../../src/lib/clock.ts'

/** A lock that a session of its own holds, so that statements wait for the test instead of for time. */
export interface HeldLock {
  /** SQL of a call that returns once the lock was released, then at once. */
  readonly wait: string
  release(): Promise<void>
}

let locks = 0

/** Takes a lock of the database at `url`. */
export async function holdLock(url: string): Promise<HeldLock> {
  const key = ++locks
  const holder = await openSession({ url, applicationName: 'holder', clock: systemClock })
  await holder.run(`select pg_advisory_lock(${key})`, [])
  return { wait: `pg_advisory_xact_lock_shared(${key})`, release: () => holder.close() }
}
