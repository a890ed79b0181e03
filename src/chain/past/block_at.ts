import { createCache } from '../../lib/async/cache.ts'
import { allOrAbort } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { PinnedBlock } from '../block.ts'
import { readBlock } from '../evm/read_block.ts'
import { type ChainClient, type Endpoint, isUnavailable, type PastBlock } from '../rpc/client.ts'
import { EndpointError, hasFault } from '../rpc/error.ts'
import { getCacheTtlMs, isCacheableForever, QUORUM, readByQuorum } from './quorum.ts'

/** Time limit of one search over all its headers, milliseconds. */
const SEARCH_BUDGET_MS = 4_000
/** Far more than a search over any chain needs; it stops searches over inconsistent answers. */
const PROBES_MAX = 100
/** A block older than this is final on every chain, so agreed results are permanent. */
const SETTLED_SEC = 86_400
const ENTRIES_MAX = 10_000

/** The chain has no block at the moment or height: all are earlier, or all are later. `nearest` is the closest one. */
export class NoBlockError extends Error {
  override readonly name = 'NoBlockError'
  readonly nearest: PinnedBlock

  constructor(nearest: PinnedBlock) {
    super('The chain has no such block')
    this.nearest = nearest
  }
}

/** A block and the number of endpoints that gave it. */
export type WitnessedBlock = PinnedBlock & { readonly witnesses: number }

/** Moments to find blocks for. With `isOver` a block counts only if a later block proves that it is the last one. */
interface TimesQuery {
  readonly timesSec: readonly bigint[]
  readonly isOver: boolean
}

/** Result of a search: the block and, unless it is the newest one, the block after it; or no block. */
type Search =
  | { readonly block: PinnedBlock; readonly next: PinnedBlock | undefined }
  | { readonly none: NoBlockError; readonly isTooEarly: boolean }

