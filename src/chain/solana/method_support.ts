import type { Clock } from '../../lib/clock.ts'

/** How long a refusal is remembered: an operator, or a provider's plan, may offer more later. */
const MEMORY_MS = 10 * 60_000

/** The same of an endpoint that gives no answer in time, which may have been a mishap. */
const LATE_MEMORY_MS = 60_000

/** What endpoints have shown of methods that not all of them offer, by their place in the configuration. */
export function createMethodSupport(clock: Clock) {
  /** Until when a refusal counts; 0 for what has worked. */
  const known = new Map<string, number>()
  const lateUntilMs = new Map<string, number>()
  const keyOf = (endpoint: number, method: string) => `${endpoint}:${method}`
  return {
    worked: (endpoint: number, method: string) => known.set(keyOf(endpoint, method), 0),
    refused: (endpoint: number, method: string) => known.set(keyOf(endpoint, method), clock.monotonicMs() + MEMORY_MS),
    /** Notes that it gave no answer in time. */
    late: (endpoint: number, method: string) =>
      lateUntilMs.set(keyOf(endpoint, method), clock.monotonicMs() + LATE_MEMORY_MS),
    /** True for a while after it was late, unless it has ever worked: some hang at what they do not offer. */
    hangs(endpoint: number, method: string): boolean {
      const key = keyOf(endpoint, method)
      return known.get(key) !== 0 && clock.monotonicMs() < (lateUntilMs.get(key) ?? 0)
    },
    /** False after a refusal, for a while; undefined if nobody knows. */
    offers(endpoint: number, method: string): boolean | undefined {
      const untilMs = known.get(keyOf(endpoint, method))
      if (untilMs === undefined) return undefined
      if (untilMs === 0) return true
      return clock.monotonicMs() < untilMs ? false : undefined
    },
  }
}
