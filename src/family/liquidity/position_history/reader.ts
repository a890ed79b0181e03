import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { Pair } from '../../../finance/math/pnl/flow.ts'
import type { PricePrefetcher } from '../../../finance/price/past/prefetch.ts'
import { createPriceReader } from '../../../finance/price/past/price_reader.ts'
import type { History, Stream, StreamTarget } from '../../../history/stream.ts'
import type { PendingTip } from '../../../history/tip.ts'
import { yieldIfLarge } from '../../../lib/async/cooperative.ts'
import { registerTimeoutError } from '../../../lib/async/timeout_error.ts'
import { noteUnwitnessed } from '../../../lib/async/unwitnessed.ts'
import type { Clock } from '../../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../../lib/error.ts'
import { formatPosition } from './adaptive_concurrency.ts'
import { createFactsReader, type ReadPoolPrice } from './block_facts.ts'
import { getPricedToken, type PnlToken } from './flow_price.ts'
import { type CachedHistory, createPositionHistoryCache, filterUnknownRows, replayFrom } from './history_cache.ts'
import type { PositionFlow } from './position_flow.ts'
import type { ReplayedHistory } from './replay.ts'
import type { BlockFacts, PnlSubject } from './valued_flows.ts'

/** The position whose history is read. */
export interface PositionHistoryQuery {
  readonly client: FinanceClient
  /** The contract that numbers positions. */
  readonly manager: Address
  readonly tokenId: bigint
  /** The block of the answer; absent: the newest that history reaches. */
  readonly block?: bigint | undefined
  /** The chain tip whose read started along with the read of the position. */
  readonly pendingTip?: PendingTip | undefined
}

/** A position's flows up to a block, oldest first. */
export interface PositionHistory extends ReplayedHistory {
  /** Where history ends: before `PositionHistoryQuery.block` if the tail is too long to be read with an answer. */
  readonly end: PinnedBlock
}

/** Reads histories of positions. */
export interface PositionHistoryReader<Query extends PositionHistoryQuery = PositionHistoryQuery> {
  /** Prefetches the chain tip before the position is known. */
  prepare(client: ChainClient, signal: AbortSignal): PendingTip | undefined
  /**
   * Reads a history; undefined if the position was not minted up to the block. Notes if logs or prices rest on the word
   * of one endpoint. Throws `UnavailableError` until history is complete.
   */
  read(query: Query, signal: AbortSignal): Promise<PositionHistory | undefined>
}

/** How a family reads the flows of its positions. `Row` is a row of its stream. */
export interface PositionHistorySource<Query extends PositionHistoryQuery, Row, Target extends StreamTarget> {
  readonly stream: Stream<Row, Target>
  /** Finds the source of a history; undefined if there is none up to the block. Throws as `read` of the reader. */
  locate(query: Query, toBlock: bigint, signal: AbortSignal): Promise<HistoryTarget<Target> | undefined>
  /** Reads all flows of a part; undefined if some are not stored. Throws as `PositionHistoryReader.read`. */
  readFlows(query: Query, part: HistoryPart<Row, Target>, signal: AbortSignal): Promise<HistoryFlows | undefined>
  /**
   * Reads tokens and range of the position, from its first flow and the last final block; `poolPrice` is absent if the
   * flows themselves contain the price of their pool. Throws as `PositionHistoryReader.read`.
   */
  readOrigin(
    query: Query,
    bounds: { readonly first: PositionFlow; readonly finalTo: number },
    signal: AbortSignal,
  ): Promise<{ readonly subject: PnlSubject; readonly poolPrice?: ReadPoolPrice }>
}

/** The source of a history: a target and subject of its stream. */
interface HistoryTarget<Target extends StreamTarget> {
  readonly target: Target
  readonly subject: Hex
  /** A block before which the position did not exist. */
  readonly startBlock: number
}

/** A part of a history to read, at most `max` flows. */
interface HistoryPart<Row, Target extends StreamTarget> {
  readonly at: HistoryTarget<Target>
  /** First block; flows of older blocks are cached. */
  readonly fromBlock: number
  /** Rows are stored up to this block; `tail` has those after it. */
  readonly storedTo: number
  readonly tail: readonly Row[]
  /** Where the history ends. */
  readonly end: PinnedBlock
  readonly max: number
  /** Creates a prefetcher of both tokens' prices at the blocks of flows. */
  readonly pricesAhead: (tokens: Pair<PnlToken>) => PricePrefetcher
}

/** Flows of a part of a history, oldest first. */
interface HistoryFlows {
  readonly stored: readonly PositionFlow[]
  /** Flows that are not final. */
  readonly young: readonly PositionFlow[]
  /** True if stored flows after the queried block were left out. */
  readonly isCut?: boolean
}

/** More flows than any known position has; each needs up to two prices. */
const FLOWS_MAX = 5_000

