import { QUORUM } from '../chain/past/quorum.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Clock } from '../lib/clock.ts'

/** How long a chain's second endpoint is left alone after it could not be asked. */
const AGAIN_MS = 10 * 60_000

/** When what one endpoint alone gave is read again: when another one may be there to say the same. */
export type Recheck = ReturnType<typeof createRecheck>

/** Makes one that remembers, by chain, when a second endpoint was last missed. */
export function createRecheck(clock: Clock) {
  const untilMs = new Map<number, number>()
  return {
    /** True if something that so many endpoints gave is worth reading again. */
    isDue({ chain: { id, rpcUrls } }: ChainClient, witnesses: number): boolean {
      return witnesses < QUORUM && rpcUrls.length >= QUORUM && clock.monotonicMs() >= (untilMs.get(id) ?? 0)
    },
    /** Notes how many endpoints answered a reading: while there is no second one, asking again is idle. */
    answered({ chain: { id } }: ChainClient, witnesses: number): void {
      if (witnesses < QUORUM) untilMs.set(id, clock.monotonicMs() + AGAIN_MS)
    },
  }
}
