import { untilAborted } from './async/abort.ts'
import type { Clock } from './clock.ts'
import { AbortedError } from './error.ts'

/** A value and how long it may be reused, in milliseconds from now; 0 or less: not at all. */
export interface Cacheable<T> {
  readonly value: T
  readonly lifeMs: number
}

/** How a value is read, and who may share the read. */
interface CacheRead<T> {
  readonly key: string
  /** Runs once for all who ask meanwhile. `signal` fires when the last of them has left. */
  readonly read: (signal: AbortSignal) => Promise<Cacheable<T>>
  /** A read that started longer ago is not joined; a new one starts. @default {Infinity} */
  readonly joinMs?: number
}

/** Values by key, bounded in number and bytes; the least recently used go first. */
export interface Cache<T> {
  /**
   * The value of `key`: kept, or being read already, or read now. Errors are handed to all who waited and are not kept.
   * Throws `AbortedError` as soon as `signal` fires; the read goes on for the others.
   */
  get(request: CacheRead<T>, signal: AbortSignal): Promise<T>
  /** Entries kept at the moment, expired ones included. */
  readonly size: number
}

interface Entry<T> {
  readonly value: T
  readonly untilMs: number
  readonly bytes: number
}

interface Flight<T> {
  readonly promise: Promise<T>
  readonly startedMs: number
  readonly controller: AbortController
  waiting: number
  isOver: boolean
}

/** Makes a cache of at most `entriesMax` values and, if `bytesOf` gives their sizes, `bytesMax` bytes. */
export function createCache<T>(options: {
  readonly clock: Clock
  readonly entriesMax: number
  readonly bytesMax?: number
  readonly bytesOf?: (value: T) => number
}): Cache<T> {
  const { clock, entriesMax, bytesMax = Number.POSITIVE_INFINITY, bytesOf = () => 0 } = options
  const entries = new Map<string, Entry<T>>()
  const flights = new Map<string, Flight<T>>()
  let bytesKept = 0

  function drop(key: string): void {
    bytesKept -= entries.get(key)?.bytes ?? 0
    entries.delete(key)
  }

  function keep(key: string, { value, lifeMs }: Cacheable<T>): void {
    drop(key)
    const bytes = bytesOf(value)
    if (!(lifeMs > 0) || bytes > bytesMax) return
    entries.set(key, { value, untilMs: clock.monotonicMs() + lifeMs, bytes })
    bytesKept += bytes
    for (const oldest of entries.keys()) {
      if (entries.size <= entriesMax && bytesKept <= bytesMax) break
      drop(oldest)
    }
  }

  function find(key: string): Entry<T> | undefined {
    const entry = entries.get(key)
    if (entry === undefined) return undefined
    if (entry.untilMs <= clock.monotonicMs()) {
      drop(key)
      return undefined
    }
    // Most recently used is last in the map.
    entries.delete(key)
    entries.set(key, entry)
    return entry
  }

  function launch({ key, read }: CacheRead<T>): Flight<T> {
    const controller = new AbortController()
    const flight: Flight<T> = { promise: fly(), startedMs: clock.monotonicMs(), controller, waiting: 0, isOver: false }
    flights.set(key, flight)
    // If every caller left before it fails, this keeps the rejection from being unhandled.
    flight.promise.catch(() => {})
    return flight

    async function fly(): Promise<T> {
      try {
        // `read` runs a microtask later, when `flight` is in the map.
        await Promise.resolve()
        const outcome = await read(controller.signal)
        // A newer read of the same key wins.
        if (flights.get(key) === flight) keep(key, outcome)
        return outcome.value
      } finally {
        flight.isOver = true
        if (flights.get(key) === flight) flights.delete(key)
      }
    }
  }

  async function join(key: string, flight: Flight<T>, signal: AbortSignal): Promise<T> {
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
    async get(request, signal) {
      if (signal.aborted) throw new AbortedError('The caller left')
      const { key, joinMs = Number.POSITIVE_INFINITY } = request
      const entry = find(key)
      if (entry !== undefined) return entry.value
      const flight = flights.get(key)
      const joined = flight !== undefined && clock.monotonicMs() - flight.startedMs < joinMs ? flight : launch(request)
      return await join(key, joined, signal)
    },
    get size() {
      return entries.size
    },
  }
}
