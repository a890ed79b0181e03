import { createRetrier } from '../../chain/rpc/rotation/retrier.ts'
import { type delay, untilAborted } from '../../lib/async/abort.ts'
import { createFairQueue } from '../../lib/async/fair_queue.ts'
import type { Clock } from '../../lib/clock.ts'
import type { LogSource } from './source.ts'

/** A quarter of the slots that an endpoint had when history was designed; its own queue still lets callers go first. */
const RUNNING_MAX = 8
/** Pause after a rate limit that names none, doubled with each in a row. */
const PAUSE_MS = 200
const PAUSE_MS_MAX = 60_000

/**
 * How many requests of history one endpoint gets at a time, and how long it is left alone after it limits its rate;
 * `sleep` waits as `delay` does.
 */
export function createThrottle({ clock, sleep }: { readonly clock: Clock; readonly sleep: typeof delay }) {
  const waiting = createFairQueue<() => void>()
  let running = 0
  let limit = RUNNING_MAX
  let succeeded = 0
  let pauses = 0
  let untilMs = 0

  async function enter(asker: string, signal: AbortSignal): Promise<void> {
    if (running < limit) {
      running++
      return
    }
    let isGranted = false
    let grant: () => void = () => {}
    const turn = new Promise<void>((resolve) => {
      grant = () => {
        isGranted = true
        resolve()
      }
    })
    waiting.add(asker, grant)
    try {
      await untilAborted(turn, signal)
    } catch (error) {
      waiting.delete(asker, grant)
      // It may have been granted in the same tick.
      if (isGranted) leave()
      throw error
    }
  }

  /** Gives what is free to those who wait, so that a new task cannot take it first. */
  function leave(): void {
    running--
    while (running < limit) {
      const grant = waiting.next()
      if (grant === undefined) return
      running++
      grant()
    }
  }

  return {
    /** Runs a task in its turn; askers are served in turn. Throws `AbortedError` if `signal` fires while it waits. */
    async run<T>(
      task: () => Promise<T>,
      { signal, asker = '' }: { readonly signal: AbortSignal; readonly asker?: string | undefined },
    ): Promise<T> {
      await enter(asker, signal)
      try {
        const waitMs = untilMs - clock.monotonicMs()
        if (waitMs > 0) await sleep(waitMs, signal)
        const result = await task()
        pauses = 0
        succeeded++
        if (succeeded >= 4 * limit && limit < RUNNING_MAX) {
          limit++
          succeeded = 0
        }
        return result
      } finally {
        leave()
      }
    },
    /** The endpoint limits its rate: half as many requests from now on, the first after a pause. */
    limited(pauseMs: number | undefined): void {
      // The requests that were under way are refused together, but count once.
      if (untilMs > clock.monotonicMs()) return
      pauses++
      limit = Math.max(1, Math.floor(limit / 2))
      succeeded = 0
      untilMs = clock.monotonicMs() + Math.min(PAUSE_MS_MAX, pauseMs ?? PAUSE_MS * 2 ** (pauses - 1))
    },
  }
}

/** Time for a small request over all its tries, milliseconds, and how often it is sent again: callers wait for some. */
const TRIES_MS = 1_500
const AGAIN_MAX = 3

/** Runs small requests of one endpoint in their turn, each a few times if it fails. */
export function createSmallRequestQueue(options: {
  readonly source: LogSource
  readonly throttle: Pick<ReturnType<typeof createThrottle>, 'run'>
  readonly clock: Clock
}) {
  const { source, throttle, clock } = options
  return <T>(task: (source: LogSource) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const untilMs = clock.monotonicMs() + TRIES_MS
    const remainingMs = () => untilMs - clock.monotonicMs()
    const again = createRetrier({ remainingMs, isBegun: true, timesMax: AGAIN_MAX, random: () => 0 })
    return again(() => throttle.run(() => task(source), { signal }), signal)
  }
}