/** Creates a reader over stored history. */
export function createPositionHistoryReader<Query extends PositionHistoryQuery, Row, Target extends StreamTarget>(
  services: { readonly db: Database; readonly history: History; readonly clock: Clock },
  source: PositionHistorySource<Query, Row, Target>,
): PositionHistoryReader<Query> {
  const { db, history, clock } = services
  const { stream } = source
  const cache = createPositionHistoryCache(clock)
  const prices = createPriceReader({ db, clock })
  const readFacts = createFactsReader({ prices, clock })

  async function readFlowsUpTo(query: Query, cached: CachedHistory | undefined, signal: AbortSignal) {
    const { client, tokenId, block, pendingTip } = query
    const toBlock = block ?? (await readNewest(client, signal)).number
    registerTimeoutError(signal, () => mintPendingError(query))
    const at = await source.locate(query, toBlock, signal)
    if (at === undefined) return undefined
    const {
      storedTo,
      tail,
      block: end,
      version,
      isAgreed,
    } = await history.ensure({ stream, ...at, upTo: block, pendingTip }, signal)
    if (!isAgreed) noteUnwitnessed(signal, [client.chain.id])
    const isSame = cached !== undefined && cached.version === version
    const before = isSame && cached.storedTo <= storedTo ? cached : undefined
    const fromBlock = Math.max(at.startBlock, (before?.storedTo ?? -1) + 1)
    const pricesAhead = (tokens: Pair<PnlToken>) =>
      prices.createPrefetcher(client, { source: { kind: 'chain' }, tokens: tokens.map(getPricedToken) })
    const part = { at, fromBlock, storedTo, tail, end, max: FLOWS_MAX + 1, pricesAhead }
    const flows = await source.readFlows(query, part, signal)
    if (flows === undefined) throw new PendingError(`The history of position ${tokenId} is not stored yet`)
    const stored = [...(before?.rows ?? []), ...flows.stored]
    const last = Number(block ?? end.number)
    const rows = [...stored, ...flows.young].filter((flow) => flow.block <= last)
    if (rows.length > FLOWS_MAX) throw new UnavailableError(`Position ${tokenId} has more than ${FLOWS_MAX} flows`)
    return { rows, stored, end, storedTo, before, version, isCut: flows.isCut === true }
  }

  return {
    prepare: ({ chain }, signal) => history.prepare?.(chain.id, signal),
    async read(query, signal) {
      const key = getPositionKey(query)
      const flows = await readFlowsUpTo(query, cache.find(key), signal)
      const [first] = flows?.rows ?? []
      if (flows === undefined || first === undefined) return undefined
      const { rows, stored, end, storedTo, before, version, isCut } = flows
      const { subject, poolPrice } = await source.readOrigin(query, { first, finalTo: storedTo }, signal)
      const knownFacts = before?.facts ?? new Map<number, BlockFacts>()
      await yieldIfLarge(rows)
      const { client, tokenId } = query
      const unknownFlows = { rows: filterUnknownRows({ rows, stored }, knownFacts), finalTo: storedTo }
      const newFacts = await readFacts({ client, tokenId, poolPrice, tokens: subject.tokens, ...unknownFlows }, signal)
      await yieldIfLarge(rows)
      const facts = newFacts.size === 0 ? knownFacts : new Map([...knownFacts, ...newFacts])
      if (rows.some(({ block }) => facts.get(block)?.isAlone)) noteUnwitnessed(signal, [client.chain.id])
      // A history up to an earlier block is not cached.
      if (isCut || rows.length < stored.length)
        return { ...(await replayFrom(undefined, { rows, facts, subject })), end }
      const replayed = await replayFrom(before?.replayed, { rows: stored, facts, subject })
      if (version !== undefined)
        cache.store(key, { rows: stored, storedTo, version, facts: filterFinalFacts(facts, storedTo), replayed })
      return { ...(await replayFrom(replayed, { rows, facts, subject })), end }
    },
  }
}

/** Returns a key that identifies a position. */
export function getPositionKey({ client, manager, tokenId }: PositionHistoryQuery): string {
  return `${client.chain.id}:${manager}:${tokenId}`
}

/** Filters the facts of final blocks: a later block may be replaced. */
function filterFinalFacts(facts: ReadonlyMap<number, BlockFacts>, storedTo: number): ReadonlyMap<number, BlockFacts> {
  const blocks = [...facts.keys()]
  return blocks.every((block) => block <= storedTo) ? facts : new Map([...facts].filter(([block]) => block <= storedTo))
}

/** The error if the request times out during the search for the mint; the search keeps the mints that it has seen. */
function mintPendingError(query: PositionHistoryQuery): PendingError {
  return new PendingError(
    `The history of ${formatPosition(query)} is being read: the block of its mint is being looked for`,
  )
}

function readNewest(client: ChainClient, signal: AbortSignal): Promise<PinnedBlock> {
  return client.read((endpoint, within) => readLatestBlock(endpoint, client.chain.id, within), { signal })
}
