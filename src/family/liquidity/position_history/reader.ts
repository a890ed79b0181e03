import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import { createBlockFinder } from '../../../chain/past/block_at.ts'
import { getCacheTtlMs, isOneWord } from '../../../chain/past/quorum.ts'
import { type ChainClient, isUnavailable } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { Pair } from '../../../finance/math/pnl/flow.ts'
import type { PricePrefetcher } from '../../../finance/price/past/prefetch.ts'
import { createPriceReader, type PriceReader } from '../../../finance/price/past/price_reader.ts'
import type { HistoricalPriceOutcome, PriceBlock } from '../../../finance/price/past/prices_at.ts'
import type { History, Stream, StreamTarget } from '../../../history/stream.ts'
import type { Tip } from '../../../history/tip.ts'
import { createCache } from '../../../lib/async/cache.ts'
import { runCooperatively, yieldIfLarge } from '../../../lib/async/cooperative.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import { noteUnwitnessed, tellUnwitnessed, type Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { createLru } from '../../../lib/lru.ts'
import { blocksPendingError, createAdaptiveConcurrency, formatPosition } from './adaptive_concurrency.ts'
import { createCustodyReader } from './custody_history.ts'
import { type CustodyHistory, type CustodyRead, NO_CUSTODY } from './custody_mark.ts'
import { getPricedToken, hasPoolPrice, type OwnPrice, type PnlToken } from './flow_price.ts'
import { type ReplayedHistory, replayHistory } from './pnl.ts'
import type { PositionFlow } from './position_flow.ts'
import { type BlockFacts, type PnlSubject, pricedBlocks, type ValuedFlow, valueFlowsInSteps } from './valued_flows.ts'

/** The position whose history is read. */
export interface PositionHistoryQuery {
  readonly client: FinanceClient
  /** The contract that numbers positions. */
  readonly manager: Address
  readonly tokenId: bigint
  /** The block of the answer; absent: the newest that history reaches. */
  readonly block?: bigint | undefined
  /** The chain tip whose read started along with the read of the position. */
  readonly pendingTip?: Promise<Tip> | undefined
}

/** A position's flows up to a block, oldest first. */
export interface PositionHistory extends ReplayedHistory {
  /** Where history ends: before `PositionHistoryQuery.block` if the tail is too long to be read with an answer. */
  readonly end: PinnedBlock
  /** What custodians did with it up to there; `because` never makes the rest wrong. */
  readonly custody: CustodyHistory
}

/** Reads histories of positions. */
export interface PositionHistoryReader<Query extends PositionHistoryQuery = PositionHistoryQuery> {
  /** Reads the chain's tip while the position is searched. */
  readTip(client: ChainClient, work: Work): Promise<Tip> | undefined
  /**
   * Reads a history; undefined if the position was not minted up to the block. Notes if logs or prices rest on the word
   * of one endpoint. Throws `UnavailableError` until history is complete.
   */
  read(query: Query, work: Work): Promise<PositionHistory | undefined>
}

/** How a family reads the flows of its positions. `Row` is a row of its stream. */
export interface PositionHistorySource<Query extends PositionHistoryQuery, Row, Target extends StreamTarget> {
  readonly stream: Stream<Row, Target>
  /** Finds the source of a history; undefined if there is none up to the block. Throws as `read` of the reader. */
  locate(query: Query, toBlock: bigint, work: Work): Promise<HistoryTarget<Target> | undefined>
  /** Reads all flows of a part; undefined if some are not stored. Throws as `PositionHistoryReader.read`. */
  readFlows(query: Query, part: HistoryPart<Row, Target>, work: Work): Promise<HistoryFlows | undefined>
  /** Reads the origin of the position, from its first flow and the last final block. Throws as `PositionHistoryReader.read`. */
  readOrigin(
    query: Query,
    bounds: { readonly first: PositionFlow; readonly finalTo: number },
    work: Work,
  ): Promise<HistoryOrigin>
  /**
   * Reads what custodians logged of the position from a block on; undefined if that cannot be known. Absent: no custodian
   * holds positions. Throws as `PositionHistoryReader.read`.
   */
  readonly readCustody?: (query: Query, startBlock: number, work: Work) => Promise<CustodyRead | undefined>
}

