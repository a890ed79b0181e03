import { setTimeout } from 'node:timers/promises'
import { AbortedError } from '../error.ts'

/** What `promise` gives, or `AbortedError` as soon as `signal` fires, even if the promise never settles. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new AbortedError('The caller left'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    const settle = (hand: () => void) => {
      signal.removeEventListener('abort', abort)
      hand()
    }
    promise.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}

/** A signal that fires after `ms`, or at once if none are left. Node takes only whole ones, and a clock counts parts. */
export function timeLimit(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.max(0, Math.ceil(ms)))
}

/** Waits `ms`; throws `AbortedError` if `signal` fires first. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {
    throw new AbortedError('The caller left')
  })
}
