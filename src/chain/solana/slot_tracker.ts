import type { Clock } from '../../lib/clock.ts'
import type { SolanaClock } from './clock.ts'

/** Maximum lag of one endpoint behind another, in time, before the other is preferred. */
const LAG_MS_MAX = 30_000
/** Slots seen longer ago are ignored. */
const MEMORY_MS = 60_000
/** A cluster may be at most this many times faster than usual. */
const PACE_MAX = 4
/** Maximum difference between the clocks of two honest endpoints beyond the difference of their slots. */
const CLOCKS_APART_MS = 60_000

type Head = Pick<SolanaClock, 'slot' | 'timestampSec'>

interface ObservedSlot extends Head {
  readonly atMs: number
}

/**
 * Creates a tracker of the slots and times that endpoints have shown recently. Slots usually last `slotMs`
 * milliseconds.
 */
export function createSlotTracker({ clock, slotMs }: { readonly clock: Clock; readonly slotMs: number }) {
  const observedSlots = new Map<number, ObservedSlot>()

  /** True if `other` was far ahead of `mine`, both extrapolated to the same moment. */
  function isFarAhead(other: ObservedSlot, mine: ObservedSlot): boolean {
    const aheadMs = Number(other.slot - mine.slot) * slotMs - Math.max(0, other.atMs - mine.atMs)
    const clocksMs = Number(other.timestampSec - mine.timestampSec) * 1000
    return aheadMs > LAG_MS_MAX && aheadMs <= (clocksMs + CLOCKS_APART_MS) * PACE_MAX
  }

  return {
    /** Notes slot and time of an endpoint's answer. */
    observe(endpoint: number, { slot, timestampSec }: Head): void {
      observedSlots.set(endpoint, { slot, timestampSec, atMs: clock.monotonicMs() })
    },
    /** Returns slot and time of an endpoint's last answer. */
    getHead(endpoint: number) {
      const last = observedSlots.get(endpoint)
      return last === undefined ? undefined : { number: last.slot, timestampSec: last.timestampSec }
    },
    /**
     * True if another endpoint has recently shown a slot far ahead of this one's. A slot that no cluster can reach in
     * the time between both clocks is ignored, so that one false slot cannot make the other endpoints look late.
     */
    isBehind(endpoint: number): boolean {
      const recent = [...observedSlots].filter(([, { atMs }]) => clock.monotonicMs() - atMs < MEMORY_MS)
      const mine = recent.find(([index]) => index === endpoint)?.[1]
      return mine !== undefined && recent.some(([, other]) => isFarAhead(other, mine))
    },
  }
}