/** The source of a history: a target and subject of its stream. */
interface HistoryTarget<Target extends StreamTarget> {
  readonly target: Target
  readonly subject: Hex
  /** A block before which the position did not exist. */
  readonly startBlock: number
}

/** What the first flow of a position tells. */
interface HistoryOrigin {
  /** Its tokens and range. */
  readonly subject: PnlSubject
  /** Absent if the flows themselves contain the price of their pool. */
  readonly poolPrice?: ReadPoolPrice
  /** Reads as `readCustody` where only its pool tells what may have held it. */
  readonly readCustody?: (startBlock: number, work: Work) => Promise<CustodyRead | undefined>
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
  const completeCustody = createCustodyReader({ prices, clock })

  async function readFlowsUpTo(query: Query, cached: CachedHistory | undefined, work: Work) {
    const { client, tokenId, block, pendingTip } = query
    const toBlock = block ?? (await readNewest(client, work)).number
    work.onTimeout(() => mintPendingError(query))
    const at = await source.locate(query, toBlock, work)
    if (at === undefined) return undefined
    const custody = source.readCustody?.(query, at.startBlock, work)
    // It is awaited later, and may have failed by then.
    custody?.catch(() => {})
    const {
      storedTo,
      tail,
      block: end,
      version,
      isAgreed,
    } = await history.ensure({ stream, ...at, upTo: block, pendingTip }, work)
    if (!isAgreed) noteUnwitnessed(work, [client.chain.id])
    const isSame = cached !== undefined && cached.version === version
    const before = isSame && cached.storedTo <= storedTo ? cached : undefined
    const fromBlock = Math.max(at.startBlock, (before?.storedTo ?? -1) + 1)
    const pricesAhead = (tokens: Pair<PnlToken>) =>
      prices.createPrefetcher(client, { source: { kind: 'chain' }, tokens: tokens.map(getPricedToken) })
    const part = { at, fromBlock, storedTo, tail, end, max: FLOWS_MAX + 1, pricesAhead }
    const flows = await source.readFlows(query, part, work)
    if (flows === undefined) throw new PendingError(`The history of position ${tokenId} is not stored yet`)
    const stored = [...(before?.rows ?? []), ...flows.stored]
    const last = Number(block ?? end.number)
    const rows = [...stored, ...flows.young].filter((flow) => flow.block <= last)
    if (rows.length > FLOWS_MAX) throw new UnavailableError(`Position ${tokenId} has more than ${FLOWS_MAX} flows`)
    const { startBlock } = at
    return { rows, stored, end, storedTo, before, version, startBlock, custody, isCut: flows.isCut === true }
  }

