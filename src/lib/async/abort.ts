import type { Clock } from '../clock.ts'
import { AbortedError } from '../error.ts'
import { type Work, withSignal } from './work.ts'

/** Settles like `promise`, or rejects with `AbortedError` as soon as `signal` fires, even if it never settles. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new AbortedError('The caller left'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    const settle = (forward: () => void) => {
      signal.removeEventListener('abort', abort)
      forward()
    }
    promise.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}

/** Resolves once `signal` has fired. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** Starts a deadline in `ms` that also ends when `parent` fires. */
export function startDeadline(ms: number, { parent, clock }: { readonly parent: AbortSignal; readonly clock: Clock }) {
  const controller = new AbortController()
  const endsAtMs = clock.monotonicMs() + ms
  const abort = () => controller.abort()
  const cancel = clock.after(ms, abort)
  if (parent.aborted) abort()
  else parent.addEventListener('abort', abort, { once: true })
  return {
    /** Fires at the deadline, or when the parent fires. */
    signal: controller.signal,
    /** Milliseconds left; 0 when over. */
    remainingMs: () => (controller.signal.aborted ? 0 : Math.max(0, endsAtMs - clock.monotonicMs())),
    /** Stops the timer and the listener on the parent; call it in `finally`. */
    stop(): void {
      cancel()
      parent.removeEventListener('abort', abort)
    },
  }
}

/** Work with a deadline. */
export interface Deadline {
  /** Ends at the deadline, or with the whole work. */
  readonly work: Work
  /** Milliseconds left; 0 when over. */
  readonly remainingMs: () => number
}

/** Runs `task` with a deadline in `ms`. Throws what `task` throws; `AbortedError` if the caller has left. */
export async function withinDeadline<T>(
  task: (deadline: Deadline) => Promise<T>,
  { ms, work, clock }: { readonly ms: number; readonly work: Work; readonly clock: Clock },
): Promise<T> {
  const { signal, remainingMs, stop } = startDeadline(ms, { parent: work.signal, clock })
  try {
    return await task({ work: withSignal(work, signal), remainingMs })
  } catch (error) {
    throw work.signal.aborted ? new AbortedError('The caller left') : error
  } finally {
    stop()
  }
}

/** Creates a waiter for an idle state; `wait` and `check` each evaluate `isIdle`. */
export function createIdleWaiter(isIdle: () => boolean) {
  const waiting: (() => void)[] = []
  return {
    wait: (): Promise<void> => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    /** Wakes the waiters if idle; call it whenever work has ended. */
    check(): void {
      if (isIdle()) for (const wake of waiting.splice(0)) wake()
    },
  }
}

/** Thrown by `withTimeout`. */
export const TIMED_OUT = Symbol('deadline')

/** Waits for a promise that may never settle, at most `ms`; then throws `TIMED_OUT`. */
export function withTimeout<T>(
  promise: Promise<T>,
  { ms, clock }: { readonly ms: number; readonly clock: Clock },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(TIMED_OUT))
    promise.then(resolve, reject).finally(cancel)
  })
}
