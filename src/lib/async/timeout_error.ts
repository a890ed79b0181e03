import type { UnavailableError } from '../error.ts'

const reasons = new WeakMap<AbortSignal, () => UnavailableError>()

/** Says what a caller is told if the time under this signal ends meanwhile; what was said last counts. */
export function registerTimeoutError(signal: AbortSignal, reason: () => UnavailableError): void {
  reasons.set(signal, reason)
}

/** What a caller is told whose time under this signal has ended; undefined if nobody said. */
export function getTimeoutError(signal: AbortSignal): UnavailableError | undefined {
  return reasons.get(signal)?.()
}
