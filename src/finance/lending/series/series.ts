import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { NoBlockError } from '../../../chain/past/block_at.ts'
import { DisputeError } from '../../../chain/past/quorum.ts'
import { DepthError } from '../../../chain/rpc/client.ts'
import { DAY_SEC, type Midnights } from '../../../history/midnight.ts'
import { createRecheck } from '../../../history/recheck.ts'
import { timeLimit, untilAborted } from '../../../lib/async/abort.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { findFirstDay, type Movement } from './first_day.ts'
import type { SnapshotMarket } from './market.ts'
import type { HasMoved } from './moved.ts'
import type { FirstDay, SnapshotStore, StoredSnapshot } from './store.ts'
import type { SnapshotTaker } from './take.ts'

/** How long a caller waits for what is not stored yet, within the time of a request. */
const WAIT_MS = 4_000
/** Reading goes on for so long after somebody last asked, so that the next try finds it done. */
const INTEREST_MS = 60_000
const RETRY_AFTER_SEC_MAX = 60
/** Snapshots of one wallet in one market: a hundred years. */
export const SNAPSHOTS_MAX = 36_525

/** Snapshots that one request reads again because one endpoint alone gave them. */
const RECHECKED_MAX = 30

/** A wallet's snapshots in a market, oldest first. */
interface Series {
  readonly snapshots: readonly StoredSnapshot[]
  /** Block of the newest one. */
  readonly newest: PinnedBlock | undefined
  /** First day with a snapshot, if the endpoints do not reach back to the wallet's first movement. */
  readonly cutAt: number | undefined
}

/** Whose snapshots. */
interface SeriesRequest {
  readonly market: SnapshotMarket
  readonly wallet: Address
  /** At most so many, the newest. */
  readonly max?: number | undefined
}

/** Completes series of snapshots when they are asked for. */
export interface SnapshotSeries {
  /**
   * All snapshots up to the last midnight that has passed. What is missing is read first; if that takes too long, throws
   * `UnavailableError` that says how far it is, and reading goes on for a while. Nothing for a wallet that never had a
   * token movement in the market. Some of those that one endpoint alone gave are read again if another one may serve:
   * throws `DisputeError` if they contradict each other.
   */
  of(request: SeriesRequest, signal: AbortSignal): Promise<Series>
}

/** A completion under way, and how far it is. */
interface Flight {
  readonly done: Promise<{ readonly isCut: boolean }>
  /** Ends it if nobody asks any more. */
  readonly interest: ReturnType<typeof setTimeout>
  readonly startedMs: number
  readonly days: { wanted: number; taken: number }
}

