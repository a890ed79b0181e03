import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import type { History, Stream, StreamTarget } from '../../../history/stream.ts'
import type { PendingTip } from '../../../history/tip.ts'
import { yieldIfLarge } from '../../../lib/async/cooperative.ts'
import { registerTimeoutError } from '../../../lib/async/timeout_error.ts'
import type { Clock } from '../../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../../lib/error.ts'
import type { FinanceClient } from '../../chain.ts'
import type { Pair } from '../../math/pnl/flow.ts'
import type { PricePrefetcher } from '../../price/past/prefetch.ts'
import { createPriceReader } from '../../price/past/price_reader.ts'
import { formatPosition } from './adaptive_concurrency.ts'
import { createFactsReader, type ReadPoolPrice } from './block_facts.ts'
import { getPricedToken, type PnlToken } from './flow_price.ts'
import { type CachedHistory, createPositionHistoryCache, replayFrom, unknownRows } from './history_cache.ts'
import type { PositionFlow } from './position_flow.ts'
import type { ReplayedHistory } from './replay.ts'
import type { BlockFacts, PnlSubject } from './valued_flows.ts'

/** Whose life is read. */
export interface PositionHistoryQuery {
  readonly client: FinanceClient
  /** What numbers positions. */
  readonly manager: Address
  readonly tokenId: bigint
  /** The block that the answer is about; absent: the newest that history reaches. */
  readonly block?: bigint | undefined
  /** What was begun beside the read of the position. */
  readonly begun?: PendingTip | undefined
}

/** A position's flows up to a block, oldest first. */
export interface PositionHistory extends ReplayedHistory {
  /** How far history reaches: before `PositionHistoryQuery.block` if the chain's end is too long to be read with an answer. */
  readonly end: PinnedBlock
}

/** Reads lives of positions. */
export interface PositionHistoryReader<Question extends PositionHistoryQuery = PositionHistoryQuery> {
  /** Begins what every life on a chain needs, before it is known whose is asked for. */
  prepare(client: ChainClient, signal: AbortSignal): PendingTip | undefined
  /**
   * Undefined if the position was not there yet, or no position of that id ever was. Throws `UnavailableError` until
   * history is complete.
   */
  read(question: Question, signal: AbortSignal): Promise<PositionHistory | undefined>
}

/** How a family tells the flows of its positions. `Row` is what its stream has. */
export interface PositionHistorySource<Question extends PositionHistoryQuery, Row, Place extends StreamTarget> {
  readonly stream: Stream<Row, Place>
  /** Where a life is told; undefined if there is none up to the block. Throws as `PositionHistoryReader.read`. */
  locate(question: Question, toBlock: bigint, signal: AbortSignal): Promise<HistoryTarget<Place> | undefined>
  /** All flows of a part of a life; undefined if not all of them are stored. Throws as `PositionHistoryReader.read`. */
  flows(question: Question, part: HistoryPart<Row, Place>, signal: AbortSignal): Promise<HistoryFlows | undefined>
  /**
   * What the position was made in, by its first flow and the last block that can never be replaced; `poolPrice` is absent
   * if the flows themselves say the price of their pool. Throws as `PositionHistoryReader.read`.
   */
  born(
    question: Question,
    by: { readonly first: PositionFlow; readonly finalTo: number },
    signal: AbortSignal,
  ): Promise<{ readonly subject: PnlSubject; readonly poolPrice?: ReadPoolPrice }>
}

/** Where a life is told. */
interface HistoryTarget<Place extends StreamTarget> {
  readonly place: Place
  readonly subject: Hex
  /** The position was not there before. */
  readonly startBlock: number
}

/** Which flows are wanted, at most `max` of them. */
interface HistoryPart<Row, Place extends StreamTarget> {
  readonly at: HistoryTarget<Place>
  /** Flows of older blocks are known. */
  readonly fromBlock: number
  /** Rows are stored up to this block, and `tail` are those after it. */
  readonly storedTo: number
  readonly tail: readonly Row[]
  /** Where the history ends. */
  readonly end: PinnedBlock
  readonly max: number
  /** Prices of both tokens, which will be wanted at the blocks of flows. */
  readonly pricesAhead: (tokens: Pair<PnlToken>) => PricePrefetcher
}

/** Flows of a part of a life, oldest first. */
interface HistoryFlows {
  readonly stored: readonly PositionFlow[]
  /** Those that are not final. */
  readonly young: readonly PositionFlow[]
  /** True if stored flows after the block of the question were left out. */
  readonly isCut?: boolean
}

/** More flows than any known position has; each needs up to two prices. */
const FLOWS_MAX = 5_000

