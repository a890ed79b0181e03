import type { Address } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { NoBlockError } from '../../chain/past/block_at.ts'
import { DisputeError } from '../../chain/past/quorum.ts'
import { StatePrunedError } from '../../chain/rpc/client.ts'
import { DAY_SEC, type Midnights } from '../../history/midnight.ts'
import type { Recheck } from '../../history/recheck.ts'
import { timeoutSignal, untilAborted } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../lib/error.ts'
import type { SnapshotTaker } from './snapshot_taker.ts'
import type { SnapshotStore, StoredSnapshot } from './store.ts'
import type { SnapshotTarget } from './target.ts'

/** How long a caller waits for what is not stored yet, within the time of a request. */
const WAIT_MS = 4_000
/** Reading goes on for so long after somebody last asked, so that the next try finds it done. */
const INTEREST_MS = 60_000
const RETRY_AFTER_SEC_MAX = 60
/** Snapshots of one wallet in one place: a hundred years. */
export const SNAPSHOTS_MAX = 36_525

/** Snapshots that one request reads again because one endpoint alone gave them. */
const RECHECKED_MAX = 30

/** A wallet's snapshots in a place, oldest first. */
interface Series<Figures> {
  readonly snapshots: readonly StoredSnapshot<Figures>[]
  /** Block of the newest one. */
  readonly newest: PinnedBlock | undefined
  /** First day with a snapshot, if the endpoints do not reach back to the first that was wanted. */
  readonly cutAt: number | undefined
  /** The day that the last midnight began. */
  readonly today: number
}

/** Whose snapshots. */
export interface SeriesRequest<Place> {
  readonly place: Place
  readonly wallet: Address
  /** Only so many midnights are read, the newest; absent: all from the first day on. */
  readonly span?: number
  /** At most so many, the newest. */
  readonly max?: number | undefined
}

/** Where a series begins, and whether it would begin earlier if the endpoints reached back. */
export interface SeriesStart {
  readonly day: number
  readonly isCut: boolean
}

/** Completes series of snapshots when they are asked for. */
export type SnapshotSeries<Figures, Place extends SnapshotTarget<Figures>> = ReturnType<
  typeof createSnapshotSeries<Figures, Place>
>

/** A completion under way, and how far it is. */
interface Flight {
  readonly done: Promise<{ readonly isCut: boolean }>
  /** Ends it if nobody asks any more. */
  readonly interest: ReturnType<typeof setTimeout>
  readonly startedMs: number
  readonly days: { wanted: number; taken: number }
}

