import type { Clock } from '../lib/clock.ts'

/** How many look-ups of keys that nobody was given the database is asked for. */
interface StrangerLimit {
  /** Takes a place for a key that was never recognised here; false if there is none, and nothing may be asked. */
  enter(): boolean
  /** Gives the place back; a key that does not exist keeps it for the rest of its second. */
  leave(options: { readonly isStranger: boolean }): void
}

const PER_SECOND_MAX = 1_000

/**
 * Makes a limit for one process. Anybody can invent a key with a right checksum, and each invented key would cost a
 * look-up. A key that exists takes a place only while it is looked up, so a start with many callers is not slowed.
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
