import { createCache } from '../lib/async/cache.ts'
import type { Clock } from '../lib/clock.ts'
import type { Block } from './block.ts'
import type { Chain } from './chain.ts'

interface BlockRead<T> {
  readonly chain: Chain
  /** What is read, with all that it depends on; the chain is added. */
  readonly key: string
  readonly read: (signal: AbortSignal) => Promise<T>
  /** True if all who ask in one turn of the event loop share a read even if nothing is reused. @default {false} */
  readonly nextTurn?: boolean
}

/** A reading, and until when its block is the newest, milliseconds of the monotonic clock. */
export type WithExpiry<T> = T & { readonly untilMs: number }

/**
 * Results of reads, each kept until the chain has its next block: at most `entriesMax`, and at most `bytesMax` bytes if
 * `bytesOf` gives a result's size.
 */
export function createBlockCache<T extends { readonly block: Pick<Block, 'timestampSec'> }>(options: {
  readonly clock: Clock
  readonly entriesMax: number
  readonly bytesMax?: number
  readonly bytesOf?: (value: T) => number
}) {
  const { clock } = options
  const cache = createCache<WithExpiry<T>>(options)

  return {
    /**
     * The result of `read`, shared by all callers that ask for the same key meanwhile. It is reused while its block is
     * the newest one: until the block's timestamp plus the chain's `reuseMs`, and for at most `reuseMs` after the
     * request, so that a wrong clock cannot keep it longer. With 0 nothing is reused.
     */
    reuse({ chain, key, read, nextTurn = false }: BlockRead<T>, signal: AbortSignal): Promise<WithExpiry<T>> {
      const readOnce = async (shared: AbortSignal) => {
        const startedMs = clock.monotonicMs()
        const value = await read(shared)
        const untilNextBlockMs = Number(value.block.timestampSec) * 1_000 + chain.reuseMs - clock.now()
        const untilTooOldMs = chain.reuseMs - (clock.monotonicMs() - startedMs)
        const lifeMs = Math.min(untilNextBlockMs, untilTooOldMs)
        return { value: { ...value, untilMs: clock.monotonicMs() + lifeMs }, lifeMs }
      }
      // A read that began so long ago may see an older block than the caller's own read would.
      return cache.get({ key: `${chain.id}:${key}`, read: readOnce, joinMs: chain.reuseMs, nextTurn }, signal)
    },
  }
}