/** Creates a finder of past blocks, pinned by hash. It caches blocks that are final and that endpoints agree on. */
export function createBlockFinder(clock: Clock) {
  const cache = createCache<WitnessedBlock>({ clock, entriesMax: ENTRIES_MAX })
  const points = createFinalBlockCache()
  const isSettled = (timeSec: bigint) => clock.now() / 1_000 - Number(timeSec) > SETTLED_SEC

  /** Searches moments on one endpoint; results in the order of `timesSec`. */
  async function searchTimes(
    endpoint: Endpoint,
    { timesSec, isOver, chain }: TimesQuery & Pick<ChainClient, 'chain'>,
    work: Work,
  ): Promise<Search[]> {
    const { id: chainId, blockTimeMs } = chain
    const searchesByTime = new Map<bigint, Search>()
    const ascending = timesSec.toSorted((a, b) => Number(a - b))
    const latest = ascending.at(-1) ?? 0n
    /** Number of headers read so far, by moment that is still searched. */
    const probesByTime = new Map(ascending.map((timeSec) => [timeSec, 0]))
    let knownBlocks = points.getAround(chainId, timesSec)
    if (findBracket(knownBlocks, latest) === undefined) {
      const newest = await readBlock(endpoint, { chainId, number: 'latest' }, work)
      // Only in this case the result depends on how recent the endpoint's head is.
      if (newest.timestampSec <= latest) endpoint.observeBlock(newest)
      if (newest.number > (knownBlocks.at(-1)?.number ?? -1n)) knownBlocks = [...knownBlocks, newest]
      for (const timeSec of timesSec) {
        if (findBracket(knownBlocks, timeSec) !== undefined) continue
        const isFuture = newest.timestampSec < timeSec && Number(timeSec) > clock.now() / 1_000
        const isEnd = !isOver && !isFuture
        const noBlock = { none: new NoBlockError(newest), isTooEarly: false }
        searchesByTime.set(timeSec, isEnd ? { block: newest, next: undefined } : noBlock)
        probesByTime.delete(timeSec)
      }
    }
    for (let rounds = 0; rounds < PROBES_MAX; rounds++) {
      const numbers = new Set<bigint>()
      const [first = latest] = probesByTime.keys()
      for (const [timeSec, probes] of probesByTime) {
        const bracket = findBracket(knownBlocks, timeSec)
        if (bracket === undefined) throw new UpstreamError('The endpoint gives a block another time than before')
        const number = nextProbe(bracket, { timeSec, blockTimeMs, probes })
        if (number === undefined) {
          searchesByTime.set(timeSec, toSearch(bracket))
          probesByTime.delete(timeSec)
        } else if (bracket.before !== undefined || timeSec === first) {
          // Among moments before all known blocks only the first is probed; its headers bracket the others.
          numbers.add(number)
          probesByTime.set(timeSec, probes + 1)
        }
      }
      if (numbers.size === 0) return timesSec.flatMap((timeSec) => searchesByTime.get(timeSec) ?? [])
      const read = [...numbers].map((number) => (within: Work) => readBlock(endpoint, { chainId, number }, within))
      knownBlocks = [...knownBlocks, ...(await allOrAbort(read, work))].sort((a, b) => (a.number < b.number ? -1 : 1))
    }
    throw new EndpointError('no_block', 'The endpoint leads to no block of that time')
  }

  async function findTimes(
    client: ChainClient,
    query: TimesQuery,
    work: Work,
  ): Promise<(WitnessedBlock | NoBlockError)[]> {
    const { chain } = client
    const { timesSec, isOver } = query
    const mayDiffer = !timesSec.every(isSettled)
    const attempt = async (endpoint: Endpoint, within: Work): Promise<readonly Search[]> => {
      const searches = await searchTimes(endpoint, { ...query, chain }, within)
      // An honest endpoint may not yet have the block of a recent moment.
      for (const search of searches) if (mayDiffer && 'none' in search) throw search.none
      return searches
    }
    const [first, ...remaining] = timesSec
    const { value, endpoints } = await readByQuorum(client, attempt, {
      work,
      past: 'header',
      budgetMs: SEARCH_BUDGET_MS,
      priority: isOver ? 'background' : 'caller',
      quorum: mayDiffer && !isOver ? 1 : QUORUM,
      what: `the block at ${first}${remaining.length > 0 ? ` and ${remaining.length} more` : ''}`,
      toText: (searches) => searches.map(formatSearch).join(';'),
    })
    return value.map((search) => {
      if ('none' in search) return search.none
      const { block, next } = search
      if (next !== undefined && isCacheableForever(client, endpoints.length))
        for (const each of [next, block]) if (isSettled(each.timestampSec)) points.add(each)
      return { ...block, witnesses: endpoints.length }
    })
  }

  async function findTime(
    client: ChainClient,
    { timeSec, isOver }: { readonly timeSec: bigint; readonly isOver: boolean },
    work: Work,
  ): Promise<WitnessedBlock> {
    const [block] = await findTimes(client, { timesSec: [timeSec], isOver }, work)
    if (block === undefined || block instanceof NoBlockError) throw block
    return block
  }

  /** Endpoints may differ on a young block; the answer then uses one endpoint and is not cached. */
  async function findNumber(client: ChainClient, number: bigint, work: Work): Promise<WitnessedBlock> {
    try {
      return await readNumber(client, { number, quorum: QUORUM }, work)
    } catch (error) {
      if (!isUnavailable(error, 'disputed')) throw error
      const unconfirmed = await readNumber(client, { number, quorum: 1 }, work)
      if (isSettled(unconfirmed.timestampSec)) throw error
      return unconfirmed
    }
  }

  function getCached(
    client: ChainClient,
    { name, find }: { readonly name: string; readonly find: (work: Work) => Promise<WitnessedBlock> },
    work: Work,
  ): Promise<WitnessedBlock> {
    const read = async (shared: Work) => {
      const value = await find(shared)
      return { value, lifeMs: isSettled(value.timestampSec) ? getCacheTtlMs(client, value.witnesses) : 0 }
    }
    return cache.get({ key: `${client.chain.id}:${name}`, read }, work)
  }

  const findByNumber = (client: ChainClient, number: bigint, work: Work) => {
    const find = (shared: Work) => findNumber(client, number, shared)
    return getCached(client, { name: `number:${number}`, find }, work)
  }

  const findByTime = (client: ChainClient, query: Parameters<typeof findTime>[1], work: Work) => {
    const name = `${query.isOver ? 'over' : 'time'}:${query.timeSec}`
    return getCached(client, { name, find: (shared) => findTime(client, query, shared) }, work)
  }

  return {
    /**
     * Finds the block at a height. Throws `NoBlockError` above the newest block, `ChainUnavailableError` (disputed) if
     * endpoints disagree on a final block, else as `ChainClient.read`.
     */
    findByNumber,
    /**
     * Finds the same block, at a height that an endpoint reported before: above the newest block of all that answer now,
     * which lag behind or have replaced it, throws `UnavailableError`.
     */
    async findReportedBlock(client: ChainClient, number: bigint, work: Work): Promise<WitnessedBlock> {
      try {
        return await findByNumber(client, number, work)
      } catch (error) {
        if (!(error instanceof NoBlockError)) throw error
        const { id, name } = client.chain
        throw new UnavailableError(
          `Cannot read block ${number} of chain ${id} (${name}): its endpoints have blocks up to ${error.nearest.number} ` +
            'only, ask again',
        )
      }
    },
    /**
     * Finds the last block at or before a moment (seconds since the epoch): the newest block if it is not later. Reads
     * a few headers from one endpoint, and from a second one concurrently if the moment is so old that its block is
     * final. Throws `NoBlockError` if the chain began later, or if the moment is in the future of both chain and clock;
     * `ChainUnavailableError` (disputed) if endpoints lead to different blocks; else as `ChainClient.read`.
     */
    findByTime: (client: ChainClient, timeSec: bigint, work: Work) =>
      findByTime(client, { timeSec, isOver: false }, work),
    /**
     * Finds the same block in the background with two endpoints. Throws `NoBlockError` until a later block proves that
     * it is the last one.
     */
    findLastBlock: (client: ChainClient, timeSec: bigint, work: Work) =>
      findByTime(client, { timeSec, isOver: true }, work),
    /**
     * Finds the same blocks for several moments in one search: every header narrows all of them, and the headers of a
     * round are read concurrently. Undefined if there is no such block. Endpoints must agree on all of them. The moments
     * must be over a day old by the clock: as long as one is not, throws `NoBlockError` if any has no block.
     */
    async findLastBlocks(
      client: ChainClient,
      timesSec: readonly bigint[],
      work: Work,
    ): Promise<readonly (WitnessedBlock | undefined)[]> {
      const results = await findTimes(client, { timesSec, isOver: true }, work)
      return results.map((each) => (each instanceof NoBlockError ? undefined : each))
    },
  }
}

