import type { PinnedBlock } from '../block.ts'
import { countBlocksUntil } from './block_search.ts'

/** Blocks of one chain that searches may start from. */
const BLOCKS_MAX = 2_000

/** Final blocks by chain, to start searches from. */
export function createFinalBlockCache() {
  const byChain = new Map<number, PinnedBlock[]>()
  let forgotten = 0
  return {
    learn(block: PinnedBlock): void {
      const known = byChain.get(block.chainId) ?? []
      byChain.set(block.chainId, known)
      // Several blocks may share a second.
      const placeIn = () => {
        let place = countBlocksUntil(known, block.timestampSec)
        while ((known[place - 1]?.number ?? -1n) > block.number) place--
        return place
      }
      if (known[placeIn() - 1]?.number === block.number) return
      // Dropped in turn, from all over the list: always the oldest would leave years without a block.
      if (known.length >= BLOCKS_MAX) known.splice(forgotten++ % BLOCKS_MAX, 1)
      known.splice(placeIn(), 0, block)
    },
    /** Those of a chain from the last one at or before all moments to the first one after all of them, ascending. */
    around(chainId: number, timesSec: readonly bigint[]): readonly PinnedBlock[] {
      const known = byChain.get(chainId) ?? []
      const counts = timesSec.map((timeSec) => countBlocksUntil(known, timeSec))
      return known.slice(Math.max(0, Math.min(...counts) - 1), Math.max(...counts) + 1)
    },
  }
}
