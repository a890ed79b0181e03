import { createCache } from '../lib/cache.ts'
import type { Clock } from '../lib/clock.ts'
import type { Block } from './block.ts'
import type { Chain } from './chain.ts'

/** What `reuse` needs to know about a reading. */
export interface BlockRead<T> {
  readonly chain: Chain
  /** What is read, with all that it depends on; the chain is added. */
  readonly key: string
  readonly read: (signal: AbortSignal) => Promise<T>
}

/** Results of reads, each kept until the chain has its next block. */
export interface BlockCache<T> {
  /**
   * The result of `read`, shared with all who ask for the same meanwhile, and reused while the block it was read at is
   * still the newest one: until the block's timestamp plus the chain's block time, and no longer than one block time
   * since it was asked for, so that a clock that is wrong cannot keep it. With a block time of 0 everything is read anew.
   */
  reuse(request: BlockRead<T>, signal: AbortSignal): Promise<T>
}

/** Makes a cache of at most `entriesMax` results and, where `bytesOf` says how large one is, `bytesMax` bytes. */
export function createBlockCache<T extends { readonly block: Pick<Block, 'timestampSec'> }>(options: {
  readonly clock: Clock
  readonly entriesMax: number
  readonly bytesMax?: number
  readonly bytesOf?: (value: T) => number
}): BlockCache<T> {
  const { clock } = options
  const cache = createCache<T>(options)

  return {
    reuse({ chain, key, read }, signal) {
      const readOnce = async (shared: AbortSignal) => {
        const startedMs = clock.monotonicMs()
        const value = await read(shared)
        const untilNextBlockMs = Number(value.block.timestampSec) * 1_000 + chain.blockTimeMs - clock.now()
        const untilTooOldMs = chain.blockTimeMs - (clock.monotonicMs() - startedMs)
        return { value, lifeMs: Math.min(untilNextBlockMs, untilTooOldMs) }
      }
      // A reading that began a block ago may be about an older block than the caller could see by itself.
      return cache.get({ key: `${chain.id}:${key}`, read: readOnce, joinMs: chain.blockTimeMs }, signal)
    },
  }
}
