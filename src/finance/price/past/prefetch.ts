import type { Address } from 'viem'
import type { Clock } from '../../../lib/clock.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { FinanceClient } from '../../chain.ts'
import {
  type HistoricalPriceOutcome,
  listUnconfirmedClaims,
  type PriceBlock,
  readStatePrices,
  type StatePrices,
  toPriceOutcomes,
} from './prices_at.ts'
import { compareRounds } from './round_check.ts'
import type { PriceSource } from './sources.ts'

/** Reads prices before they are wanted, and keeps them. What cannot be read is left to who wants it: nothing is thrown. */
export type PricePrefetcher = ReturnType<typeof createPricePrefetcher>

/** What was read of one token at a final block. */
export interface PrefetchedPrice {
  readonly token: Address
  readonly block: PriceBlock
  readonly outcome: HistoricalPriceOutcome
}

/** Begins with nothing. */
export function createPricePrefetcher(
  client: FinanceClient,
  options: {
    readonly asker: PriceSource
    readonly tokens: readonly Address[]
    readonly clock: Clock
    /** Keeps prices of final blocks, and remembers which are missing. */
    readonly learn: (learned: readonly PrefetchedPrice[]) => Promise<void>
  },
) {
  const { asker, tokens, clock, learn } = options
  const started: Promise<readonly BlockPrices[]>[] = []

  async function read(block: PriceBlock, signal: AbortSignal): Promise<readonly BlockPrices[]> {
    try {
      return [{ block, found: await readStatePrices(client, { asker, tokens, block, clock }, signal) }]
    } catch {
      return []
    }
  }

  /** What one endpoint alone says of several blocks is compared in one request. */
  async function keep(group: readonly BlockPrices[], signal: AbortSignal): Promise<void> {
    const claims = group.flatMap(({ found }) => listUnconfirmedClaims(found))
    const claimant = group[0]?.found.endpoints[0]
    const agreed = await compareRounds(client, { claims, claimant, areAll: true, clock }, signal)
    const learned = group.flatMap(({ block, found }) =>
      [...toPriceOutcomes(found, agreed)].map(([token, outcome]) => ({ token, block, outcome })),
    )
    await learn(learned)
  }

  return {
    /** Starts to read those of a final block, in one request with what is begun about the block in the same turn. */
    start(block: PriceBlock, signal: AbortSignal): void {
      started.push(read(block, signal))
    },
    /** Resolves when all that was started is kept, or cannot be read. */
    async finish(signal: AbortSignal): Promise<void> {
      const read = (await Promise.all(started.splice(0))).flat()
      const groups = groupBy(read, ({ found }) => found.endpoints.join())
      await Promise.allSettled([...groups.values()].map((group) => keep(group, signal)))
    },
  }
}

interface BlockPrices {
  readonly block: PriceBlock
  readonly found: StatePrices
}
