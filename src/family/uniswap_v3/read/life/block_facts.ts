import { type Address, toFunctionSelector } from 'viem'
import { readCalls } from '../../../../chain/call/many/read_calls.ts'
import { wordOf } from '../../../../chain/call/words.ts'
import { createBlockFinder } from '../../../../chain/past/block_at.ts'
import { DisputeError, lifeMsOf, readByQuorum } from '../../../../chain/past/quorum.ts'
import { type Endpoint, LateError } from '../../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../../finance/chain.ts'
import type { OwnPrice, PnlToken } from '../../../../finance/liquidity/flow_price.ts'
import { type BlockFacts, pricedBlocks } from '../../../../finance/liquidity/life.ts'
import { tellsPoolPrice } from '../../../../finance/liquidity/pool_price.ts'
import type { PositionFlow } from '../../../../finance/liquidity/position_flow.ts'
import type { Both } from '../../../../finance/math/pnl/flow.ts'
import type { PriceAtOutcome, PriceBlock } from '../../../../finance/price/past/prices_at.ts'
import type { PriceReader } from '../../../../finance/price/price_reader.ts'
import { together } from '../../../../lib/async/together.ts'
import { createCache } from '../../../../lib/cache.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../../../lib/error.ts'
import { grouped } from '../../../../lib/grouped.ts'
import { createWaves } from './waves.ts'

/** The blocks of a position's flows. */
interface FactsQuestion {
  readonly client: FinanceClient
  readonly pool: Address
  readonly tokens: Both<PnlToken>
  readonly rows: readonly PositionFlow[]
  /** The last block that can never be replaced, so far as is known. */
  readonly finalTo: number
  /** Told how many of the blocks are read. */
  readonly onRead: (blocks: number, of: number) => void
}

/** A question with its flows by block, as it is asked block by block. */
interface SortedQuestion extends FactsQuestion {
  readonly byBlock: ReadonlyMap<number, readonly PositionFlow[]>
}

/**
 * What is known about each block of the flows. What was read is kept, so that whoever asks again goes on from there. Throws
 * `UnavailableError` if the chain cannot be read, `LateError` if its endpoints are too slow for a single block.
 */
type ReadFacts = (question: FactsQuestion, signal: AbortSignal) => Promise<ReadonlyMap<number, BlockFacts>>

const SLOT0 = toFunctionSelector('slot0()')
/** Blocks that are read at the same time, at most. */
const BLOCKS_AT_ONCE = 24
const POOL_PRICES_MAX = 50_000
const TIMES_MAX = 50_000

/** Makes a reader of times and prices, over stored prices, that remembers what it read. */
export function createFactsReader(services: { readonly prices: PriceReader; readonly clock: Clock }): ReadFacts {
  const { prices, clock } = services
  const blocks = createBlockFinder(clock)
  const poolPrices = createCache<bigint>({ clock, entriesMax: POOL_PRICES_MAX })
  const times = createCache<bigint>({ clock, entriesMax: TIMES_MAX })
  const inWaves = createWaves(BLOCKS_AT_ONCE)

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
      return { value: timestampSec, lifeMs: lifeMsOf(client, witnesses) }
    }
    return times.get({ key: `${client.chain.id}:${number}`, read }, signal)
  }

  /** The pool's price at the end of a block, of two endpoints; undefined if none keeps the state of the block. */
  async function poolPriceAt({ client, pool }: FactsQuestion, block: PriceBlock, signal: AbortSignal) {
    const key = `${client.chain.id}:${pool}:${block.number}:${block.hash ?? ''}`
    const calls = [{ to: pool, data: SLOT0 }]
    const at = { chainId: client.chain.id, ...block }
    const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<bigint> => {
      const { results } = await readCalls(endpoint, { calls, block: at, clock }, within)
      const [slot0] = results
      if (slot0 === undefined || slot0.length < 66) throw new UpstreamError(`Pool ${pool} does not answer`)
      return wordOf(slot0, 0)
    }
    const what = `the price of pool ${pool} at block ${block.number}`
    const read = async (shared: AbortSignal) => {
      const options = { signal: shared, past: block, what, textOf: String }
      const { value, endpoints } = await readByQuorum(client, attempt, options)
      return { value, lifeMs: lifeMsOf(client, endpoints.length) }
    }
    try {
      return await poolPrices.get({ key, read }, signal)
    } catch (error) {
      const isMissing =
        error instanceof UnavailableError && !(error instanceof DisputeError || error instanceof LateError)
      if (isMissing) return undefined
      throw error
    }
  }

  async function readSome(
    question: SortedQuestion,
    { some, wanted }: { readonly some: readonly PriceBlock[]; readonly wanted: ReadonlySet<number> },
    signal: AbortSignal,
  ): Promise<[number, BlockFacts][]> {
    const { client, tokens, byBlock, finalTo } = question
    const priced = some.filter(({ number }) => wanted.has(Number(number)))
    const asked = priced.flatMap((block) =>
      tokens.map(({ address: token }) => ({ token, block, isFinal: Number(block.number) <= finalTo })),
    )
    const outcomes = await prices.pricesAt(client, { asker: { kind: 'chain' }, wanted: asked }, signal)
    return await together(
      some.map((block) => async (shared: AbortSignal): Promise<[number, BlockFacts]> => {
        const { timestampSec } = block
        const number = Number(block.number)
        const at = priced.indexOf(block)
        if (at < 0) return [number, { timestampSec }]
        const own: Both<OwnPrice> = [ownOf(outcomes[2 * at]), ownOf(outcomes[2 * at + 1])]
        const isOneMissing = 'because' in own[0] !== 'because' in own[1]
        const isInLogs = byBlock.get(number)?.some(tellsPoolPrice) === true
        if (!isOneMissing || isInLogs) return [number, { timestampSec, own }]
        return [number, { timestampSec, own, sqrtPriceX96: await poolPriceAt(question, block, shared) }]
      }),
      signal,
    )
  }

  return async (asked, signal) => {
    const question = { ...asked, byBlock: grouped(asked.rows, ({ block }) => block) }
    const { client, onRead } = question
    const numbers = [...question.byBlock.keys()]
    const wanted = pricedBlocks(question.rows)
    const facts = new Map<number, BlockFacts>()
    await inWaves({ chainId: client.chain.id, items: numbers }, async (next) => {
      onRead(facts.size, numbers.length)
      const asked = next.map((number) => (shared: AbortSignal) => blockOf(question, number, shared))
      const some = await together(asked, signal)
      for (const [number, known] of await readSome(question, { some, wanted }, signal)) facts.set(number, known)
    })
    return facts
  }
}

function ownOf(outcome: PriceAtOutcome | undefined): OwnPrice {
  if (outcome?.kind === 'price') return outcome.price
  return { because: outcome?.because ?? 'nobody was asked' }
}