/** Makes it over the stored midnights and snapshots, and those who read. */
export function createSnapshotSeries(parts: {
  readonly hasMoved: HasMoved
  readonly midnights: Midnights
  readonly store: SnapshotStore
  readonly taker: SnapshotTaker
  readonly clock: Clock
}): SnapshotSeries {
  const { hasMoved, midnights, store, taker, clock } = parts
  const flights = new Map<string, Flight>()
  const recheck = createRecheck(clock)
  const today = () => Math.floor(clock.now() / 1_000 / DAY_SEC)

  async function movementAt(
    { market, wallet }: SeriesRequest,
    { day, heard }: { readonly day: number; readonly heard: (witnesses: number) => void },
    signal: AbortSignal,
  ): Promise<Movement> {
    try {
      const block = await midnights.of(market.client, day, signal)
      const { hasMoved: is, witnesses } = await hasMoved(market, { wallet, block })
      heard(Math.min(witnesses, block.witnesses))
      return is ? 'before' : 'not_yet'
    } catch (error) {
      if (error instanceof DepthError) return 'unknown'
      if (!(error instanceof NoBlockError)) throw error
      // Either the chain began later, or it has made no block since that midnight.
      return Number(error.nearest.timestampSec) > day * DAY_SEC ? 'not_yet' : 'before'
    }
  }

  /** The first midnight that has a snapshot; undefined if the wallet never moved a token. */
  async function firstDayOf(request: SeriesRequest, signal: AbortSignal) {
    const { market, wallet } = request
    const series = await store.series(market, wallet)
    const known = series?.first
    if (known !== undefined && !recheck.isDue(market.client, known.witnesses)) return { day: known.day, isCut: false }
    if (series === undefined && !(await hasMoved(market, { wallet })).hasMoved) return undefined
    // Noted at once: without past state each midnight that passes unnoticed is lost.
    if (series === undefined) await store.follow(market, wallet, undefined)
    try {
      const { first, witnesses } = await findFirst(request, signal)
      // Another one cannot have been found before: no endpoint reaches back.
      if (known !== undefined && first.isCut) return { day: known.day, isCut: false }
      if (!first.isCut) await noteFirst(request, { known, found: { day: first.day, witnesses } })
      return first
    } catch (error) {
      if (known === undefined || !(error instanceof UnavailableError) || error instanceof DisputeError) throw error
      recheck.answered(market.client, 0)
      return { day: known.day, isCut: false }
    }
  }

  async function findFirst(request: SeriesRequest, signal: AbortSignal) {
    let witnesses = Number.POSITIVE_INFINITY
    const heard = (said: number) => {
      witnesses = Math.min(witnesses, said)
    }
    const search = { from: request.market.firstDayMin, to: today() + 1 }
    const first = await findFirstDay(search, (day) => movementAt(request, { day, heard }, signal))
    // Without an answer that counts nobody gave it.
    const counted = Number.isFinite(witnesses) ? witnesses : 1
    recheck.answered(request.market.client, counted)
    return { first, witnesses: counted }
  }

  async function noteFirst(
    { market, wallet }: SeriesRequest,
    { known, found }: { readonly known: FirstDay | undefined; readonly found: FirstDay },
  ): Promise<void> {
    const { chain, log } = market.client
    if (known !== undefined && known.day !== found.day) {
      if (found.witnesses <= known.witnesses) {
        throw new DisputeError(
          `Cannot believe the first day of wallet ${wallet} on chain ${chain.id} (${chain.name}): one endpoint gave ` +
            'another one before (second witness)',
        )
      }
      log.warn({ msg: 'Replaced a first day that one RPC endpoint had given', chainId: chain.id, wallet })
    }
    await store.follow(market, wallet, found)
  }

  async function complete(request: SeriesRequest, days: Flight['days'], signal: AbortSignal) {
    const first = await firstDayOf(request, signal)
    if (first === undefined) return { isCut: false }
    const { market, wallet } = request
    const last = today()
    const stored = new Map((await store.list(market, wallet, SNAPSHOTS_MAX)).map((each) => [each.day, each]))
    const wanted: number[] = []
    let rechecked = 0
    // The newest first: they are what endpoints keep.
    for (let day = last; day >= first.day; day--) {
      const known = stored.get(day)
      const isDoubtful = known !== undefined && recheck.isDue(market.client, known.witnesses)
      if (known === undefined || (isDoubtful && rechecked++ < RECHECKED_MAX)) wanted.push(day)
    }
    if (wanted.length === 0) return { isCut: first.isCut }
    await midnights.load(market.client, { from: wanted.at(-1) ?? last, to: last })
    days.wanted = wanted.length
    const ends = await Promise.allSettled(
      wanted.map(async (day) => {
        recheck.answered(market.client, await taker.take({ market, day, wallet }, signal))
        days.taken++
      }),
    )
    const failures = ends.flatMap((end, index) =>
      end.status === 'rejected' ? [{ error: end.reason as unknown, isStored: stored.has(wanted[index] ?? last) }] : [],
    )
    if (rechecked > 0) await tellReplaced(request, { stored, days: wanted })
    const fault = failures.find(({ error, isStored }) => isFault(error, isStored))
    if (fault !== undefined) throw fault.error
    const isCut = failures.some(({ error, isStored }) => !isStored && error instanceof DepthError)
    return { isCut: first.isCut || isCut }
  }

  /** What could not be read again stays as it is, unless endpoints contradict each other about it. */
  function isFault(error: unknown, isStored: boolean): boolean {
    if (isStored && error instanceof UnavailableError) return error instanceof DisputeError
    // A midnight without a later block is not over yet.
    return !(error instanceof DepthError || error instanceof NoBlockError)
  }

  async function tellReplaced(
    { market, wallet }: SeriesRequest,
    { stored, days }: { readonly stored: ReadonlyMap<number, StoredSnapshot>; readonly days: readonly number[] },
  ): Promise<void> {
    const { chain, log } = market.client
    const now = new Map((await store.list(market, wallet, SNAPSHOTS_MAX)).map((each) => [each.day, each]))
    for (const day of days) {
      const before = stored.get(day)
      if (before === undefined) continue
      if (JSON.stringify(before.figures) === JSON.stringify(now.get(day)?.figures)) continue
      log.warn({ msg: 'Replaced a snapshot that one RPC endpoint had given', chainId: chain.id, wallet, day })
    }
  }

  function depart(key: string, request: SeriesRequest): Flight {
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
    async of(request, signal) {
      const { market, wallet, max = SNAPSHOTS_MAX } = request
      const key = `${market.chainId}:${market.contract}:${wallet}`
      const flight = flights.get(key) ?? depart(key, request)
      flight.interest.refresh()
      const limit = timeLimit(WAIT_MS)
      const isCut = await untilAborted(flight.done, AbortSignal.any([signal, limit])).then(
        (end) => end.isCut,
        (error: unknown) => {
          if (limit.aborted && !signal.aborted) throw tooEarly(flight, { wallet, nowMs: clock.monotonicMs() })
          throw error
        },
      )
      const snapshots = await store.list(market, wallet, max)
      const [first] = isCut ? await store.list(market, wallet, SNAPSHOTS_MAX) : []
      const last = snapshots.at(-1)
      const newest = last === undefined ? undefined : await midnights.of(market.client, last.day, signal)
      return { snapshots, newest, cutAt: isCut ? (first?.day ?? today() + 1) : undefined }
    },
  }
}

/** What a caller hears who asked before everything was read. */
function tooEarly(
  { startedMs, days: { wanted, taken } }: Flight,
  { wallet, nowMs }: { readonly wallet: Address; readonly nowMs: number },
): UnavailableError {
  const percent = wanted === 0 ? 0 : Math.floor((100 * taken) / wanted)
  const leftSec = taken === 0 ? WAIT_MS / 1_000 : ((nowMs - startedMs) * (wanted - taken)) / taken / 1_000
  const done = wanted === 0 ? 'its first day is being found' : `${taken} of ${wanted} days are read (${percent} %)`
  return new UnavailableError(`Cannot answer the snapshots of wallet ${wallet} yet: ${done}, ask again`, {
    retryAfterSec: Math.min(RETRY_AFTER_SEC_MAX, Math.max(1, Math.ceil(leftSec))),
  })
}