function toSearch({ before: block, after: next }: Bracket<PinnedBlock>): Search {
  if (block === undefined) return { none: new NoBlockError(next), isTooEarly: true }
  if (next.parentHash !== block.hash) throw new UpstreamError('The endpoint leads to blocks of two chains')
  return { block, next }
}

function formatSearch(search: Search): string {
  if ('none' in search) return search.isTooEarly ? 'before the first block' : 'after the newest block'
  const { block, next } = search
  return [block, ...(next === undefined ? [] : [next])].map(formatBlock).join()
}

function formatBlock({ number, hash, parentHash, timestampSec }: PinnedBlock): string {
  return `${number} ${hash} ${parentHash} ${timestampSec}`
}

async function readNumber(
  client: ChainClient,
  { number, quorum }: { readonly number: bigint; readonly quorum: number },
  work: Work,
): Promise<WitnessedBlock> {
  const chainId = client.chain.id
  let newest: PinnedBlock | undefined
  let missingCount = 0
  let attempts = 0
  const attempt = async (endpoint: Endpoint, within: Work): Promise<PinnedBlock> => {
    attempts++
    try {
      return await readBlock(endpoint, { chainId, number }, within)
    } catch (error) {
      if (!hasFault(error, 'no_block')) throw error
      const head = await readBlock(endpoint, { chainId, number: 'latest' }, within)
      if (head.number < number) missingCount++
      if (newest === undefined || head.number > newest.number) newest = head
      // Another endpoint may have a later head.
      throw error
    }
  }
  try {
    const { value, endpoints } = await readByQuorum(client, attempt, {
      work,
      past: 'header',
      quorum,
      what: `block ${number}`,
      toText: formatBlock,
    })
    return { ...value, witnesses: endpoints.length }
  } catch (error) {
    const isFuture = error instanceof UnavailableError && missingCount === attempts
    throw isFuture && newest !== undefined ? new NoBlockError(newest) : error
  }
}

/** Upper bound of the cached blocks of one chain. */
const BLOCKS_MAX = 2_000

