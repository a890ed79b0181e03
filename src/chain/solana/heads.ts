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

/** Slots and times that the endpoints of a cluster have shown lately. */
interface SolanaHeads {
  /** Notes the slot and time that an endpoint answered from. */
  observe(endpoint: number, head: Head): void
  /**
   * True if another endpoint has lately shown a slot far ahead of this one's. A slot that no cluster could have reached
   * in the time between both clocks is ignored, so that one absurd endpoint cannot make the others look late.
   */
  isBehind(endpoint: number): boolean
  /** The slot that an endpoint answered from last, with its time. */
  headOf(endpoint: number): { readonly number: bigint; readonly timestampSec: bigint } | undefined
}

type Head = Pick<SolanaClock, 'slot' | 'timestampSec'>

interface Seen extends Head {
  readonly atMs: number
}

/** Compares the endpoints of one cluster, whose slots usually last `slotMs` milliseconds. */
export function createSolanaHeads({ clock, slotMs }: { readonly clock: Clock; readonly slotMs: number }): SolanaHeads {
  const seen = new Map<number, Seen>()

  /** True if `other` was far ahead of `mine`, both counted on to the same moment. */
  function isFarAhead(other: Seen, mine: Seen): boolean {
    const aheadMs = Number(other.slot - mine.slot) * slotMs - Math.max(0, other.atMs - mine.atMs)
    const clocksMs = Number(other.timestampSec - mine.timestampSec) * 1000
    return aheadMs > LAG_MS_MAX && aheadMs <= (clocksMs + CLOCKS_APART_MS) * PACE_MAX
  }

  return {
    observe(endpoint, { slot, timestampSec }) {
      seen.set(endpoint, { slot, timestampSec, atMs: clock.monotonicMs() })
    },
    headOf(endpoint) {
      const last = seen.get(endpoint)
      return last === undefined ? undefined : { number: last.slot, timestampSec: last.timestampSec }
    },
    isBehind(endpoint) {
      const recent = [...seen].filter(([, { atMs }]) => clock.monotonicMs() - atMs < MEMORY_MS)
      const mine = recent.find(([index]) => index === endpoint)?.[1]
      return mine !== undefined && recent.some(([, other]) => isFarAhead(other, mine))
    },
  }
}
