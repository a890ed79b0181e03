import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { AbortedError } from '../../src/lib/error.ts'

/** A clock that moves only when a test says so. */
export interface TestClock extends Clock {
  /** Moves the time by `ms`. Runs what becomes due, in order, and lets the work that follows settle each time. */
  advance(ms: number): Promise<void>
  /** Moves the time by `ms` at once, as a pause of the machine does: timers that became due run at the next move. */
  jump(ms: number): void
  /** Moves to the moment of the next timer and runs it; false if none waits. */
  advanceToNext(): Promise<boolean>
  /** Number of timers that wait. */
  readonly pending: number
}

interface Timer {
  readonly atMs: number
  readonly run: () => void
}

/** Turns of the event loop in which promises, batches and bodies of answers in this process settle. */
const SETTLE_TURNS = 10

/**
 * Creates a clock at `nowMs` since the epoch; its monotonic time starts at 0. With fewer `settleTurns`, work that takes
 * more turns goes on while time moves.
 */
export function createTestClock({
  nowMs = 0,
  settleTurns = SETTLE_TURNS,
}: {
  readonly nowMs?: number
  readonly settleTurns?: number
} = {}): TestClock {
  const timers = new Set<Timer>()
  let elapsedMs = 0

  function after(ms: number, run: () => void): () => void {
    const timer = { atMs: elapsedMs + Math.max(0, ms), run }
    timers.add(timer)
    return () => timers.delete(timer)
  }

  /** Finds the timer that is due first; of several, the one that was set first. */
  function findNext(): Timer | undefined {
    let next: Timer | undefined
    for (const timer of timers) if (next === undefined || timer.atMs < next.atMs) next = timer
    return next
  }

  async function runTimer(timer: Timer): Promise<void> {
    timers.delete(timer)
    elapsedMs = Math.max(elapsedMs, timer.atMs)
    timer.run()
    await settle(settleTurns)
  }

  return {
    now: () => nowMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const leave = () => {
          cancel()
          reject(new AbortedError('The caller left'))
        }
        const cancel = after(ms, () => {
          signal?.removeEventListener('abort', leave)
          resolve()
        })
        if (signal?.aborted) leave()
        else signal?.addEventListener('abort', leave, { once: true })
      }),
    after,
    timeout(ms) {
      const controller = new AbortController()
      after(ms, () => controller.abort(new DOMException('The operation timed out.', 'TimeoutError')))
      return controller.signal
    },
    async advance(ms) {
      const untilMs = elapsedMs + ms
      await settle(settleTurns)
      for (let next = findNext(); next !== undefined && next.atMs <= untilMs; next = findNext()) await runTimer(next)
      elapsedMs = untilMs
    },
    jump(ms) {
      elapsedMs += ms
    },
    async advanceToNext() {
      await settle(settleTurns)
      const next = findNext()
      if (next !== undefined) await runTimer(next)
      return next !== undefined
    },
    get pending() {
      return timers.size
    },
  }
}

/** Lets promises settle, and what waits for so many turns of the event loop. */
export async function settle(turns = SETTLE_TURNS): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** How much faster than the machine's these clocks let pauses pass. */
const HURRY = 10

/**
 * Creates a clock for clients of endpoints with the machine's time of day, whose monotonic time passes only in pauses: no
 * deadline passes and no answer is slow, so that a busy machine changes nothing. A pause takes a tenth of its time.
 */
export function createPatientClock(): Clock {
  let elapsedMs = 0
  return {
    ...systemClock,
    monotonicMs: () => elapsedMs,
    async sleep(ms, signal) {
      await systemClock.sleep(ms / HURRY, signal)
      elapsedMs += ms
    },
    after: () => () => {},
    timeout: () => new AbortController().signal,
  }
}

/** How much slower than the machine's these clocks let time limits pass. */
const LENIENCE = 10

/**
 * The machine's clock with time limits, and the monotonic time that counts down to them, ten times as slow: what a busy
 * machine answers late is no failure, and what hangs ends. Pauses take their time.
 */
export const slowClock: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() / LENIENCE,
  after: (ms, run, options) => systemClock.after(LENIENCE * ms, run, options),
  timeout: (ms) => systemClock.timeout(LENIENCE * ms),
}

/**
 * Creates a slow clock for clients of endpoints that stand beside: pauses before they are asked again take a tenth of
 * their time. `skip` moves its monotonic time.
 */
export function createHurriedClock(): Clock & { skip(ms: number): void } {
  let skippedMs = 0
  const monotonicMs = () => slowClock.monotonicMs() + skippedMs
  return {
    ...slowClock,
    monotonicMs,
    async sleep(ms, signal) {
      const untilMs = monotonicMs() + ms
      await systemClock.sleep(ms / HURRY, signal)
      // Pauses at the same time pass together.
      skippedMs += Math.max(0, untilMs - monotonicMs())
    },
    skip(ms) {
      skippedMs += ms
    },
  }
}

/** Creates a clock for what only reads the time: its timers never fire. */
export function createFixedClock(now: number | (() => number) = 0, monotonicMs: number | (() => number) = now): Clock {
  const { sleep, after, timeout } = createTestClock()
  return { now: toReader(now), monotonicMs: toReader(monotonicMs), sleep, after, timeout }
}

/**
 * Creates a clock whose sleeps end at once, each after moving the time by its length; its other timers never fire.
 * `time` may be moved by the test, too.
 */
export function createSkippingClock(): Clock & { readonly time: { nowMs: number }; readonly sleeps: number[] } {
  const time = { nowMs: 0 }
  const sleeps: number[] = []
  return {
    ...createFixedClock(() => time.nowMs),
    time,
    sleeps,
    async sleep(ms) {
      sleeps.push(ms)
      time.nowMs += ms
      await new Promise<void>((resolve) => setImmediate(resolve))
    },
  }
}

function toReader(time: number | (() => number)): () => number {
  return typeof time === 'number' ? () => time : time
}