/** Makes a reader over stored history. */
export function createPositionHistoryReader<Question extends PositionHistoryQuery, Row, Place extends StreamTarget>(
  services: { readonly db: Database; readonly history: History; readonly clock: Clock },
  source: PositionHistorySource<Question, Row, Place>,
): PositionHistoryReader<Question> {
  const { db, history, clock } = services
  const { stream } = source
  const lives = createPositionHistoryCache(clock)
  const prices = createPriceReader({ db, clock })
  const readFacts = createFactsReader({ prices, clock })

  async function flowsUpTo(question: Question, kept: CachedHistory | undefined, signal: AbortSignal) {
    const { client, tokenId, block, begun } = question
    const toBlock = block ?? (await readNewest(client, signal)).number
    registerTimeoutError(signal, () => mintMissing(question))
    const at = await source.locate(question, toBlock, signal)
    if (at === undefined) return undefined
    const { storedTo, tail, block: end, version } = await history.ensure({ stream, ...at, upTo: block, begun }, signal)
    const isSame = kept !== undefined && kept.version === version
    const before = isSame && kept.storedTo <= storedTo ? kept : undefined
    const fromBlock = Math.max(at.startBlock, (before?.storedTo ?? -1) + 1)
    const pricesAhead = (tokens: Pair<PnlToken>) =>
      prices.ahead(client, { asker: { kind: 'chain' }, tokens: tokens.map(getPricedToken) })
    const part = { at, fromBlock, storedTo, tail, end, max: FLOWS_MAX + 1, pricesAhead }
    const flows = await source.flows(question, part, signal)
    if (flows === undefined) throw new PendingError(`The history of position ${tokenId} is not stored yet`)
    const stored = [...(before?.rows ?? []), ...flows.stored]
    const last = Number(block ?? end.number)
    const rows = [...stored, ...flows.young].filter((flow) => flow.block <= last)
    if (rows.length > FLOWS_MAX) throw new UnavailableError(`Position ${tokenId} has more than ${FLOWS_MAX} flows`)
    return { rows, stored, end, storedTo, before, version, isCut: flows.isCut === true }
  }

  return {
    prepare: ({ chain }, signal) => history.prepare?.(chain.id, signal),
    async read(question, signal) {
      const key = getPositionKey(question)
      const flows = await flowsUpTo(question, lives.find(key), signal)
      const [first] = flows?.rows ?? []
      if (flows === undefined || first === undefined) return undefined
      const { rows, stored, end, storedTo, before, version, isCut } = flows
      const { subject, poolPrice } = await source.born(question, { first, finalTo: storedTo }, signal)
      const known = before?.facts ?? new Map<number, BlockFacts>()
      await yieldIfLarge(rows)
      const { client, tokenId } = question
      const unknown = { rows: unknownRows({ rows, stored }, known), finalTo: storedTo }
      const read = await readFacts({ client, tokenId, poolPrice, tokens: subject.tokens, ...unknown }, signal)
      await yieldIfLarge(rows)
      const facts = read.size === 0 ? known : new Map([...known, ...read])
      // A life up to an earlier block is not kept.
      if (isCut || rows.length < stored.length)
        return { ...(await replayFrom(undefined, { rows, facts, subject })), end }
      const counted = await replayFrom(before?.counted, { rows: stored, facts, subject })
      if (version !== undefined)
        lives.keep(key, { rows: stored, storedTo, version, facts: finalFacts(facts, storedTo), counted })
      return { ...(await replayFrom(counted, { rows, facts, subject })), end }
    },
  }
}

/** Tells positions apart. */
export function getPositionKey({ client, manager, tokenId }: PositionHistoryQuery): string {
  return `${client.chain.id}:${manager}:${tokenId}`
}

/** What can never change: a block of the end may be replaced. */
function finalFacts(facts: ReadonlyMap<number, BlockFacts>, storedTo: number): ReadonlyMap<number, BlockFacts> {
  const blocks = [...facts.keys()]
  return blocks.every((block) => block <= storedTo) ? facts : new Map([...facts].filter(([block]) => block <= storedTo))
}

/** Said if the request's time ends while the mint is looked for; what the search has seen is kept. */
function mintMissing(question: PositionHistoryQuery): PendingError {
  return new PendingError(
    `The history of ${formatPosition(question)} is being read: the block of its mint is being looked for`,
  )
}

function readNewest(client: ChainClient, signal: AbortSignal): Promise<PinnedBlock> {
  return client.read((endpoint, within) => readLatestBlock(endpoint, client.chain.id, within), { signal })
}
