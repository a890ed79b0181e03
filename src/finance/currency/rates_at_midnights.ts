import type { PinnedBlock } from '../../chain/block.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import { memoize } from '../../lib/memoize.ts'
import type { Decimal } from '../../lib/number/decimal.ts'
import type { FinanceClient, UsdFeed } from '../chain.ts'
import type { PriceReader } from '../price/past/price_reader.ts'
import { chooseLender } from './rate.ts'
import type { Currency } from './table.ts'

/** A block older than this is final on every chain, so that its rate may be stored. */
const SETTLED_SEC = 86_400
/** Rates are told however old they are. */
const ANY_AGE_SEC = 2 ** 40

/** Rates of a currency at midnights. */
export interface MidnightRates {
  readonly currency: Currency
  /** The chain of the feed. */
  readonly chainId: number
  /** US dollars per unit of the currency, by midnight; undefined where the feed told none yet. */
  readonly rates: readonly (Decimal | undefined)[]
}

/** Reads rates of currencies at midnights. */
export type MidnightRateReader = ReturnType<typeof createMidnightRateReader>

/** Creates a reader over the served chains; rates at final blocks are stored as prices are, and read from a chain once. */
export function createMidnightRateReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly prices: PriceReader
  readonly clock: Clock
}) {
  const { clients, prices, clock } = options
  return {
    /**
     * Reads the rates at the blocks that `readBlocks` gives of the chain whose feed tells them: the chain itself, else
     * Ethereum. Throws `CodedError` INVALID_PARAMETER if no served chain has a feed, `UnavailableError` if its endpoints
     * cannot tell a rate or contradict each other. Notes rates that rest on the word of one endpoint.
     */
    async read(
      currency: Currency,
      {
        chainId,
        readBlocks,
      }: { readonly chainId: number; readonly readBlocks: (lender: FinanceClient) => Promise<readonly PinnedBlock[]> },
      work: Work,
    ): Promise<MidnightRates> {
      const { lender, feed } = chooseLender(clients, currency, { reads: [{ chainId }], unread: [] })
      const blocks = await readBlocks(lender)
      const requests = blocks.map((block) => ({
        token: feed.feed,
        block,
        isFinal: clock.now() / 1_000 - Number(block.timestampSec) > SETTLED_SEC,
      }))
      const client = getFeedClient(lender)(feed.feed)
      const outcomes = await prices.pricesAt(client, { source: { kind: 'chain' }, requests }, work)
      const rates = outcomes.map((outcome, index) => {
        if (outcome.kind === 'price') return outcome.price
        if (outcome.witnesses > 0) return undefined
        const { id, name } = lender.chain
        throw new UnavailableError(
          `Cannot read the rate of ${currency} at block ${blocks[index]?.number} of chain ${id} (${name}): ${outcome.because}`,
        )
      })
      return { currency, chainId: lender.chain.id, rates }
    },
  }
}

/** Returns the function that creates the client whose one price is the answer of a feed, of any age, halted or not. */
const getFeedClient = memoize((lender: FinanceClient) => {
  const clientsByFeed = new Map<UsdFeed['feed'], FinanceClient>()
  return (feed: UsdFeed['feed']): FinanceClient => {
    const known = clientsByFeed.get(feed)
    if (known !== undefined) return known
    const { sequencerFeed: _, ...prices } = lender.chain.prices
    const usdFeeds = { [feed]: { feed, heartbeatSec: ANY_AGE_SEC } }
    const created = { ...lender, chain: { ...lender.chain, prices: { ...prices, usdFeeds } } }
    clientsByFeed.set(feed, created)
    return created
  }
})
