import type { Clock } from '../clock.ts'
import { AbortedError } from '../error.ts'
import { createLru } from '../lru.ts'
import { untilAborted } from './abort.ts'
import { getRequesters, withRequesters } from './requesters.ts'

/** A value and how long it may be reused, in milliseconds from now; 0 or less: not at all. */
export interface Cacheable<T> {
  readonly value: T
  readonly lifeMs: number
}

/** How a value is read, and who may share the read. */
interface CacheRead<T> {
  readonly key: string
  /** Runs once for all who ask meanwhile, on behalf of all of them. `signal` fires when the last of them has left. */
  readonly read: (signal: AbortSignal) => Promise<Cacheable<T>>
  /** A read that started longer ago is not joined; a new one starts. @default {Infinity} */
  readonly joinMs?: number
  /**
   * True to start the read in the next turn of the event loop, so that all who ask before share it, whatever `joinMs`:
   * it is no older than their own would be. @default {false}
   */
  readonly nextTurn?: boolean
}

/** Values by key, bounded in number and bytes; the least recently used go first. */
export type Cache<T> = ReturnType<typeof createCache<T>>

interface CacheEntry<T> {
  readonly value: T
  readonly untilMs: number
}

interface InFlightRead<T> {
  readonly promise: Promise<T>
  /** Infinity before it started. */
  startedMs: number
  readonly controller: AbortController
  /** All who ever waited. */
  readonly askers: Set<string>
  waiting: number
  isOver: boolean
}

/** Makes a cache of at most `entriesMax` values and, if `bytesOf` gives their sizes, `bytesMax` bytes. */
export function createCache<T>(options: {
  readonly clock: Clock
  readonly entriesMax: number
  readonly bytesMax?: number
  readonly bytesOf?: (value: T) => number
}) {
  const { clock, entriesMax, bytesMax = Number.POSITIVE_INFINITY, bytesOf = () => 0 } = options
  const entries = createLru<CacheEntry<T>>({ entriesMax, weightMax: bytesMax, weightOf: ({ value }) => bytesOf(value) })
  const flights = new Map<string, InFlightRead<T>>()

  function keep(key: string, { value, lifeMs }: Cacheable<T>): void {
    if (lifeMs > 0) entries.set(key, { value, untilMs: clock.monotonicMs() + lifeMs })
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
    const askers = new Set<string>()
    const startedMs = nextTurn ? Number.POSITIVE_INFINITY : clock.monotonicMs()
    const flight: InFlightRead<T> = { promise: fly(), startedMs, controller, askers, waiting: 0, isOver: false }
    flights.set(key, flight)
    // If every caller left before it fails, this keeps the rejection from being unhandled.
    flight.promise.catch(() => {})
    return flight

    async function fly(): Promise<T> {
      try {
        // `read` runs a microtask later, when `flight` is in the map.
        await (nextTurn ? new Promise<void>((resolve) => setImmediate(resolve)) : Promise.resolve())
        if (nextTurn) flight.startedMs = clock.monotonicMs()
        const outcome = await read(withRequesters(askers, controller.signal))
        // A newer read of the same key wins.
        if (flights.get(key) === flight) keep(key, outcome)
        return outcome.value
      } finally {
        flight.isOver = true
        if (flights.get(key) === flight) flights.delete(key)
      }
    }
  }

  async function join(key: string, flight: InFlightRead<T>, signal: AbortSignal): Promise<T> {
    for (const asker of getRequesters(signal)) flight.askers.add(asker)
    flight.waiting++
    try {
      return await untilAborted(flight.promise, signal)
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
     * The value of `key`: kept, or being read already, or read now. Errors are handed to all who waited and are not kept.
     * Throws `AbortedError` as soon as `signal` fires; the read goes on for the others.
     */
    async get(request: CacheRead<T>, signal: AbortSignal): Promise<T> {
      if (signal.aborted) throw new AbortedError('The caller left')
      const { key, joinMs = Number.POSITIVE_INFINITY } = request
      const entry = find(key)
      if (entry !== undefined) return entry.value
      const flight = flights.get(key)
      const joined = flight !== undefined && clock.monotonicMs() - flight.startedMs < joinMs ? flight : launch(request)
      return await join(key, joined, signal)
    },
    /** Entries kept at the moment, expired ones included. */
    get size(): number {
      return entries.size
    },
  }
}
