import { createCache } from '../../lib/async/cache.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import type { WithExpiry } from '../block_cache.ts'
import type { SolanaClient, SolanaSession } from './client.ts'

/**
 * Creates a cache of results, each cached until the next slot and shared by concurrent callers, as `createCache`.
 * `budgetMs` is the time limit of one read; absent: the client's. Reads throw as `SolanaClient.read`.
 */
export function createSlotCache<T extends object>(options: {
  readonly solana: SolanaClient
  readonly clock: Clock
  readonly budgetMs?: number
  readonly entriesMax: number
  readonly bytesMax?: number
  readonly getSize?: (value: T) => number
}) {
  const { solana, clock, budgetMs } = options
  const { slotMs } = solana
  const limits = budgetMs === undefined ? {} : { budgetMs }
  const cache = createCache<WithExpiry<T>>(options)
  return (key: string, task: (session: SolanaSession) => Promise<T>, work: Work): Promise<WithExpiry<T>> => {
    const read = async (shared: Work) => {
      const startedMs = clock.monotonicMs()
      const result = await solana.read(task, { work: shared, ...limits })
      // The node answers from its newest slot, so the next one starts at most one slot after the request.
      const untilMs = startedMs + slotMs
      return { value: { ...result, untilMs }, lifeMs: untilMs - clock.monotonicMs() }
    }
    return cache.get({ key, read, joinMs: slotMs }, work)
  }
}

/** Returns the maximum number of slots between the steps of one read: the maximum age of an answer. */
export function getMaxSlotDistance({ slotMs, maxSlotAgeSec }: Pick<SolanaClient, 'slotMs' | 'maxSlotAgeSec'>): bigint {
  return BigInt(Math.ceil((maxSlotAgeSec * 1_000) / slotMs))
}

/** Computes the slot of an answer, the lowest of its reads, and whether reads are of different slots. */
export function computeAnswerSlot(slots: readonly bigint[]): { readonly slot: bigint; readonly isMixed: boolean } {
  const slot = slots.reduce(minBigint)
  return { slot, isMixed: slots.some((each) => each !== slot) }
}
