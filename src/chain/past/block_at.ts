import { allOrAbort } from '../../lib/async/all_or_abort.ts'
import { createCache } from '../../lib/async/cache.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { PinnedBlock } from '../block.ts'
import { readBlock } from '../evm/read_block.ts'
import type { ChainClient, Endpoint } from '../rpc/client.ts'
import { MissingBlockError } from '../rpc/error.ts'
import { type Bracket, findBracket, nextProbe } from './block_search.ts'
import { createFinalBlockCache } from './final_block_cache.ts'
import { DisputeError, getCacheTtlMs, isCacheableForever, QUORUM, readByQuorum } from './quorum.ts'

/** Time for one search over all its headers, milliseconds. */
const SEARCH_BUDGET_MS = 4_000
/** Far more than a search over any chain needs; an endpoint that answers nonsense ends here. */
const PROBES_MAX = 100
/** A block older than this is final on every chain, so what endpoints agree on once stays true. */
const SETTLED_SEC = 86_400
const ENTRIES_MAX = 10_000

/** The chain has no block there: all are earlier, or all are later. `nearest` is the one closest to it. */
export class NoBlockError extends Error {
  override readonly name = 'NoBlockError'
  readonly nearest: PinnedBlock

  constructor(nearest: PinnedBlock) {
    super('The chain has no such block')
    this.nearest = nearest
  }
}

/** A block, and how many different endpoints gave it. */
export type WitnessedBlock = PinnedBlock & { readonly witnesses: number }

/** Moments to find the blocks of. `isOver`: only if a later block shows that one is the last. */
interface TimesQuestion {
  readonly timesSec: readonly bigint[]
  readonly isOver: boolean
}

/** How a search ended: with the block and, unless that is the newest one, the block after it; or without. */
type Search =
  | { readonly block: PinnedBlock; readonly next: PinnedBlock | undefined }
  | { readonly none: NoBlockError; readonly isTooEarly: boolean }

