import { createCache } from '../lib/async/cache.ts'
import type { Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import type { Block } from './block.ts'
import type { Chain } from './chain.ts'

interface BlockRead<T> {
  readonly chain: Chain
  /** Identifies the read and its inputs; the chain id is added. */
  readonly key: string
  readonly read: (work: Work) => Promise<T>
  /** True if callers in one turn of the event loop share a read even if results are not reused. @default {false} */
  readonly nextTurn?: boolean
}

/** A result and when its block stops being the newest, milliseconds of the monotonic clock. */
export type WithExpiry<T> = T & { readonly untilMs: number }

/**
 * Creates a cache of read results, each cached until the chain has its next block: at most `entriesMax`, and at most
 * `bytesMax` bytes if `getSize` gives a result's size.
 */
export function createBlockCache<T extends { readonly block: Pick<Block, 'timestampSec'> }>(options: {
  readonly clock: Clock
  readonly entriesMax: number
  readonly bytesMax?: number
  readonly getSize?: (value: T) => number
}) {
  const { clock } = options
  const cache = createCache<WithExpiry<T>>(options)

  return {
    /**
     * Returns the result of `read`, shared by all concurrent callers with the same key. It is reused while its block is
     * the newest one: until the block's timestamp plus the chain's `reuseMs`, and for at most `reuseMs` after the
     * request, so that a wrong clock cannot extend it. With 0 nothing is reused.
     */
    reuse({ chain, key, read, nextTurn = false }: BlockRead<T>, work: Work): Promise<WithExpiry<T>> {
      const readOnce = async (shared: Work) => {
        const startedMs = clock.monotonicMs()
        const value = await read(shared)
        const untilNextBlockMs = Number(value.block.timestampSec) * 1_000 + chain.reuseMs - clock.now()
        const untilTooOldMs = chain.reuseMs - (clock.monotonicMs() - startedMs)
        const lifeMs = Math.min(untilNextBlockMs, untilTooOldMs)
        return { value: { ...value, untilMs: clock.monotonicMs() + lifeMs }, lifeMs }
      }
      // A read that started earlier than `reuseMs` ago may see an older block than the caller's own read would.
      return cache.get({ key: `${chain.id}:${key}`, read: readOnce, joinMs: chain.reuseMs, nextTurn }, work)
    },
  }
}
