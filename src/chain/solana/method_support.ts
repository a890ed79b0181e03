import type { Clock } from '../../lib/clock.ts'

/** How long a refusal is remembered: an operator, or a provider's plan, may offer more later. */
const MEMORY_MS = 10 * 60_000

/** How long a timeout is remembered; it may have been temporary. */
const LATE_MEMORY_MS = 60_000

/** Creates a record of optional methods that endpoints support, by index in the configuration. */
export function createMethodSupport(clock: Clock) {
  /** Time until which a refusal counts; 0 if the method has worked. */
  const refusedUntilMs = new Map<string, number>()
  const lateUntilMs = new Map<string, number>()
  const getKey = (endpoint: number, method: string) => `${endpoint}:${method}`
  return {
    noteSuccess: (endpoint: number, method: string) => refusedUntilMs.set(getKey(endpoint, method), 0),
    noteRefusal: (endpoint: number, method: string) =>
      refusedUntilMs.set(getKey(endpoint, method), clock.monotonicMs() + MEMORY_MS),
    /** Notes a timeout. */
    noteTimeout: (endpoint: number, method: string) =>
      lateUntilMs.set(getKey(endpoint, method), clock.monotonicMs() + LATE_MEMORY_MS),
    /**
     * True for a while after a timeout, unless the method has ever worked: some endpoints hang on unsupported methods.
     */
    isHanging(endpoint: number, method: string): boolean {
      const key = getKey(endpoint, method)
      return refusedUntilMs.get(key) !== 0 && clock.monotonicMs() < (lateUntilMs.get(key) ?? 0)
    },
    /** True if the method has worked, false for a while after a refusal, undefined if unknown. */
    isOffered(endpoint: number, method: string): boolean | undefined {
      const untilMs = refusedUntilMs.get(getKey(endpoint, method))
      if (untilMs === undefined) return undefined
      if (untilMs === 0) return true
      return clock.monotonicMs() < untilMs ? false : undefined
    },
  }
}
