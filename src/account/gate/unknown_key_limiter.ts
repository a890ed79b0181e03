import type { Clock } from '../../lib/clock.ts'

const PER_SECOND_MAX = 1_000

/**
 * Makes a limit for one process. Anyone can invent keys with a right checksum, and each would cost a look-up. A key
 * that exists takes a place only while it is looked up, so many callers at a start are not slowed.
 */
export function createUnknownKeyLimiter({ clock, max = PER_SECOND_MAX }: { clock: Clock; max?: number }) {
  /** Keys that are being looked up, and how many requests wait for each. */
  const asked = new Map<string, number>()
  let strangers = 0
  let secondStartMs = 0
  return {
    /** Takes a place for a key that was never recognised here; false if none is free, and it must not be looked up. */
    enter(hash: string): boolean {
      const nowMs = clock.monotonicMs()
      if (nowMs - secondStartMs >= 1_000) {
        secondStartMs = nowMs
        strangers = 0
      }
      const waiting = asked.get(hash) ?? 0
      if (waiting === 0 && asked.size + strangers >= max) return false
      asked.set(hash, waiting + 1)
      return true
    },
    /** Gives the place back; an unknown key keeps it for the rest of its second. */
    leave(hash: string, { isStranger }: { readonly isStranger: boolean }): void {
      const waiting = asked.get(hash) ?? 1
      if (waiting > 1) {
        asked.set(hash, waiting - 1)
        return
      }
      asked.delete(hash)
      if (isStranger) strangers++
    },
  }
}