/** Finds past blocks, pinned by their hash, and remembers those that are final and that endpoints agree on. */
export function createBlockFinder(clock: Clock) {
  const cache = createCache<WitnessedBlock>({ clock, entriesMax: ENTRIES_MAX })
  const points = createFinalBlockCache()
  const isSettled = (timeSec: bigint) => clock.now() / 1_000 - Number(timeSec) > SETTLED_SEC

  /** Searches of moments, in their order. */
  async function searchOn(
    endpoint: Endpoint,
    { timesSec, isOver, chain }: TimesQuestion & Pick<ChainClient, 'chain'>,
    signal: AbortSignal,
  ): Promise<Search[]> {
    const { id: chainId, blockTimeMs } = chain
    const ends = new Map<bigint, Search>()
    const ascending = timesSec.toSorted((a, b) => Number(a - b))
    const latest = ascending.at(-1) ?? 0n
    /** Moments that are looked for, with the headers that were read for each. */
    const open = new Map(ascending.map((timeSec) => [timeSec, 0]))
    let known = points.around(chainId, timesSec)
    if (findBracket(known, latest) === undefined) {
      const newest = await readBlock(endpoint, { chainId, number: 'latest' }, signal)
      // Only here the answer depends on how recent the endpoint is.
      if (newest.timestampSec <= latest) endpoint.observeBlock(newest)
      if (newest.number > (known.at(-1)?.number ?? -1n)) known = [...known, newest]
      for (const timeSec of timesSec) {
        if (findBracket(known, timeSec) !== undefined) continue
        const isToCome = newest.timestampSec < timeSec && Number(timeSec) > clock.now() / 1_000
        const isEnd = !isOver && !isToCome
        const none = { none: new NoBlockError(newest), isTooEarly: false }
        ends.set(timeSec, isEnd ? { block: newest, next: undefined } : none)
        open.delete(timeSec)
      }
    }
    for (let rounds = 0; rounds < PROBES_MAX; rounds++) {
      const numbers = new Set<bigint>()
      const [first = latest] = open.keys()
      for (const [timeSec, probes] of open) {
        const bracket = findBracket(known, timeSec)
        if (bracket === undefined) throw new UpstreamError('The endpoint gives a block another time than before')
        const number = nextProbe(bracket, { timeSec, blockTimeMs, probes })
        if (number === undefined) {
          ends.set(timeSec, endOf(bracket))
          open.delete(timeSec)
        } else if (bracket.before !== undefined || timeSec === first) {
          // Before all that is known one goes first: between two blocks the others are found sooner.
          numbers.add(number)
          open.set(timeSec, probes + 1)
        }
      }
      if (numbers.size === 0) return timesSec.flatMap((timeSec) => ends.get(timeSec) ?? [])
      const read = [...numbers].map(
        (number) => (within: AbortSignal) => readBlock(endpoint, { chainId, number }, within),
      )
      known = [...known, ...(await allOrAbort(read, signal))].sort((a, b) => (a.number < b.number ? -1 : 1))
    }
    throw new MissingBlockError('The endpoint leads to no block of that time')
  }

  async function findTimes(
    client: ChainClient,
    asked: TimesQuestion,
    signal: AbortSignal,
  ): Promise<(WitnessedBlock | NoBlockError)[]> {
    const { chain } = client
    const { timesSec, isOver } = asked
    const mayDiffer = !timesSec.every(isSettled)
    const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<readonly Search[]> => {
      const searches = await searchOn(endpoint, { ...asked, chain }, within)
      // Of a young moment an endpoint may rightly not have the block yet.
      for (const search of searches) if (mayDiffer && 'none' in search) throw search.none
      return searches
    }
    const [first, ...others] = timesSec
    const { value, endpoints } = await readByQuorum(client, attempt, {
      signal,
      past: 'header',
      budgetMs: SEARCH_BUDGET_MS,
      priority: isOver ? 'background' : 'caller',
      quorum: mayDiffer && !isOver ? 1 : QUORUM,
      what: `the block at ${first}${others.length > 0 ? ` and ${others.length} more` : ''}`,
      textOf: (searches) => searches.map(textOfSearch).join(';'),
    })
    return value.map((search) => {
      if ('none' in search) return search.none
      const { block, next } = search
      if (next !== undefined && isCacheableForever(client, endpoints.length))
        for (const each of [next, block]) if (isSettled(each.timestampSec)) points.learn(each)
      return { ...block, witnesses: endpoints.length }
    })
  }

  async function findTime(
    client: ChainClient,
    { timeSec, isOver }: { readonly timeSec: bigint; readonly isOver: boolean },
    signal: AbortSignal,
  ): Promise<WitnessedBlock> {
    const [found] = await findTimes(client, { timesSec: [timeSec], isOver }, signal)
    if (found === undefined || found instanceof NoBlockError) throw found
    return found
  }

  /** Of a young block endpoints may differ: one of them is believed for one answer. */
  async function findNumber(client: ChainClient, number: bigint, signal: AbortSignal): Promise<WitnessedBlock> {
    try {
      return await readNumber(client, { number, quorum: QUORUM }, signal)
    } catch (error) {
      if (!(error instanceof DisputeError)) throw error
      const one = await readNumber(client, { number, quorum: 1 }, signal)
      if (isSettled(one.timestampSec)) throw error
      return one
    }
  }

  function remembered(
    client: ChainClient,
    { name, find }: { readonly name: string; readonly find: (signal: AbortSignal) => Promise<WitnessedBlock> },
    signal: AbortSignal,
  ): Promise<WitnessedBlock> {
    const read = async (shared: AbortSignal) => {
      const value = await find(shared)
      return { value, lifeMs: isSettled(value.timestampSec) ? getCacheTtlMs(client, value.witnesses) : 0 }
    }
    return cache.get({ key: `${client.chain.id}:${name}`, read }, signal)
  }

  const byTime = (client: ChainClient, asked: Parameters<typeof findTime>[1], signal: AbortSignal) => {
    const name = `${asked.isOver ? 'over' : 'time'}:${asked.timeSec}`
    return remembered(client, { name, find: (shared) => findTime(client, asked, shared) }, signal)
  }

  return {
    /**
     * The block of a height, from its header. Throws `NoBlockError` above the newest one, `DisputeError` if endpoints
     * give different ones though it is final, else as `ChainClient.read`.
     */
    byNumber(client: ChainClient, number: bigint, signal: AbortSignal): Promise<WitnessedBlock> {
      const find = (shared: AbortSignal) => findNumber(client, number, shared)
      return remembered(client, { name: `number:${number}`, find }, signal)
    },
    /**
     * The last block at or before a moment (seconds since the epoch): the newest one if it is not later. Reads a few
     * headers of one endpoint, and of another one at the same time if the moment is so old that its block is final.
     * Throws `NoBlockError` if the chain began later, or if the moment is still to come for the chain and the clock;
     * `DisputeError` if endpoints lead to different blocks; else as `ChainClient.read`.
     */
    byTime: (client: ChainClient, timeSec: bigint, signal: AbortSignal) =>
      byTime(client, { timeSec, isOver: false }, signal),
    /**
     * The same in the background, of two endpoints, once a later block shows that it is the last one. Until then throws
     * `NoBlockError`.
     */
    lastBy: (client: ChainClient, timeSec: bigint, signal: AbortSignal) =>
      byTime(client, { timeSec, isOver: true }, signal),
    /**
     * The same of several moments, looked for together: every header narrows all of them, and those of a round are read
     * at once. Undefined if there is no such block. Endpoints have to agree on all.
     */
    async lastByEach(
      client: ChainClient,
      timesSec: readonly bigint[],
      signal: AbortSignal,
    ): Promise<readonly (WitnessedBlock | undefined)[]> {
      const found = await findTimes(client, { timesSec, isOver: true }, signal)
      return found.map((each) => (each instanceof NoBlockError ? undefined : each))
    },
  }
}

