import type { UnavailableError } from '../error.ts'

const errorFactories = new WeakMap<AbortSignal, () => UnavailableError>()

/** Registers the error to report if this signal times out; the last registration wins. */
export function registerTimeoutError(signal: AbortSignal, createError: () => UnavailableError): void {
  errorFactories.set(signal, createError)
}

/** Error to report when this signal times out; undefined if none was registered. */
export function getTimeoutError(signal: AbortSignal): UnavailableError | undefined {
  return errorFactories.get(signal)?.()
}
