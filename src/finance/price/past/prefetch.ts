import type { Address } from 'viem'
import type { Work } from '../../../lib/async/work.ts'
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

/** Reads and stores prices before they are requested. Never throws: the later request reports failures. */
export type PricePrefetcher = ReturnType<typeof createPricePrefetcher>

/** The price outcome of one token at a final block. */
export interface PrefetchedPrice {
  readonly token: Address
  readonly block: PriceBlock
  readonly outcome: HistoricalPriceOutcome
}

/** Creates a prefetcher without pending reads. */
export function createPricePrefetcher(
  client: FinanceClient,
  options: {
    readonly source: PriceSource
    readonly tokens: readonly Address[]
    readonly clock: Clock
    /** Stores prices of final blocks and caches which ones are missing. */
    readonly onPrices: (prices: readonly PrefetchedPrice[]) => Promise<void>
  },
) {
  const { source, tokens, clock, onPrices } = options
  const pendingReads: Promise<readonly BlockPrices[]>[] = []

  async function read(block: PriceBlock, work: Work): Promise<readonly BlockPrices[]> {
    try {
      return [{ block, prices: await readStatePrices(client, { source, tokens, block, clock }, work) }]
    } catch {
      return []
    }
  }

  /** Stores prices of several blocks; compares the unconfirmed claims of one endpoint in one request. */
  async function store(group: readonly BlockPrices[], work: Work): Promise<void> {
    const claims = group.flatMap(({ prices }) => listUnconfirmedClaims(prices))
    const claimantIndex = group[0]?.prices.endpoints[0]
    const confirmed = await compareRounds(client, { claims, claimantIndex, isOnlyComparison: true, clock }, work)
    const prefetched = group.flatMap(({ block, prices }) =>
      [...toPriceOutcomes(prices, confirmed)].map(([token, outcome]) => ({ token, block, outcome })),
    )
    await onPrices(prefetched)
  }

  return {
    /** Starts reading the prices at a final block, in one request with other reads of the block in the same turn. */
    start(block: PriceBlock, work: Work): void {
      pendingReads.push(read(block, work))
    },
    /** Resolves when every started read is stored or has failed. */
    async finish(work: Work): Promise<void> {
      const blockPrices = (await Promise.all(pendingReads.splice(0))).flat()
      const groups = groupBy(blockPrices, ({ prices }) => prices.endpoints.join())
      await Promise.allSettled([...groups.values()].map((group) => store(group, work)))
    },
  }
}

interface BlockPrices {
  readonly block: PriceBlock
  readonly prices: StatePrices
}
