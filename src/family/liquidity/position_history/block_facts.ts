import { createBlockFinder } from '../../../chain/past/block_at.ts'
import { getCacheTtlMs, QUORUM } from '../../../chain/past/quorum.ts'
import { EndpointsTimedOutError } from '../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { Pair } from '../../../finance/math/pnl/flow.ts'
import type { PriceReader } from '../../../finance/price/past/price_reader.ts'
import type { HistoricalPriceOutcome, PriceBlock } from '../../../finance/price/past/prices_at.ts'
import { allOrAbort } from '../../../lib/async/all_or_abort.ts'
import { createCache } from '../../../lib/async/cache.ts'
import { registerTimeoutError } from '../../../lib/async/timeout_error.ts'
import { tellUnwitnessed } from '../../../lib/async/unwitnessed.ts'
import type { Clock } from '../../../lib/clock.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { blocksPendingError, createAdaptiveConcurrency } from './adaptive_concurrency.ts'
import { getPricedToken, type OwnPrice, type PnlToken } from './flow_price.ts'
import { hasPoolPrice } from './pool_price.ts'
import type { PositionFlow } from './position_flow.ts'
import { type BlockFacts, pricedBlocks } from './valued_flows.ts'

/** The square-root price of a pool in Q96 at the end of a block; undefined if no endpoint keeps that state. */
export type ReadPoolPrice = (block: PriceBlock, signal: AbortSignal) => Promise<bigint | undefined>

/** The blocks of a position's flows. */
interface FactsQuery {
  readonly client: FinanceClient
  readonly tokenId: bigint
  /** Absent if the flows themselves contain it. */
  readonly poolPrice?: ReadPoolPrice | undefined
  readonly tokens: Pair<PnlToken>
  readonly rows: readonly PositionFlow[]
  /** The last block known to be final. */
  readonly finalTo: number
}

/** A query with its flows grouped by block. */
type GroupedFactsQuery = FactsQuery & { readonly byBlock: ReadonlyMap<number, readonly PositionFlow[]> }

/**
 * Reads the facts of each block of the flows. Prices and times are cached, so a repeated call continues from there.
 * Throws `UnavailableError` if the chain cannot be read, with the progress if its endpoints are too slow for a single
 * block.
 */
type ReadFacts = (query: FactsQuery, signal: AbortSignal) => Promise<ReadonlyMap<number, BlockFacts>>

/** Most blocks read at the same time. */
const BLOCKS_AT_ONCE = 24
const TIMES_MAX = 50_000

/** Creates a reader of times and prices, over stored prices, with a cache of times. */
export function createFactsReader(services: { readonly prices: PriceReader; readonly clock: Clock }): ReadFacts {
  const { prices, clock } = services
  const blocks = createBlockFinder(clock)
  const times = createCache<bigint>({ clock, entriesMax: TIMES_MAX })
  const runAdaptively = createAdaptiveConcurrency(BLOCKS_AT_ONCE)

  /** Reads a block: its time from its logs, else from its header, with its hash if it may be replaced. */
  async function readBlock({ client, byBlock, finalTo }: GroupedFactsQuery, number: number, signal: AbortSignal) {
    if (number > finalTo) return await blocks.findByNumber(client, BigInt(number), signal)
    const logged = byBlock.get(number)?.[0]?.timestampSec ?? null
    const timestampSec = logged === null ? await readTime(client, number, signal) : BigInt(logged)
    return { number: BigInt(number), timestampSec }
  }

  /** Reads the time of a final block. */
  function readTime(client: FinanceClient, number: number, signal: AbortSignal): Promise<bigint> {
    const read = async (shared: AbortSignal) => {
      const { timestampSec, witnesses } = await blocks.findByNumber(client, BigInt(number), shared)
      return { value: timestampSec, lifeMs: getCacheTtlMs(client, witnesses) }
    }
    return times.get({ key: `${client.chain.id}:${number}`, read }, signal)
  }

  async function readBatch(
    query: GroupedFactsQuery,
    {
      some: batch,
      wanted: pricedNumbers,
    }: { readonly some: readonly PriceBlock[]; readonly wanted: ReadonlySet<number> },
    signal: AbortSignal,
  ): Promise<[number, BlockFacts][]> {
    const { client, tokens, poolPrice, byBlock, finalTo } = query
    const priced = batch.filter(({ number }) => pricedNumbers.has(Number(number)))
    const pricesToRead = priced.flatMap((block) =>
      tokens.map((token) => ({ token: getPricedToken(token), block, isFinal: Number(block.number) <= finalTo })),
    )
    const outcomes = await prices.pricesAt(client, { source: { kind: 'chain' }, requests: pricesToRead }, signal)
    return await allOrAbort(
      batch.map((block) => async (shared: AbortSignal): Promise<[number, BlockFacts]> => {
        const { timestampSec } = block
        const number = Number(block.number)
        const at = priced.indexOf(block)
        if (at < 0) return [number, { timestampSec }]
        const isFinal = number <= finalTo
        const own: Pair<OwnPrice> = [
          toOwnPrice(tokens[0], { outcome: outcomes[2 * at], isFinal }),
          toOwnPrice(tokens[1], { outcome: outcomes[2 * at + 1], isFinal }),
        ]
        const isAlone = [outcomes[2 * at], outcomes[2 * at + 1]].some(
          (each) => each !== undefined && each.witnesses < QUORUM,
        )
        const isOneMissing = 'because' in own[0] !== 'because' in own[1]
        const isInLogs = byBlock.get(number)?.some(hasPoolPrice) === true
        if (!isOneMissing || isInLogs || poolPrice === undefined) return [number, { timestampSec, own, isAlone }]
        const { value, unwitnessed } = await tellUnwitnessed(shared, (part) => poolPrice(block, part))
        return [number, { timestampSec, own, isAlone: isAlone || unwitnessed.size > 0, sqrtPriceX96: value }]
      }),
      signal,
    )
  }

  return async (ungrouped, signal) => {
    const query = { ...ungrouped, byBlock: groupBy(ungrouped.rows, ({ block }) => block) }
    const { client } = query
    const numbers = [...query.byBlock.keys()]
    const pricedNumbers = pricedBlocks(query.rows)
    const facts = new Map<number, BlockFacts>()
    const pendingError = () =>
      blocksPendingError(query, { what: 'the prices of its flows are', done: facts.size, total: numbers.length })
    registerTimeoutError(signal, pendingError)
    const reading = runAdaptively({ chainId: client.chain.id, items: numbers }, async (next) => {
      const blockReads = next.map((number) => (shared: AbortSignal) => readBlock(query, number, shared))
      const batch = await allOrAbort(blockReads, signal)
      for (const [number, blockFacts] of await readBatch(query, { some: batch, wanted: pricedNumbers }, signal))
        facts.set(number, blockFacts)
    })
    await reading.catch((error: unknown) => {
      throw error instanceof EndpointsTimedOutError ? pendingError() : error
    })
    return facts
  }
}

function toOwnPrice(
  { pricedAs }: PnlToken,
  { outcome, isFinal }: { readonly outcome: HistoricalPriceOutcome | undefined; readonly isFinal: boolean },
): OwnPrice {
  if (outcome?.kind === 'price') return pricedAs === undefined ? outcome.price : { ...outcome.price, source: 'wrapper' }
  if (outcome === undefined) return { because: 'no source of its price was asked' }
  return { because: outcome.because, isLasting: isFinal && outcome.witnesses > 0 }
}