  return {
    readTip: ({ chain }, work) => history.readTip?.(chain.id, work),
    async read(query, work) {
      const key = getPositionKey(query)
      const flows = await readFlowsUpTo(query, cache.find(key), work)
      const [first] = flows?.rows ?? []
      if (flows === undefined || first === undefined) return undefined
      const { rows, stored, end, storedTo, before, version, isCut } = flows
      const origin = await source.readOrigin(query, { first, finalTo: storedTo }, work)
      const { subject, poolPrice } = origin
      const reading = origin.readCustody?.(flows.startBlock, work) ?? flows.custody
      reading?.catch(() => {})
      const knownFacts = before?.facts ?? new Map<number, BlockFacts>()
      await yieldIfLarge(rows)
      const { client, tokenId } = query
      const unknownFlows = { rows: filterUnknownRows({ rows, stored }, knownFacts), finalTo: storedTo }
      const newFacts = await readFacts({ client, tokenId, poolPrice, tokens: subject.tokens, ...unknownFlows }, work)
      await yieldIfLarge(rows)
      const facts = newFacts.size === 0 ? knownFacts : new Map([...knownFacts, ...newFacts])
      if (rows.some(({ block }) => facts.get(block)?.isAlone)) noteUnwitnessed(work, [client.chain.id])
      const custody =
        reading === undefined
          ? NO_CUSTODY
          : await completeCustody(client, { reading, end: { number: query.block ?? end.number } }, work)
      // A history up to an earlier block is not cached.
      if (isCut || rows.length < stored.length)
        return { ...(await replayFrom(undefined, { rows, facts, subject })), end, custody }
      const replayed = await replayFrom(before?.replayed, { rows: stored, facts, subject })
      if (version !== undefined)
        cache.store(key, { rows: stored, storedTo, version, facts: filterFinalFacts(facts, storedTo), replayed })
      return { ...(await replayFrom(replayed, { rows, facts, subject })), end, custody }
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

function readNewest(client: ChainClient, work: Work): Promise<PinnedBlock> {
  return client.read((endpoint, within) => readLatestBlock(endpoint, client.chain.id, within), { work })
}

/** The square-root price of a pool in Q96 at the end of a block; undefined if no endpoint keeps that state. */
type ReadPoolPrice = (block: PriceBlock, work: Work) => Promise<bigint | undefined>

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
type ReadFacts = (query: FactsQuery, work: Work) => Promise<ReadonlyMap<number, BlockFacts>>

/** Most blocks read at the same time. */
const BLOCKS_AT_ONCE = 24
const TIMES_MAX = 50_000

/** Creates a reader of times and prices, over stored prices, with a cache of times. */
function createFactsReader(services: { readonly prices: PriceReader; readonly clock: Clock }): ReadFacts {
  const { prices, clock } = services
  const blocks = createBlockFinder(clock)
  const times = createCache<bigint>({ clock, entriesMax: TIMES_MAX })
  const runAdaptively = createAdaptiveConcurrency(BLOCKS_AT_ONCE)

  /** Reads a block: its time from its logs, else from its header, with its hash if it may be replaced. */
  async function readBlock({ client, byBlock, finalTo }: GroupedFactsQuery, number: number, work: Work) {
    if (number > finalTo) return await blocks.findReportedBlock(client, BigInt(number), work)
    const logged = byBlock.get(number)?.[0]?.timestampSec ?? null
    const timestampSec = logged === null ? await readTime(client, number, work) : BigInt(logged)
    return { number: BigInt(number), timestampSec }
  }

  /** Reads the time of a final block. */
  function readTime(client: FinanceClient, number: number, work: Work): Promise<bigint> {
    const read = async (shared: Work) => {
      const { timestampSec, witnesses } = await blocks.findReportedBlock(client, BigInt(number), shared)
      return { value: timestampSec, lifeMs: getCacheTtlMs(client, witnesses) }
    }
    return times.get({ key: `${client.chain.id}:${number}`, read }, work)
  }

  async function readBatch(
    query: GroupedFactsQuery,
    {
      some: batch,
      wanted: pricedNumbers,
    }: { readonly some: readonly PriceBlock[]; readonly wanted: ReadonlySet<number> },
    work: Work,
  ): Promise<[number, BlockFacts][]> {
    const { client, tokens, poolPrice, byBlock, finalTo } = query
    const priced = batch.filter(({ number }) => pricedNumbers.has(Number(number)))
    const pricesToRead = priced.flatMap((block) =>
      tokens.map((token) => ({ token: getPricedToken(token), block, isFinal: Number(block.number) <= finalTo })),
    )
    const outcomes = await prices.pricesAt(client, { source: { kind: 'chain' }, requests: pricesToRead }, work)
    return await allOrAbort(
      batch.map((block) => async (shared: Work): Promise<[number, BlockFacts]> => {
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
          (each) => each !== undefined && isOneWord(each.witnesses),
        )
        const isOneMissing = 'because' in own[0] !== 'because' in own[1]
        const isInLogs = byBlock.get(number)?.some(hasPoolPrice) === true
        if (!isOneMissing || isInLogs || poolPrice === undefined) return [number, { timestampSec, own, isAlone }]
        const { value, unwitnessed } = await tellUnwitnessed(shared, (part) => poolPrice(block, part))
        return [number, { timestampSec, own, isAlone: isAlone || unwitnessed.size > 0, sqrtPriceX96: value }]
      }),
      work,
    )
  }

  return async (ungrouped, work) => {
    const query = { ...ungrouped, byBlock: groupBy(ungrouped.rows, ({ block }) => block) }
    const { client } = query
    const numbers = [...query.byBlock.keys()]
    const pricedNumbers = pricedBlocks(query.rows)
    const facts = new Map<number, BlockFacts>()
    const pendingError = () =>
      blocksPendingError(query, { what: 'the prices of its flows are', done: facts.size, total: numbers.length })
    work.onTimeout(pendingError)
    const reading = runAdaptively({ chainId: client.chain.id, items: numbers }, async (next) => {
      const blockReads = next.map((number) => (shared: Work) => readBlock(query, number, shared))
      const batch = await allOrAbort(blockReads, work)
      for (const [number, blockFacts] of await readBatch(query, { some: batch, wanted: pricedNumbers }, work))
        facts.set(number, blockFacts)
    })
    await reading.catch((error: unknown) => {
      throw isUnavailable(error, 'late') ? pendingError() : error
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

/** A history read up to a final block. It expires soon, because stored history may be dropped and read anew. */
interface CachedHistory {
  /** All rows up to `storedTo`. */
  readonly rows: readonly PositionFlow[]
  readonly storedTo: number
  /** See `Ensured`. */
  readonly version: string
  readonly facts: ReadonlyMap<number, BlockFacts>
  readonly replayed: ReplayedHistory
}

/** Time to live of a history, milliseconds; reads do not extend it. */
const TTL_MS = 60_000
const HISTORIES_MAX = 2_000
/** Most flows of all cached histories, about a kilobyte each. */
const CACHED_FLOWS_MAX = 25_000

/** Caches recently read position histories with their replay. */
function createPositionHistoryCache(clock: Clock) {
  const histories = createLru<CachedHistory & { readonly untilMs: number }>({
    entriesMax: HISTORIES_MAX,
    weightMax: CACHED_FLOWS_MAX,
    getWeight: ({ rows }) => 1 + rows.length,
  })

  function find(key: string) {
    const cached = histories.get(key)
    if (cached === undefined || cached.untilMs > clock.monotonicMs()) return cached
    histories.delete(key)
    return undefined
  }

  return {
    find,
    store(key: string, history: CachedHistory): void {
      // A missing price may be there at the next read.
      const isMissing = ({ prices }: ValuedFlow) => prices !== undefined && 'because' in prices
      if (history.replayed.flows.some(isMissing)) return
      histories.set(key, { ...history, untilMs: find(key)?.untilMs ?? clock.monotonicMs() + TTL_MS })
    },
  }
}

/** Filters the rows of blocks that lack facts. `stored` is the stored part of `rows`. */
function filterUnknownRows(
  { rows, stored }: { readonly rows: readonly PositionFlow[]; readonly stored: readonly PositionFlow[] },
  facts: ReadonlyMap<number, BlockFacts>,
): readonly PositionFlow[] {
  const priced = new Set([...pricedBlocks(rows), ...pricedBlocks(stored)])
  return rows.filter(({ block }) => {
    const blockFacts = facts.get(block)
    return blockFacts === undefined || (blockFacts.own === undefined && priced.has(block))
  })
}

/** Replays rows cooperatively, starting from the cached replay of the oldest ones. */
async function replayFrom(
  cached: ReplayedHistory | undefined,
  { rows, ...input }: Pick<CachedHistory, 'rows' | 'facts'> & { readonly subject: PnlSubject },
): Promise<ReplayedHistory> {
  const { subject } = input
  const before = cached !== undefined && isSame(cached.subject, subject) ? cached : undefined
  const first = before?.flows.length ?? 0
  const isNext = before !== undefined && rows[first - 1] === before.flows[first - 1]?.row
  if (isNext && rows.length === first) return before
  const flows = await runCooperatively(valueFlowsInSteps(rows, input))
  await yieldIfLarge(flows)
  return replayHistory(flows, { subject, before: isNext ? before : undefined })
}

function isSame(a: PnlSubject, b: PnlSubject): boolean {
  return (
    a.tickLower === b.tickLower &&
    a.tickUpper === b.tickUpper &&
    a.tokens.every(({ address, decimals }, index) => {
      const other = b.tokens[index]
      return other?.address === address && other.decimals === decimals
    })
  )
}
