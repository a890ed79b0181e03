import type { Clock } from '../../lib/clock.ts'

/** How long a refusal is remembered: an operator, or a provider's plan, may offer more later. */
const MEMORY_MS = 10 * 60_000

/** What endpoints have shown of methods that not all of them offer, by their place in the configuration. */
export interface Methods {
  worked(endpoint: number, method: string): void
  refused(endpoint: number, method: string): void
  /** False after a refusal, for a while; undefined if nobody knows. */
  offers(endpoint: number, method: string): boolean | undefined
}

/** Makes an empty memory. */
export function createMethods(clock: Clock): Methods {
  /** Until when a refusal counts; 0 for what has worked. */
  const known = new Map<string, number>()
  const keyOf = (endpoint: number, method: string) => `${endpoint}:${method}`
  return {
    worked: (endpoint, method) => known.set(keyOf(endpoint, method), 0),
    refused: (endpoint, method) => known.set(keyOf(endpoint, method), clock.monotonicMs() + MEMORY_MS),
    offers(endpoint, method) {
      const untilMs = known.get(keyOf(endpoint, method))
      if (untilMs === undefined) return undefined
      if (untilMs === 0) return true
      return clock.monotonicMs() < untilMs ? false : undefined
    },
  }
}
