import type { PinnedBlock } from '../block.ts'
import { countBlocksUntil } from './block_search.ts'

/** Upper bound of the cached blocks of one chain. */
const BLOCKS_MAX = 2_000

/** Creates a cache of final blocks, from which searches start. */
export function createFinalBlockCache() {
  const blocksByChain = new Map<number, PinnedBlock[]>()
  let evicted = 0
  return {
    add(block: PinnedBlock): void {
      const blocks = blocksByChain.get(block.chainId) ?? []
      blocksByChain.set(block.chainId, blocks)
      // Several blocks may share a second.
      const findIndex = () => {
        let index = countBlocksUntil(blocks, block.timestampSec)
        while ((blocks[index - 1]?.number ?? -1n) > block.number) index--
        return index
      }
      if (blocks[findIndex() - 1]?.number === block.number) return
      // Evict round-robin across the list; evicting the oldest would leave years without a starting point.
      if (blocks.length >= BLOCKS_MAX) blocks.splice(evicted++ % BLOCKS_MAX, 1)
      blocks.splice(findIndex(), 0, block)
    },
    /** Returns a chain's blocks from the last one before all moments to the first one after all of them, ascending. */
    getAround(chainId: number, timesSec: readonly bigint[]): readonly PinnedBlock[] {
      const blocks = blocksByChain.get(chainId) ?? []
      const counts = timesSec.map((timeSec) => countBlocksUntil(blocks, timeSec))
      return blocks.slice(Math.max(0, Math.min(...counts) - 1), Math.max(...counts) + 1)
    },
  }
}