/** Makes it over the stored midnights and snapshots, and those who read. */
export function createSnapshotSeries<Figures, Place extends SnapshotTarget<Figures>>(parts: {
  /** The first midnight that has a snapshot; undefined if there is none. Sees to it that the wallet is followed. */
  readonly beginningOf: (request: SeriesRequest<Place>, signal: AbortSignal) => Promise<SeriesStart | undefined>
  readonly midnights: Midnights
  readonly store: SnapshotStore<Figures>
  readonly taker: SnapshotTaker<Figures>
  readonly recheck: Recheck
  readonly clock: Clock
}) {
  const { beginningOf, midnights, store, taker, recheck, clock } = parts
  const flights = new Map<string, Flight>()
  const today = () => Math.floor(clock.now() / 1_000 / DAY_SEC)

  async function complete(request: SeriesRequest<Place>, days: Flight['days'], signal: AbortSignal) {
    const first = await beginningOf(request, signal)
    if (first === undefined) return { isCut: false }
    const { place, wallet, span = SNAPSHOTS_MAX } = request
    const last = today()
    const stored = new Map((await store.list(place, wallet, SNAPSHOTS_MAX)).map((each) => [each.day, each]))
    const wanted: number[] = []
    let rechecked = 0
    // The newest first: they are what endpoints keep.
    for (let day = last; day >= first.day && last - day < span; day--) {
      const known = stored.get(day)
      const isDoubtful = known !== undefined && recheck.isDue(place.client, known.witnesses)
      if (known === undefined || (isDoubtful && rechecked++ < RECHECKED_MAX)) wanted.push(day)
    }
    if (wanted.length === 0) return { isCut: first.isCut }
    days.wanted = wanted.length
    const take = async (day: number) => {
      recheck.answered(place.client, await taker.take({ place, day, wallet }, signal))
      days.taken++
    }
    const asked: number[] = []
    const groups: Promise<PromiseSettledResult<void>[]>[] = []
    for await (const group of midnights.inGroups(place.client, wanted, signal)) {
      asked.push(...group)
      groups.push(Promise.allSettled(group.map(take)))
    }
    const ends = (await Promise.all(groups)).flat()
    const failures = ends.flatMap((end, index) =>
      end.status === 'rejected' ? [{ error: end.reason as unknown, isStored: stored.has(asked[index] ?? last) }] : [],
    )
    if (rechecked > 0) await tellReplaced(request, stored, wanted)
    const fault = failures.find(({ error, isStored }) => isFault(error, isStored))
    if (fault !== undefined) throw fault.error
    const isCut = failures.some(({ error, isStored }) => !isStored && error instanceof StatePrunedError)
    return { isCut: first.isCut || isCut }
  }

  /** What could not be read again stays as it is, unless endpoints contradict each other about it. */
  function isFault(error: unknown, isStored: boolean): boolean {
    if (isStored && error instanceof UnavailableError) return error instanceof DisputeError
    // A midnight without a later block is not over yet.
    return !(error instanceof StatePrunedError || error instanceof NoBlockError)
  }

  async function tellReplaced(
    { place, wallet }: SeriesRequest<Place>,
    stored: ReadonlyMap<number, StoredSnapshot<Figures>>,
    days: readonly number[],
  ): Promise<void> {
    const { chain, log } = place.client
    const now = new Map((await store.list(place, wallet, SNAPSHOTS_MAX)).map((each) => [each.day, each]))
    for (const day of days) {
      const before = stored.get(day)
      if (before === undefined) continue
      if (JSON.stringify(before.figures) === JSON.stringify(now.get(day)?.figures)) continue
      log.warn({ msg: 'Replaced a snapshot that one RPC endpoint had given', chainId: chain.id, wallet, day })
    }
  }

  function depart(key: string, request: SeriesRequest<Place>): Flight {
    const controller = new AbortController()
    const interest = setTimeout(() => controller.abort(), INTEREST_MS)
    interest.unref()
    const days = { wanted: 0, taken: 0 }
    const done = complete(request, days, controller.signal).finally(() => {
      clearTimeout(interest)
      flights.delete(key)
    })
    // Whoever waits hears of a failure; nobody has to wait.
    done.catch(() => {})
    const flight: Flight = { done, interest, startedMs: clock.monotonicMs(), days }
    flights.set(key, flight)
    return flight
  }

  return {
    /**
     * All snapshots up to the last midnight that has passed. What is missing is read first; if that takes too long,
     * throws `UnavailableError` that says how far it is, and reading goes on for a while. Nothing for a wallet whose
     * series does not begin. Some of those that one endpoint alone gave are read again if another one may serve: throws
     * `DisputeError` if they contradict each other.
     */
    async of(request: SeriesRequest<Place>, signal: AbortSignal): Promise<Series<Figures>> {
      const { place, wallet, span = '', max = SNAPSHOTS_MAX } = request
      const key = `${place.chainId}:${place.name}:${wallet}:${span}`
      const flight = flights.get(key) ?? depart(key, request)
      flight.interest.refresh()
      const limit = timeoutSignal(WAIT_MS)
      const isCut = await untilAborted(flight.done, AbortSignal.any([signal, limit])).then(
        (end) => end.isCut,
        (error: unknown) => {
          if (limit.aborted && !signal.aborted) throw tooEarly(flight, { wallet, nowMs: clock.monotonicMs() })
          throw error
        },
      )
      const snapshots = await store.list(place, wallet, max)
      const [first] = isCut ? await store.list(place, wallet, SNAPSHOTS_MAX) : []
      const last = snapshots.at(-1)
      const newest = last === undefined ? undefined : await midnights.of(place.client, last.day, signal)
      return { snapshots, newest, cutAt: isCut ? (first?.day ?? today() + 1) : undefined, today: today() }
    },
  }
}

/** What a caller hears who asked before everything was read. */
function tooEarly(
  { startedMs, days: { wanted, taken } }: Flight,
  { wallet, nowMs }: { readonly wallet: Address; readonly nowMs: number },
): PendingError {
  const percent = wanted === 0 ? 0 : Math.floor((100 * taken) / wanted)
  const leftSec = taken === 0 ? WAIT_MS / 1_000 : ((nowMs - startedMs) * (wanted - taken)) / taken / 1_000
  const done = wanted === 0 ? 'its first day is being found' : `${taken} of ${wanted} days are read (${percent} %)`
  return new PendingError(`Cannot answer the snapshots of wallet ${wallet} yet: ${done}, ask again`, {
    retryAfterSec: Math.min(RETRY_AFTER_SEC_MAX, Math.max(1, Math.ceil(leftSec))),
    progress: { percent, ...(wanted === 0 ? {} : { left: { count: wanted - taken, unit: 'days' } }) },
  })
}
