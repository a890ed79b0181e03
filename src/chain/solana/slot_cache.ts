import { createCache } from '../../lib/async/cache.ts'
import type { Clock } from '../../lib/clock.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import type { WithExpiry } from '../block_cache.ts'
import type { SolanaClient, SolanaSession } from './client.ts'

/**
 * Makes a cache of readings, each kept until the next slot and shared by all who ask meanwhile; as `createCache`.
 * `budgetMs` is the time of one reading, the client's own if absent. Throws as `SolanaClient.read`.
 */
export function createSlotCache<T extends object>(options: {
  readonly solana: SolanaClient
  readonly clock: Clock
  readonly budgetMs?: number
  readonly entriesMax: number
  readonly bytesMax?: number
  readonly bytesOf?: (value: T) => number
}) {
  const { solana, clock, budgetMs } = options
  const { slotMs } = solana
  const limits = budgetMs === undefined ? {} : { budgetMs }
  const cache = createCache<WithExpiry<T>>(options)
  return (key: string, work: (session: SolanaSession) => Promise<T>, signal: AbortSignal): Promise<WithExpiry<T>> => {
    const read = async (shared: AbortSignal) => {
      const startedMs = clock.monotonicMs()
      const found = await solana.read(work, { signal: shared, ...limits })
      // The node answers from its newest slot, so the next one comes at most a slot after the request.
      const untilMs = startedMs + slotMs
      return { value: { ...found, untilMs }, lifeMs: untilMs - clock.monotonicMs() }
    }
    return cache.get({ key, read, joinMs: slotMs }, signal)
  }
}

/** How many slots may be between the steps of one reading: as many as an answer may be old. */
export function getMaxSlotDistance({ slotMs, maxSlotAgeSec }: Pick<SolanaClient, 'slotMs' | 'maxSlotAgeSec'>): bigint {
  return BigInt(Math.ceil((maxSlotAgeSec * 1_000) / slotMs))
}

/** The slot of an answer, the lowest that anything was read at; and whether that is not the slot of all of it. */
export function computeAnswerSlot(slots: readonly bigint[]): { readonly slot: bigint; readonly isMixed: boolean } {
  const slot = slots.reduce(minBigint)
  return { slot, isMixed: slots.some((each) => each !== slot) }
}
