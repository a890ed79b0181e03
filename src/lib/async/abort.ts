import { setTimeout } from 'node:timers/promises'
import { AbortedError } from '../error.ts'
import { getRequesters, withRequesters } from './requesters.ts'

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

/** Returns a signal that fires after `ms`, at once for 0 or less. Rounds up, because Node rejects fractions. */
export function timeoutSignal(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.max(0, Math.ceil(ms)))
}

/** Waits `ms`; throws `AbortedError` if `signal` fires first. */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {
    throw new AbortedError('The caller left')
  })
}

export type Deadline = ReturnType<typeof startDeadline>

/** Starts a deadline in `ms` that also ends when `parent` fires. `now` returns monotonic milliseconds. */
export function startDeadline(
  ms: number,
  { parent, now }: { readonly parent: AbortSignal; readonly now: () => number },
) {
  const controller = new AbortController()
  const endsAtMs = now() + ms
  const abort = () => controller.abort()
  const timer = globalThis.setTimeout(abort, ms)
  if (parent.aborted) abort()
  else parent.addEventListener('abort', abort, { once: true })
  return {
    /** Fires at the deadline, or when the parent fires. */
    signal: controller.signal,
    /** Milliseconds left; 0 when over. */
    remainingMs: () => (controller.signal.aborted ? 0 : Math.max(0, endsAtMs - now())),
    /** Stops the timer and the listener on the parent; call it in `finally`. */
    stop(): void {
      clearTimeout(timer)
      parent.removeEventListener('abort', abort)
    },
  }
}

/** Runs `work` with a deadline in `ms`. Throws what `work` throws; `AbortedError` if the caller has left. */
export async function withinDeadline<T>(
  work: (deadline: Deadline) => Promise<T>,
  { ms, signal, now }: { readonly ms: number; readonly signal: AbortSignal; readonly now: () => number },
): Promise<T> {
  const deadline = startDeadline(ms, { parent: signal, now })
  withRequesters(getRequesters(signal), deadline.signal)
  try {
    return await work(deadline)
  } catch (error) {
    throw signal.aborted ? new AbortedError('The caller left') : error
  } finally {
    deadline.stop()
  }
}
