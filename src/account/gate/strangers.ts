import type { Clock } from '../../lib/clock.ts'

/** Limits look-ups of unknown keys. */
interface StrangerLimit {
  /** Takes a place for a key that was never recognised here; false if none is free, and it must not be looked up. */
  enter(): boolean
  /** Gives the place back; an unknown key keeps it for the rest of its second. */
  leave(options: { readonly isStranger: boolean }): void
}

const PER_SECOND_MAX = 1_000

/**
 * Makes a limit for one process. Anyone can invent keys with a right checksum, and each would cost a look-up. A key
 * that exists takes a place only while it is looked up, so many callers at a start are not slowed.
 */
export function createStrangerLimit({ clock, max = PER_SECOND_MAX }: { clock: Clock; max?: number }): StrangerLimit {
  let asked = 0
  let strangers = 0
  let secondStartMs = 0
  return {
    enter() {
      const nowMs = clock.monotonicMs()
      if (nowMs - secondStartMs >= 1_000) {
        secondStartMs = nowMs
        strangers = 0
      }
      if (asked + strangers >= max) return false
      asked++
      return true
    },
    leave({ isStranger }) {
      asked--
      if (isStranger) strangers++
    },
  }
}