/** Creates a cache of final blocks, from which searches start. */
function createFinalBlockCache() {
  const blocksByChain = new Map<number, PinnedBlock[]>()
  let evicted = 0
  return {
    add(block: PinnedBlock): void {
      const blocks = blocksByChain.get(block.chainId) ?? []
      blocksByChain.set(block.chainId, blocks)
      // Several blocks may share a second.
      const findIndex = () => {
        let index = countBlocksUntil(blocks, block.timestampSec)
        while ((blocks[index - 1]?.number ?? -1n) > block.number) index--
        return index
      }
      if (blocks[findIndex() - 1]?.number === block.number) return
      // Evict round-robin across the list; evicting the oldest would leave years without a starting point.
      if (blocks.length >= BLOCKS_MAX) blocks.splice(evicted++ % BLOCKS_MAX, 1)
      blocks.splice(findIndex(), 0, block)
    },
    /** Returns a chain's blocks from the last one before all moments to the first one after all of them, ascending. */
    getAround(chainId: number, timesSec: readonly bigint[]): readonly PinnedBlock[] {
      const blocks = blocksByChain.get(chainId) ?? []
      const counts = timesSec.map((timeSec) => countBlocksUntil(blocks, timeSec))
      return blocks.slice(Math.max(0, Math.min(...counts) - 1), Math.max(...counts) + 1)
    },
  }
}

/** Two blocks with a moment between them: `before` is at or before it, undefined if no such block is known yet. */
interface Bracket<B extends PastBlock> {
  readonly before: B | undefined
  /** Later than the moment. */
  readonly after: B
}

/** Every fourth probe bisects, so that uneven block times cannot make the search slow. */
const BISECT_EVERY = 4
/** Extrapolation overshoots by this fraction, so that the next probe likely lands before the moment. */
const OVERSHOOT_DIVISOR = 200n

/**
 * Computes the next height to read in a search for the last block at or before a moment: by interpolation between both
 * blocks, else by the block time (milliseconds; undefined if unknown). Undefined when the search is over: `before` is
 * then the result, or, if it is undefined too, the chain began later. Times never decrease with height, and several
 * blocks may share one.
 */
export function nextProbe(
  { before, after }: Bracket<PastBlock>,
  {
    timeSec,
    blockTimeMs,
    probes,
  }: { readonly timeSec: bigint; readonly blockTimeMs: number | undefined; readonly probes: number },
): bigint | undefined {
  if (before === undefined) {
    if (after.number === 0n) return undefined
    if (blockTimeMs === undefined || probes >= BISECT_EVERY) return 0n
    const back = ((after.timestampSec - timeSec) * 1_000n) / BigInt(blockTimeMs)
    return clamp(after.number - back - back / OVERSHOOT_DIVISOR - 1n, { min: 0n, max: after.number - 1n })
  }
  const blocks = after.number - before.number
  if (blocks <= 1n) return undefined
  const limits = { min: before.number + 1n, max: after.number - 1n }
  if (probes % BISECT_EVERY === BISECT_EVERY - 1) return clamp(before.number + blocks / 2n, limits)
  const spanSec = after.timestampSec - before.timestampSec
  // Rounding to the nearest block keeps an estimate that is half a block off on one of the two blocks searched for.
  const share = (2n * blocks * (timeSec - before.timestampSec) + spanSec) / (2n * spanSec)
  return clamp(before.number + share, limits)
}

/** Finds the two blocks around a moment in an ascending list; undefined if no block is later. */
export function findBracket<B extends PastBlock>(blocks: readonly B[], timeSec: bigint): Bracket<B> | undefined {
  const index = countBlocksUntil(blocks, timeSec)
  const after = blocks[index]
  return after && { before: blocks[index - 1], after }
}

/** Counts the blocks of an ascending list that are at or before a moment. */
function countBlocksUntil(blocks: readonly PastBlock[], timeSec: bigint): number {
  let [from, to] = [0, blocks.length]
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    const block = blocks[middle]
    if (block !== undefined && block.timestampSec <= timeSec) from = middle + 1
    else to = middle
  }
  return from
}

function clamp(value: bigint, { min, max }: { readonly min: bigint; readonly max: bigint }): bigint {
  return value < min ? min : value > max ? max : value
}