function endOf({ before: block, after: next }: Bracket<PinnedBlock>): Search {
  if (block === undefined) return { none: new NoBlockError(next), isTooEarly: true }
  if (next.parentHash !== block.hash) throw new UpstreamError('The endpoint leads to blocks of two chains')
  return { block, next }
}

function textOfSearch(search: Search): string {
  if ('none' in search) return search.isTooEarly ? 'before the first block' : 'after the newest block'
  const { block, next } = search
  return [block, ...(next === undefined ? [] : [next])].map(textOfBlock).join()
}

function textOfBlock({ number, hash, parentHash, timestampSec }: PinnedBlock): string {
  return `${number} ${hash} ${parentHash} ${timestampSec}`
}

async function readNumber(
  client: ChainClient,
  { number, quorum }: { readonly number: bigint; readonly quorum: number },
  signal: AbortSignal,
): Promise<WitnessedBlock> {
  const chainId = client.chain.id
  let newest: PinnedBlock | undefined
  let missing = 0
  let asked = 0
  const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<PinnedBlock> => {
    asked++
    try {
      return await readBlock(endpoint, { chainId, number }, within)
    } catch (error) {
      if (!(error instanceof MissingBlockError)) throw error
      const head = await readBlock(endpoint, { chainId, number: 'latest' }, within)
      if (head.number < number) missing++
      if (newest === undefined || head.number > newest.number) newest = head
      // Another endpoint may be further.
      throw error
    }
  }
  try {
    const { value, endpoints } = await readByQuorum(client, attempt, {
      signal,
      past: 'header',
      quorum,
      what: `block ${number}`,
      textOf: textOfBlock,
    })
    return { ...value, witnesses: endpoints.length }
  } catch (error) {
    const isFuture = error instanceof UnavailableError && missing === asked
    throw isFuture && newest !== undefined ? new NoBlockError(newest) : error
  }
}
