import type { Clock } from '../../lib/clock.ts'
import type { SolanaClock } from './clock.ts'

/** How far one endpoint may be behind another, in time, before the other is preferred. */
const LAG_MS_MAX = 30_000
/** Slots seen longer ago are ignored. */
const MEMORY_MS = 60_000
/** A cluster may be at most this many times faster than usual. */
const PACE_MAX = 4
/** How far the clocks of two honest endpoints may differ, beyond what their slots explain. */
const CLOCKS_APART_MS = 60_000

type Head = Pick<SolanaClock, 'slot' | 'timestampSec'>

interface ObservedSlot extends Head {
  readonly atMs: number
}

/**
 * Slots and times that the endpoints of a cluster have shown lately. Its slots usually last `slotMs` milliseconds.
 */
export function createSlotTracker({ clock, slotMs }: { readonly clock: Clock; readonly slotMs: number }) {
  const seen = new Map<number, ObservedSlot>()

  /** True if `other` was far ahead of `mine`, both counted on to the same moment. */
  function isFarAhead(other: ObservedSlot, mine: ObservedSlot): boolean {
    const aheadMs = Number(other.slot - mine.slot) * slotMs - Math.max(0, other.atMs - mine.atMs)
    const clocksMs = Number(other.timestampSec - mine.timestampSec) * 1000
    return aheadMs > LAG_MS_MAX && aheadMs <= (clocksMs + CLOCKS_APART_MS) * PACE_MAX
  }

  return {
    /** Notes the slot and time that an endpoint answered from. */
    observe(endpoint: number, { slot, timestampSec }: Head): void {
      seen.set(endpoint, { slot, timestampSec, atMs: clock.monotonicMs() })
    },
    /** The slot that an endpoint answered from last, with its time. */
    headOf(endpoint: number) {
      const last = seen.get(endpoint)
      return last === undefined ? undefined : { number: last.slot, timestampSec: last.timestampSec }
    },
    /**
     * True if another endpoint has lately shown a slot far ahead of this one's. A slot that no cluster could have reached
     * in the time between both clocks is ignored, so that one absurd endpoint cannot make the others look late.
     */
    isBehind(endpoint: number): boolean {
      const recent = [...seen].filter(([, { atMs }]) => clock.monotonicMs() - atMs < MEMORY_MS)
      const mine = recent.find(([index]) => index === endpoint)?.[1]
      return mine !== undefined && recent.some(([, other]) => isFarAhead(other, mine))
    },
  }
}
