import { QUORUM } from '../chain/past/quorum.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Clock } from '../lib/clock.ts'

/** Pause before the next recheck after a chain's second endpoint was unavailable, milliseconds. */
const AGAIN_MS = 10 * 60_000

/** Decides when a value from a single endpoint is read again: when a second endpoint may confirm it. */
export type Recheck = ReturnType<typeof createRecheck>

/** Creates a recheck that remembers, by chain, when a second endpoint was last missing. */
export function createRecheck(clock: Clock) {
  const untilMs = new Map<number, number>()
  return {
    /** True if a value that `witnesses` endpoints gave is due for another read. */
    isDue({ chain: { id, rpcUrls } }: ChainClient, witnesses: number): boolean {
      return witnesses < QUORUM && rpcUrls.length >= QUORUM && clock.monotonicMs() >= (untilMs.get(id) ?? 0)
    },
    /** Records how many endpoints answered a read; without a second one, the next recheck waits. */
    recordAnswer({ chain: { id } }: ChainClient, witnesses: number): void {
      if (witnesses < QUORUM) untilMs.set(id, clock.monotonicMs() + AGAIN_MS)
    },
  }
}
