import { createBlockFinder } from '../../../chain/past/block_at.ts'
import { getCacheTtlMs } from '../../../chain/past/quorum.ts'
import { EndpointsTimedOutError } from '../../../chain/rpc/client.ts'
import { allOrAbort } from '../../../lib/async/all_or_abort.ts'
import { createCache } from '../../../lib/async/cache.ts'
import { registerTimeoutError } from '../../../lib/async/timeout_error.ts'
import type { Clock } from '../../../lib/clock.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { FinanceClient } from '../../chain.ts'
import type { Pair } from '../../math/pnl/flow.ts'
import type { PriceReader } from '../../price/past/price_reader.ts'
import type { HistoricalPriceOutcome, PriceBlock } from '../../price/past/prices_at.ts'
import { blocksPendingError, createAdaptiveConcurrency } from './adaptive_concurrency.ts'
import { getPricedToken, type OwnPrice, type PnlToken } from './flow_price.ts'
import { hasPoolPrice } from './pool_price.ts'
import type { PositionFlow } from './position_flow.ts'
import { type BlockFacts, pricedBlocks } from './valued_flows.ts'

/** The square-root price of a pool in Q96 at the end of a block; undefined if no endpoint keeps that state. */
export type ReadPoolPrice = (block: PriceBlock, signal: AbortSignal) => Promise<bigint | undefined>

/** The blocks of a position's flows. */
interface FactsQuestion {
  readonly client: FinanceClient
  readonly tokenId: bigint
  /** Absent if the flows themselves say it. */
  readonly poolPrice?: ReadPoolPrice | undefined
  readonly tokens: Pair<PnlToken>
  readonly rows: readonly PositionFlow[]
  /** The last block that can never be replaced, so far as is known. */
  readonly finalTo: number
}

/** A question with its flows by block, as it is asked block by block. */
type SortedQuestion = FactsQuestion & { readonly byBlock: ReadonlyMap<number, readonly PositionFlow[]> }

/**
 * What is known about each block of the flows. What was read is kept, so that whoever asks again goes on from there. Throws
 * `UnavailableError` if the chain cannot be read; with the progress if its endpoints are too slow for a single block.
 */
type ReadFacts = (question: FactsQuestion, signal: AbortSignal) => Promise<ReadonlyMap<number, BlockFacts>>

/** Blocks that are read at the same time, at most. */
const BLOCKS_AT_ONCE = 24
const TIMES_MAX = 50_000

/** Makes a reader of times and prices, over stored prices, that remembers what it read. */
export function createFactsReader(services: { readonly prices: PriceReader; readonly clock: Clock }): ReadFacts {
  const { prices, clock } = services
  const blocks = createBlockFinder(clock)
  const times = createCache<bigint>({ clock, entriesMax: TIMES_MAX })
  const inWaves = createAdaptiveConcurrency(BLOCKS_AT_ONCE)

  /** A block by the time in its logs; by its header, with its hash, if they have none or it may be replaced. */
  async function blockOf({ client, byBlock, finalTo }: SortedQuestion, number: number, signal: AbortSignal) {
    if (number > finalTo) return await blocks.byNumber(client, BigInt(number), signal)
    const logged = byBlock.get(number)?.[0]?.timestampSec ?? null
    const timestampSec = logged === null ? await timeOf(client, number, signal) : BigInt(logged)
    return { number: BigInt(number), timestampSec }
  }

  /** The time of a final block. */
  function timeOf(client: FinanceClient, number: number, signal: AbortSignal): Promise<bigint> {
    const read = async (shared: AbortSignal) => {
      const { timestampSec, witnesses } = await blocks.byNumber(client, BigInt(number), shared)
      return { value: timestampSec, lifeMs: getCacheTtlMs(client, witnesses) }
    }
    return times.get({ key: `${client.chain.id}:${number}`, read }, signal)
  }

  async function readSome(
    question: SortedQuestion,
    { some, wanted }: { readonly some: readonly PriceBlock[]; readonly wanted: ReadonlySet<number> },
    signal: AbortSignal,
  ): Promise<[number, BlockFacts][]> {
    const { client, tokens, poolPrice, byBlock, finalTo } = question
    const priced = some.filter(({ number }) => wanted.has(Number(number)))
    const asked = priced.flatMap((block) =>
      tokens.map((token) => ({ token: getPricedToken(token), block, isFinal: Number(block.number) <= finalTo })),
    )
    const outcomes = await prices.pricesAt(client, { asker: { kind: 'chain' }, wanted: asked }, signal)
    return await allOrAbort(
      some.map((block) => async (shared: AbortSignal): Promise<[number, BlockFacts]> => {
        const { timestampSec } = block
        const number = Number(block.number)
        const at = priced.indexOf(block)
        if (at < 0) return [number, { timestampSec }]
        const own: Pair<OwnPrice> = [ownOf(tokens[0], outcomes[2 * at]), ownOf(tokens[1], outcomes[2 * at + 1])]
        const isOneMissing = 'because' in own[0] !== 'because' in own[1]
        const isInLogs = byBlock.get(number)?.some(hasPoolPrice) === true
        if (!isOneMissing || isInLogs) return [number, { timestampSec, own }]
        return [number, { timestampSec, own, sqrtPriceX96: await poolPrice?.(block, shared) }]
      }),
      signal,
    )
  }

  return async (asked, signal) => {
    const question = { ...asked, byBlock: groupBy(asked.rows, ({ block }) => block) }
    const { client } = question
    const numbers = [...question.byBlock.keys()]
    const wanted = pricedBlocks(question.rows)
    const facts = new Map<number, BlockFacts>()
    const missing = () =>
      blocksPendingError(question, { what: 'the prices of its flows are', done: facts.size, of: numbers.length })
    registerTimeoutError(signal, missing)
    const reading = inWaves({ chainId: client.chain.id, items: numbers }, async (next) => {
      const asked = next.map((number) => (shared: AbortSignal) => blockOf(question, number, shared))
      const some = await allOrAbort(asked, signal)
      for (const [number, known] of await readSome(question, { some, wanted }, signal)) facts.set(number, known)
    })
    await reading.catch((error: unknown) => {
      throw error instanceof EndpointsTimedOutError ? missing() : error
    })
    return facts
  }
}

function ownOf({ pricedAs }: PnlToken, outcome: HistoricalPriceOutcome | undefined): OwnPrice {
  if (outcome?.kind === 'price') return pricedAs === undefined ? outcome.price : { ...outcome.price, source: 'wrapper' }
  return { because: outcome?.because ?? 'nobody was asked' }
}
