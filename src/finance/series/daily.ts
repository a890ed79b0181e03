import { NoBlockError } from '../../chain/past/block_at.ts'
import { DAY_SEC, type Midnights } from '../../history/midnight.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import { type Log, logThrottled } from '../../lib/log.ts'
import type { SnapshotTaker } from './snapshot_taker.ts'
import type { SnapshotStore, SnapshotTarget } from './store.ts'

/** Wallets that one process claims at a time, and the lease that keeps other processes off them, seconds. */
const CLAIM_MAX = 250
const LEASE_SEC = 30
/** Pause after a midnight: some nodes are a second late. */
const AFTER_MIDNIGHT_MS = 1_000
/**
 * Pauses until the next round: after a failure, so long that a process waiting for the failed lease is first; while
 * midnights are not final; and at most.
 */
const AGAIN_MS = LEASE_SEC * 1_000
const OPEN_MS = 60_000
const EVERY_MS = 3_600_000
/** Shortest wait for the end of a lease: it may be renewed. */
const LEASED_MS_MIN = 1_000
/** Tries, a second apart, until a chain has a block after midnight. */
const TRIES_MAX = 20

/** Dependencies of the job. */
export interface DailyParts<Figures> {
  readonly targets: readonly SnapshotTarget<Figures>[]
  readonly midnights: Midnights
  readonly store: SnapshotStore<Figures>
  readonly taker: SnapshotTaker<Figures>
  readonly clock: Clock
  readonly log: Log
}

/**
 * Runs one round: takes the last midnight for followed wallets that lack it, then settles midnights that have become
 * final. Several processes share the wallets; one that fails gives them back at once. Returns the wait until the next
 * round, milliseconds: while other processes have leased wallets that are due, until the first of the leases ends. A
 * chain is read only if a snapshot is due there or a midnight waits to become final.
 */
export async function takeDailySnapshots<Figures>(parts: DailyParts<Figures>, work: Work): Promise<number> {
  const { targets, midnights, clock, log } = parts
  const day = Math.floor(clock.now() / 1_000 / DAY_SEC)
  let nextMs = Math.min(EVERY_MS, (day + 1) * DAY_SEC * 1_000 + AFTER_MIDNIGHT_MS - clock.now())
  const onFailure = ({ chainId }: SnapshotTarget<Figures>, error: unknown): void => {
    if (work.signal.aborted) return
    // A chain without new blocks is not a failure.
    const isFault = !(error instanceof NoBlockError)
    nextMs = Math.min(nextMs, isFault ? AGAIN_MS : OPEN_MS)
    // All targets often fail for hours for one reason, the database, so the log is throttled.
    const entry = { msg: 'Failed to take snapshots', chainId, reason: String(error) }
    if (isFault) logThrottled(log, { level: 'warn', kind: entry.msg, clock }, entry)
  }
  await Promise.all(
    targets.map(async (target) => {
      try {
        const leasedMs = await takeTarget(parts, { place: target, day }, work)
        if (leasedMs !== undefined) nextMs = Math.min(nextMs, Math.max(LEASED_MS_MIN, leasedMs))
      } catch (error) {
        onFailure(target, error)
      }
    }),
  )
  for (const target of new Map(targets.map((each) => [each.client, each])).values()) {
    try {
      if ((await midnights.settle(target.client, work)) > 0) nextMs = Math.min(nextMs, OPEN_MS)
    } catch (error) {
      onFailure(target, error)
    }
  }
  return nextMs
}

/** Takes the due snapshots that no process has leased. Returns the time until the first lease of another ends. */
async function takeTarget<Figures>(
  { midnights, store, taker, clock }: DailyParts<Figures>,
  { place: target, day }: { readonly place: SnapshotTarget<Figures>; readonly day: number },
  work: Work,
): Promise<number | undefined> {
  for (;;) {
    const wallets = await store.claim(target, { day, leaseSec: LEASE_SEC, max: CLAIM_MAX })
    if (wallets.length === 0) return await store.findLeaseEnd(target, day)
    let unfinished = wallets
    try {
      await waitForBlock({ midnights, clock }, { place: target, day }, work)
      const results = await Promise.allSettled(
        wallets.map((wallet) => taker.take({ target, day, wallet }, work.signal)),
      )
      const failures = results.map((result) =>
        result.status === 'rejected' && !isLasting(result.reason) ? result : undefined,
      )
      unfinished = wallets.filter((_, index) => failures[index] !== undefined)
      const finished = wallets.filter((_, index) => failures[index] === undefined)
      if (finished.length > 0) await store.markDone(target, day, finished)
      const failure = failures.find((each) => each !== undefined)
      if (failure !== undefined) throw failure.reason
    } catch (error) {
      // If the database does not answer either, the leases end by themselves.
      await store.release(target, unfinished).catch(() => {})
      throw error
    }
  }
}

/** True if another try would fail too: the wallet has more than can be summed. */
function isLasting(reason: unknown): boolean {
  return reason instanceof CodedError && reason.code === 'INVALID_PARAMETER'
}

/** Waits until the chain has a block after the midnight. */
async function waitForBlock<Figures>(
  { midnights, clock }: Pick<DailyParts<Figures>, 'midnights' | 'clock'>,
  { place: target, day }: { readonly place: SnapshotTarget<Figures>; readonly day: number },
  work: Work,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await midnights.findBlock(target.client, day, work)
      return
    } catch (error) {
      if (!(error instanceof NoBlockError) || tries === TRIES_MAX) throw error
      await clock.sleep(1_000, work.signal)
    }
  }
}
