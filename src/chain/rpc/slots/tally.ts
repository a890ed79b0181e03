import type { Askers } from '../../../lib/async/askers.ts'

/** Places that are taken, by asker. */
interface Tally {
  readonly total: number
  /** Places that an asker has taken. */
  of(asker: string): number
  /** The one of them who has taken the fewest; for nobody in particular it is ourselves. */
  leastOf(askers: Askers): string
  /** True if one more of `places` is free for the asker. */
  mayAdd(asker: string, places: number): boolean
  add(asker: string): void
  remove(asker: string): void
}

/**
 * One asker has at most so many times as many places as are left free: two thirds of all if nobody else asks, and with
 * any number of greedy ones some are left for the next who comes.
 */
const PLACES_PER_FREE = 2
/** What is nobody's in particular is our own: it is counted together, and limited by the number of places alone. */
const OURS = ''

/** Counts places; an asker without any takes no memory. */
export function createTally(): Tally {
  const counts = new Map<string, number>()
  let total = 0
  const of = (asker: string): number => counts.get(asker) ?? 0
  return {
    get total() {
      return total
    },
    of,
    leastOf(askers) {
      let least = OURS
      let fewest = Number.POSITIVE_INFINITY
      for (const asker of askers) {
        if (of(asker) >= fewest) continue
        least = asker
        fewest = of(asker)
      }
      return least
    },
    mayAdd(asker, places) {
      const free = places - total
      return free > 0 && (asker === OURS || of(asker) < PLACES_PER_FREE * free)
    },
    add(asker) {
      counts.set(asker, of(asker) + 1)
      total++
    },
    remove(asker) {
      if (of(asker) > 1) counts.set(asker, of(asker) - 1)
      else counts.delete(asker)
      total--
    },
  }
}
