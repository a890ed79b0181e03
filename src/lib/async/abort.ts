import type { Clock } from '../clock.ts'
import { AbortedError } from '../error.ts'
import { continueWork } from './unwitnessed.ts'

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

export type Deadline = ReturnType<typeof startDeadline>

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

/** Runs `work` with a deadline in `ms`. Throws what `work` throws; `AbortedError` if the caller has left. */
export async function withinDeadline<T>(
  work: (deadline: Deadline) => Promise<T>,
  { ms, signal, clock }: { readonly ms: number; readonly signal: AbortSignal; readonly clock: Clock },
): Promise<T> {
  const deadline = startDeadline(ms, { parent: signal, clock })
  continueWork(signal, deadline.signal)
  try {
    return await work(deadline)
  } catch (error) {
    throw signal.aborted ? new AbortedError('The caller left') : error
  } finally {
    deadline.stop()
  }
}
