import type { Address } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { NoBlockError } from '../../chain/past/block_at.ts'
import { QUORUM } from '../../chain/past/quorum.ts'
import { isUnavailable } from '../../chain/rpc/client.ts'
import { DAY_SEC, type Midnights } from '../../history/midnight.ts'
import type { Recheck } from '../../history/recheck.ts'
import { untilAborted } from '../../lib/async/abort.ts'
import { createWork, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../lib/error.ts'
import type { SnapshotTaker } from './snapshot_taker.ts'
import type { SnapshotStore, SnapshotTarget, StoredSnapshot } from './store.ts'

/** How long a caller waits for missing snapshots, within the time of a request. */
const WAIT_MS = 4_000
/** Keep reading this long after the last request, so the retry finds it done. */
const INTEREST_MS = 60_000
const RETRY_AFTER_SEC_MAX = 60
/** Most snapshots of one wallet in one target: a hundred years. */
export const SNAPSHOTS_MAX = 36_525

/** Most snapshots from a single endpoint that one request re-checks. */
const RECHECKED_MAX = 30

/** A wallet's snapshots in a target, oldest first. */
interface Series<Figures> {
  readonly snapshots: readonly StoredSnapshot<Figures>[]
  /** Block of the newest snapshot. */
  readonly newest: PinnedBlock | undefined
  /** True if one endpoint alone gave some of them. */
  readonly isUnwitnessed: boolean
  /** First day with a snapshot, if the endpoints do not reach back to the first requested day. */
  readonly cutAt: number | undefined
  /** The day that starts at the last midnight. */
  readonly today: number
}

/** A request for a wallet's snapshots. */
export interface SeriesRequest<Target> {
  readonly target: Target
  readonly wallet: Address
  /** Number of newest midnights to read; absent: all since the first day. */
  readonly span?: number
  /** Midnights to read, days since the epoch, of those; absent: all. */
  readonly days?: readonly number[]
  /** Most snapshots to return, the newest. */
  readonly max?: number | undefined
}

/** First day of a series; `isCut` if it would start earlier were older state available. */
export interface SeriesStart {
  readonly day: number
  readonly isCut: boolean
}

/** Completes series of snapshots on demand. */
export type SnapshotSeries<Figures, Target extends SnapshotTarget<Figures>> = ReturnType<
  typeof createSnapshotSeries<Figures, Target>
>

/** A running completion and its progress. */
interface Flight {
  readonly done: Promise<{ readonly isCut: boolean }>
  /** Postpones the moment when the completion is aborted because requests for it have stopped. */
  renewInterest(): void
  readonly startedMs: number
  readonly days: { total: number; taken: number }
}

/** Creates the series over the stored midnights and snapshots, and the readers of missing ones. */
export function createSnapshotSeries<Figures, Target extends SnapshotTarget<Figures>>(parts: {
  /** Finds the first midnight with a snapshot and follows the wallet; undefined if there is none. */
  readonly findSeriesStart: (request: SeriesRequest<Target>, work: Work) => Promise<SeriesStart | undefined>
  readonly midnights: Midnights
  readonly store: SnapshotStore<Figures>
  readonly taker: SnapshotTaker<Figures>
  readonly recheck: Recheck
  readonly clock: Clock
}) {
  const { findSeriesStart, midnights, store, taker, recheck, clock } = parts
  const flights = new Map<string, Flight>()
  const today = () => Math.floor(clock.now() / 1_000 / DAY_SEC)

  async function complete(request: SeriesRequest<Target>, days: Flight['days'], work: Work) {
    const first = await findSeriesStart(request, work)
    if (first === undefined) return { isCut: false }
    const { target, wallet, span = SNAPSHOTS_MAX, days: chosen } = request
    const last = today()
    const stored = new Map((await store.list(target, wallet, SNAPSHOTS_MAX)).map((each) => [each.day, each]))
    const daysToTake: number[] = []
    let rechecked = 0
    // Newest first: endpoints keep those longest.
    for (let day = last; day >= first.day && last - day < span; day--) {
      if (chosen !== undefined && !chosen.includes(day)) continue
      const storedSnapshot = stored.get(day)
      const isDoubtful = storedSnapshot !== undefined && recheck.isDue(target.client, storedSnapshot.witnesses)
      if (storedSnapshot === undefined || (isDoubtful && rechecked++ < RECHECKED_MAX)) daysToTake.push(day)
    }
    if (daysToTake.length === 0) return { isCut: first.isCut }
    days.total = daysToTake.length
    const take = async (day: number) => {
      recheck.recordAnswer(target.client, await taker.take({ target, day, wallet }, work.signal))
      days.taken++
    }
    const startedDays: number[] = []
    const groups: Promise<PromiseSettledResult<void>[]>[] = []
    for await (const group of midnights.readGroups(target.client, daysToTake, work)) {
      startedDays.push(...group)
      groups.push(Promise.allSettled(group.map(take)))
    }
    const results = (await Promise.all(groups)).flat()
    const failures = results.flatMap((result, index) =>
      result.status === 'rejected'
        ? [{ error: result.reason as unknown, isStored: stored.has(startedDays[index] ?? last) }]
        : [],
    )
    if (rechecked > 0) await logReplaced(request, stored, daysToTake)
    const fault = failures.find(({ error, isStored }) => isFault(error, isStored))
    if (fault !== undefined) throw fault.error
    const isCut = failures.some(({ error, isStored }) => !isStored && isUnavailable(error, 'pruned'))
    return { isCut: first.isCut || isCut }
  }

  /** A failed re-check leaves the stored snapshot as it is, unless endpoints contradict each other. */
  function isFault(error: unknown, isStored: boolean): boolean {
    if (isStored && error instanceof UnavailableError) return isUnavailable(error, 'disputed')
    // A midnight without a later block has not passed yet.
    return !(isUnavailable(error, 'pruned') || error instanceof NoBlockError)
  }

  async function logReplaced(
    { target, wallet }: SeriesRequest<Target>,
    stored: ReadonlyMap<number, StoredSnapshot<Figures>>,
    days: readonly number[],
  ): Promise<void> {
    const { chain, log } = target.client
    const now = new Map((await store.list(target, wallet, SNAPSHOTS_MAX)).map((each) => [each.day, each]))
    for (const day of days) {
      const before = stored.get(day)
      if (before === undefined) continue
      if (JSON.stringify(before.figures) === JSON.stringify(now.get(day)?.figures)) continue
      log.warn({ msg: 'Corrected a snapshot that came from a single RPC endpoint', chainId: chain.id, wallet, day })
    }
  }

  function startFlight(key: string, request: SeriesRequest<Target>): Flight {
    const controller = new AbortController()
    const startInterest = () => clock.after(INTEREST_MS, () => controller.abort(), { keepsAlive: false })
    let endInterest = startInterest()
    const days = { total: 0, taken: 0 }
    const done = complete(request, days, createWork(controller.signal)).finally(() => {
      endInterest()
      flights.delete(key)
    })
    // Waiting callers get the failure; without one it must not be an unhandled rejection.
    done.catch(() => {})
    const flight: Flight = {
      done,
      renewInterest() {
        endInterest()
        endInterest = startInterest()
      },
      startedMs: clock.monotonicMs(),
      days,
    }
    flights.set(key, flight)
    return flight
  }

  return {
    /**
     * Reads all snapshots up to the last midnight that has passed; none if the series has no start. Missing ones are
     * read first; if that takes too long, throws `UnavailableError` with the progress and keeps reading for a while.
     * Re-checks some snapshots from a single endpoint if another endpoint may serve them: throws
     * `ChainUnavailableError` (disputed) if they contradict each other.
     */
    async read(request: SeriesRequest<Target>, work: Work): Promise<Series<Figures>> {
      const { target, wallet, span = '', days = [], max = SNAPSHOTS_MAX } = request
      const key = `${target.chainId}:${target.name}:${wallet}:${span}:${days}`
      const flight = flights.get(key) ?? startFlight(key, request)
      flight.renewInterest()
      const limit = clock.timeout(WAIT_MS)
      const isCut = await untilAborted(flight.done, AbortSignal.any([work.signal, limit])).then(
        (end) => end.isCut,
        (error: unknown) => {
          if (limit.aborted && !work.signal.aborted) throw pendingError(flight, { wallet, nowMs: clock.monotonicMs() })
          throw error
        },
      )
      const snapshots = await store.list(target, wallet, max)
      const [first] = isCut ? await store.list(target, wallet, SNAPSHOTS_MAX) : []
      const last = snapshots.at(-1)
      const newest = last === undefined ? undefined : await midnights.findBlock(target.client, last.day, work)
      const isUnwitnessed = snapshots.some(({ witnesses }) => witnesses < QUORUM)
      const cutAt = isCut ? (first?.day ?? today() + 1) : undefined
      return { snapshots, newest, isUnwitnessed, cutAt, today: today() }
    },
  }
}

/** The error while snapshots are still being read, with the progress. */
function pendingError(
  { startedMs, days: { total, taken } }: Flight,
  { wallet, nowMs }: { readonly wallet: Address; readonly nowMs: number },
): PendingError {
  const percent = total === 0 ? 0 : Math.floor((100 * taken) / total)
  const leftSec = taken === 0 ? WAIT_MS / 1_000 : ((nowMs - startedMs) * (total - taken)) / taken / 1_000
  const done = total === 0 ? 'its first day is being found' : `${taken} of ${total} days are read (${percent} %)`
  return new PendingError(`Cannot answer the snapshots of wallet ${wallet} yet: ${done}, ask again`, {
    retryAfterSec: Math.min(RETRY_AFTER_SEC_MAX, Math.max(1, Math.ceil(leftSec))),
    progress: { percent, ...(total === 0 ? {} : { left: { count: total - taken, unit: 'days' } }) },
  })
}
