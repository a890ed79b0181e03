import { NoBlockError } from '../../chain/past/block_at.ts'
import { DAY_SEC, type Midnights } from '../../history/midnight.ts'
import { delay } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import { type Log, logThrottled } from '../../lib/log.ts'
import type { SnapshotTaker } from './snapshot_taker.ts'
import type { SnapshotStore } from './store.ts'
import type { SnapshotTarget } from './target.ts'

/** Wallets that one process takes at a time, and for how long the others leave them alone, seconds. */
const CLAIM_MAX = 250
const LEASE_SEC = 30
/** Pause after a midnight: a few nodes are a second late. */
const AFTER_MIDNIGHT_MS = 1_000
/** Pauses until the next round: after a failure, while midnights are not final, and else at most. */
const AGAIN_MS = 5_000
const OPEN_MS = 60_000
const EVERY_MS = 3_600_000
/** Tries, a second apart, until a chain has a block after midnight. */
const TRIES_MAX = 20

/** What the job works with. */
export interface DailyParts<Figures> {
  readonly places: readonly SnapshotTarget<Figures>[]
  readonly midnights: Midnights
  readonly store: SnapshotStore<Figures>
  readonly taker: SnapshotTaker<Figures>
  readonly clock: Clock
  readonly log: Log
}

/**
 * One round: takes the last midnight for wallets that are followed and do not have it yet, then makes final what has
 * become so. Several processes share the wallets. Returns how long to wait for the next round, milliseconds. A chain is
 * asked only if somebody's snapshot is due there or a midnight waits to become final.
 */
export async function takeDailySnapshots<Figures>(parts: DailyParts<Figures>, signal: AbortSignal): Promise<number> {
  const { places, midnights, clock, log } = parts
  const day = Math.floor(clock.now() / 1_000 / DAY_SEC)
  let nextMs = Math.min(EVERY_MS, (day + 1) * DAY_SEC * 1_000 + AFTER_MIDNIGHT_MS - clock.now())
  const failed = ({ chainId }: SnapshotTarget<Figures>, error: unknown): void => {
    if (signal.aborted) return
    // A chain that makes no blocks for a while is not at fault.
    const isFault = !(error instanceof NoBlockError)
    nextMs = Math.min(nextMs, isFault ? AGAIN_MS : OPEN_MS)
    // Often all fail for one reason, the database, and do so for hours.
    const line = { msg: 'Could not take snapshots', chainId, reason: String(error) }
    if (isFault) logThrottled(log, { level: 'warn', kind: line.msg }, line)
  }
  await Promise.all(
    places.map((place) => takePlace(parts, { place, day }, signal).catch((error) => failed(place, error))),
  )
  for (const place of new Map(places.map((each) => [each.client, each])).values()) {
    try {
      if ((await midnights.settle(place.client, signal)) > 0) nextMs = Math.min(nextMs, OPEN_MS)
    } catch (error) {
      failed(place, error)
    }
  }
  return nextMs
}

async function takePlace<Figures>(
  { midnights, store, taker }: DailyParts<Figures>,
  { place, day }: { readonly place: SnapshotTarget<Figures>; readonly day: number },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const wallets = await store.claim(place, { day, leaseSec: LEASE_SEC, max: CLAIM_MAX })
    if (wallets.length === 0) return
    await untilOver(midnights, { place, day }, signal)
    const ends = await Promise.allSettled(wallets.map((wallet) => taker.take({ place, day, wallet }, signal)))
    const failures = ends.map((end) => (end.status === 'rejected' && !isLasting(end.reason) ? end : undefined))
    const over = wallets.filter((_, index) => failures[index] === undefined)
    if (over.length > 0) await store.done(place, day, over)
    const failure = failures.find((each) => each !== undefined)
    if (failure !== undefined) throw failure.reason
  }
}

/** True if another try would end so too: the wallet has more than can be summed. */
function isLasting(reason: unknown): boolean {
  return reason instanceof CodedError && reason.code === 'INVALID_PARAMETER'
}

/** Waits until the chain has a block after the midnight. */
async function untilOver<Figures>(
  midnights: Midnights,
  { place, day }: { readonly place: SnapshotTarget<Figures>; readonly day: number },
  signal: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await midnights.of(place.client, day, signal)
      return
    } catch (error) {
      if (!(error instanceof NoBlockError) || tries === TRIES_MAX) throw error
      await delay(1_000, signal)
    }
  }
}
