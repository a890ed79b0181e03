import type { Clock } from '../clock.ts'
import { AbortedError } from '../error.ts'
import { createLru } from '../lru.ts'
import { untilAborted } from './abort.ts'
import { createWork, noteUnwitnessed, type Unwitnessed, type Work } from './work.ts'

/** A value and how long it may be reused, milliseconds from now; 0 or less disables reuse. */
export interface Cacheable<T> {
  readonly value: T
  readonly lifeMs: number
}

/** How a value is read, and which callers share the read. */
interface CacheRead<T> {
  readonly key: string
  /** Runs once for all concurrent callers, with all their requesters. `work` ends when the last caller has left. */
  readonly read: (work: Work) => Promise<Cacheable<T>>
  /** A read that started longer ago is not joined; a new one starts. @default {Infinity} */
  readonly joinMs?: number
  /**
   * True to start the read in the next event-loop turn, so that all earlier callers share it whatever their `joinMs`:
   * it is no older than a read of their own. @default {false}
   */
  readonly nextTurn?: boolean
}

/** Values by key, bounded in number and bytes; the least recently used are evicted first. */
export type Cache<T> = ReturnType<typeof createCache<T>>

interface CacheEntry<T> {
  readonly value: T
  /** Chains of which the value rests on the word of one endpoint, for every later caller. */
  readonly unwitnessed?: Unwitnessed
  readonly untilMs: number
}

interface InFlightRead<T> {
  readonly promise: Promise<T>
  /** Infinity before the start. */
  startedMs: number
  readonly controller: AbortController
  /** Its requesters are those of every caller that ever waited. */
  readonly work: Work
  readonly requesters: Set<string>
  waiting: number
  isOver: boolean
}

/** Creates a cache of at most `entriesMax` values and, if `getSize` returns their sizes, `bytesMax` bytes. */
export function createCache<T>(options: {
  readonly clock: Clock
  readonly entriesMax: number
  readonly bytesMax?: number
  readonly getSize?: (value: T) => number
}) {
  const { clock, entriesMax, bytesMax = Number.POSITIVE_INFINITY, getSize = () => 0 } = options
  const entries = createLru<CacheEntry<T>>({
    entriesMax,
    weightMax: bytesMax,
    getWeight: ({ value }) => getSize(value),
    isOver: ({ untilMs }) => untilMs <= clock.monotonicMs(),
  })
  const flights = new Map<string, InFlightRead<T>>()

  function store(key: string, { value, lifeMs }: Cacheable<T>, unwitnessed: Unwitnessed): void {
    const untilMs = clock.monotonicMs() + lifeMs
    if (lifeMs > 0) entries.set(key, { value, untilMs, ...(unwitnessed.size > 0 && { unwitnessed }) })
    else entries.delete(key)
  }

  function find(key: string): CacheEntry<T> | undefined {
    const entry = entries.get(key)
    if (entry === undefined || entry.untilMs > clock.monotonicMs()) return entry
    entries.delete(key)
    return undefined
  }

  function launch({ key, read, nextTurn = false }: CacheRead<T>): InFlightRead<T> {
    const controller = new AbortController()
    const requesters = new Set<string>()
    const startedMs = nextTurn ? Number.POSITIVE_INFINITY : clock.monotonicMs()
    const work = createWork(controller.signal, { requesters })
    const flight: InFlightRead<T> = {
      promise: run(),
      startedMs,
      controller,
      work,
      requesters,
      waiting: 0,
      isOver: false,
    }
    flights.set(key, flight)
    // If every caller has left before it fails, this keeps the rejection from being unhandled.
    flight.promise.catch(() => {})
    return flight

    async function run(): Promise<T> {
      try {
        // `read` runs a microtask later, when `flight` is in the map.
        await (nextTurn ? new Promise<void>((resolve) => setImmediate(resolve)) : Promise.resolve())
        if (nextTurn) flight.startedMs = clock.monotonicMs()
        const outcome = await read(work)
        // A newer read of the same key wins.
        if (flights.get(key) === flight) store(key, outcome, work.unwitnessed)
        return outcome.value
      } finally {
        flight.isOver = true
        if (flights.get(key) === flight) flights.delete(key)
      }
    }
  }

  async function join(key: string, flight: InFlightRead<T>, work: Work): Promise<T> {
    for (const requester of work.requesters) flight.requesters.add(requester)
    flight.waiting++
    try {
      const value = await untilAborted(flight.promise, work.signal)
      noteUnwitnessed(work, flight.work.unwitnessed)
      return value
    } finally {
      flight.waiting--
      if (flight.waiting === 0 && !flight.isOver) {
        if (flights.get(key) === flight) flights.delete(key)
        flight.controller.abort()
      }
    }
  }

  return {
    /**
     * Returns the value of `key`: cached, from a running read, or from a new read. An error rejects all waiting callers
     * and is not cached. Throws `AbortedError` as soon as `work` ends; the read continues for the other callers.
     */
    async get(request: CacheRead<T>, work: Work): Promise<T> {
      if (work.signal.aborted) throw new AbortedError('The caller left')
      const { key, joinMs = Number.POSITIVE_INFINITY } = request
      const entry = find(key)
      if (entry !== undefined) {
        if (entry.unwitnessed !== undefined) noteUnwitnessed(work, entry.unwitnessed)
        return entry.value
      }
      const flight = flights.get(key)
      const joined = flight !== undefined && clock.monotonicMs() - flight.startedMs < joinMs ? flight : launch(request)
      return await join(key, joined, work)
    },
    /** Number of cached entries, expired ones included. */
    get size(): number {
      return entries.size
    },
  }
}

/**
 * Wraps a read so that calls share one, its failure too, until `ms` after its start: a page without a key may be asked
 * any number of times.
 */
export function shareReads<T>(
  read: () => Promise<T>,
  { ms, clock }: { readonly ms: number; readonly clock: Clock },
): () => Promise<T> {
  let shared: { readonly promise: Promise<T>; readonly startedMs: number } | undefined
  return () => {
    const nowMs = clock.monotonicMs()
    if (shared === undefined || nowMs - shared.startedMs > ms) shared = { promise: read(), startedMs: nowMs }
    return shared.promise
  }
}
