import type { Clock } from '../../lib/clock.ts'

const PER_SECOND_MAX = 1_000

/**
 * Limits look-ups of unknown keys in one process: keys with a valid checksum can be invented, and each would cost a
 * look-up. A known key holds a slot only during its lookup, so a cold start does not throttle real callers.
 */
export function createUnknownKeyLimiter({ clock, max = PER_SECOND_MAX }: { clock: Clock; max?: number }) {
  /** Number of requests that wait for each look-up under way, by the key's hash. */
  const waitingByHash = new Map<string, number>()
  let unknownKeys = 0
  let secondStartMs = 0
  return {
    /** Reserves a lookup for a key not seen before in this process; false if the limit is reached. */
    acquire(hash: string): boolean {
      const nowMs = clock.monotonicMs()
      if (nowMs - secondStartMs >= 1_000) {
        secondStartMs = nowMs
        unknownKeys = 0
      }
      const waiting = waitingByHash.get(hash) ?? 0
      if (waiting === 0 && waitingByHash.size + unknownKeys >= max) return false
      waitingByHash.set(hash, waiting + 1)
      return true
    },
    /** Releases the slot; an unknown key keeps it for the rest of its second. */
    release(hash: string, { isStranger: isUnknown }: { readonly isStranger: boolean }): void {
      const waiting = waitingByHash.get(hash) ?? 1
      if (waiting > 1) {
        waitingByHash.set(hash, waiting - 1)
        return
      }
      waitingByHash.delete(hash)
      if (isUnknown) unknownKeys++
    },
  }
}
