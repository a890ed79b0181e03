import type { Address } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import { NoBlockError } from '../../../../chain/past/block_at.ts'
import { DepthError } from '../../../../chain/rpc/client.ts'
import { DAY_SEC, type Midnights } from '../../../../history/midnight.ts'
import type { SnapshotStore, StoredSnapshot } from '../../../../history/rows/lending_snapshot.ts'
import { timeLimit, untilAborted } from '../../../../lib/async/abort.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import type { Place } from '../read.ts'
import { findFirstDay, type Movement } from './first.ts'
import type { HasMoved } from './moved.ts'
import { marketOf, type SnapshotTaker } from './take.ts'

/** How long a caller waits for what is not stored yet, within the time of a request. */
const WAIT_MS = 4_000
/** Reading goes on for so long after somebody last asked, so that the next try finds it done. */
const INTEREST_MS = 60_000
const RETRY_AFTER_SEC_MAX = 60
/** 2022-01-01: no market of Aave V3 is older. */
const FIRST_DAY_MIN = 18_993
/** Snapshots of one wallet in one market: a hundred years. */
export const SNAPSHOTS_MAX = 36_525

/** A wallet's snapshots in a market, oldest first. */
interface Series {
  readonly snapshots: readonly StoredSnapshot[]
  /** Block of the newest one. */
  readonly newest: PinnedBlock | undefined
  /** First day with a snapshot, if the endpoints do not reach back to the wallet's first movement. */
  readonly cutAt: number | undefined
}

/** Whose snapshots, in the only market of the place. */
interface SeriesRequest {
  readonly place: Place
  readonly wallet: Address
  /** At most so many, the newest. */
  readonly max?: number | undefined
}

/** Completes series of snapshots when they are asked for. */
export interface SnapshotSeries {
  /**
   * All snapshots up to the last midnight that has passed. What is missing is read first; if that takes too long, throws
   * `UnavailableError` that says how far it is, and reading goes on for a while. Nothing for a wallet that never had a
   * token movement in the market.
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
  const today = () => Math.floor(clock.now() / 1_000 / DAY_SEC)

  async function movementAt({ place, wallet }: SeriesRequest, day: number, signal: AbortSignal): Promise<Movement> {
    try {
      const block = await midnights.of(place.client, day, signal)
      return (await hasMoved({ ...place, block, priority: 'background' }, wallet)) ? 'before' : 'not_yet'
    } catch (error) {
      if (error instanceof DepthError) return 'unknown'
      if (!(error instanceof NoBlockError)) throw error
      // Either the chain began later, or it has made no block since that midnight.
      return Number(error.nearest.timestampSec) > day * DAY_SEC ? 'not_yet' : 'before'
    }
  }

  /** The first midnight that has a snapshot; undefined if the wallet never moved a token. */
  async function firstDayOf(request: SeriesRequest, signal: AbortSignal) {
    const { place, wallet } = request
    const market = marketOf(place)
    const known = await store.series(market, wallet)
    if (known?.firstDay !== undefined) return { day: known.firstDay, isCut: false }
    if (known === undefined && !(await hasMoved(place, wallet))) return undefined
    // Noted at once: without past state each midnight that passes unnoticed is lost.
    if (known === undefined) await store.follow(market, wallet, undefined)
    const search = { from: FIRST_DAY_MIN, to: today() + 1 }
    const first = await findFirstDay(search, (day) => movementAt(request, day, signal))
    if (!first.isCut) await store.follow(market, wallet, first.day)
    return first
  }

  async function complete(request: SeriesRequest, days: Flight['days'], signal: AbortSignal) {
    const first = await firstDayOf(request, signal)
    if (first === undefined) return { isCut: false }
    const { place, wallet } = request
    const last = today()
    const stored = new Set((await store.list(marketOf(place), wallet, SNAPSHOTS_MAX)).map(({ day }) => day))
    const missing: number[] = []
    // The newest first: they are what endpoints keep.
    for (let day = last; day >= first.day; day--) if (!stored.has(day)) missing.push(day)
    if (missing.length === 0) return { isCut: first.isCut }
    await midnights.load(place.client, { from: missing.at(-1) ?? last, to: last })
    days.wanted = missing.length
    const ends = await Promise.allSettled(
      missing.map(async (day) => {
        await taker.take({ place, day, wallet }, signal)
        days.taken++
      }),
    )
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    // A midnight without a later block is not over yet.
    const isLost = (error: unknown) => error instanceof DepthError || error instanceof NoBlockError
    const fault = failures.find((error) => !isLost(error))
    if (fault !== undefined) throw fault
    return { isCut: first.isCut || failures.some((error) => error instanceof DepthError) }
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
      const { place, wallet, max = SNAPSHOTS_MAX } = request
      const market = marketOf(place)
      const key = `${market.chainId}:${market.provider}:${wallet}`
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
      const newest = last === undefined ? undefined : await midnights.of(place.client, last.day, signal)
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
