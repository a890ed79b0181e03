import { createCache } from '../../lib/cache.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { PinnedBlock } from '../block.ts'
import { readBlock } from '../read_block.ts'
import type { ChainClient, Endpoint } from '../rpc/client.ts'
import { MissingBlockError } from '../rpc/error.ts'
import { narrowed, nextProbe } from './block_search.ts'
import { DisputeError, isLasting, lifeMsOf, QUORUM, readByQuorum } from './quorum.ts'

/** Time for one search over all its headers, milliseconds. */
const SEARCH_BUDGET_MS = 4_000
/** Far more than a search over any chain needs; an endpoint that answers nonsense ends here. */
const PROBES_MAX = 100
/** A block older than this is final on every chain, so what endpoints agree on once stays true. */
const SETTLED_SEC = 86_400
const ENTRIES_MAX = 10_000
/** Blocks of one chain that searches may start from. */
const POINTS_MAX = 2_000

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
export type FoundBlock = PinnedBlock & { readonly witnesses: number }

/** Finds past blocks, pinned by their hash, and remembers those that are final and that endpoints agree on. */
export interface BlockFinder {
  /**
   * The block of a height, from its header. Throws `NoBlockError` above the newest one, `DisputeError` if endpoints give
   * different ones though it is final, else as `ChainClient.read`.
   */
  byNumber(client: ChainClient, number: bigint, signal: AbortSignal): Promise<FoundBlock>
  /**
   * The last block at or before a moment (seconds since the epoch): the newest one if it is not later. Reads a few
   * headers of one endpoint, and of another one at the same time if the moment is so old that its block is final. Throws
   * `NoBlockError` if the chain began later, or if the moment is still to come for the chain and the clock;
   * `DisputeError` if endpoints lead to different blocks; else as `ChainClient.read`.
   */
  byTime(client: ChainClient, timeSec: bigint, signal: AbortSignal): Promise<FoundBlock>
  /**
   * The same in the background, of two endpoints, once a later block shows that it is the last one. Until then throws
   * `NoBlockError`.
   */
  lastBy(client: ChainClient, timeSec: bigint, signal: AbortSignal): Promise<FoundBlock>
}

/** A moment to find the block of. `isOver`: only if a later block shows that it is the last one. */
interface TimeQuestion {
  readonly timeSec: bigint
  readonly isOver: boolean
}

/** How a search ended: with the block and, unless that is the newest one, the block after it; or without. */
type Search =
  | { readonly block: PinnedBlock; readonly next: PinnedBlock | undefined }
  | { readonly none: NoBlockError; readonly isTooEarly: boolean }

/** Makes a finder with an empty memory. */
export function createBlockFinder(clock: Clock): BlockFinder {
  const cache = createCache<FoundBlock>({ clock, entriesMax: ENTRIES_MAX })
  /** Final blocks by chain, ascending. */
  const points = new Map<number, PinnedBlock[]>()
  let forgotten = 0
  const isSettled = (timeSec: bigint) => clock.now() / 1_000 - Number(timeSec) > SETTLED_SEC

  /** Keeps a block that is final as a place to start other searches from. */
  function learn(chainId: number, block: PinnedBlock): void {
    if (!isSettled(block.timestampSec)) return
    const known = points.get(chainId) ?? []
    points.set(chainId, known)
    if (known.some(({ number }) => number === block.number)) return
    // Dropped in turn, from all over the list: always the oldest would leave years without a point.
    if (known.length >= POINTS_MAX) known.splice(forgotten++ % POINTS_MAX, 1)
    const at = known.findIndex(({ number }) => number > block.number)
    known.splice(at < 0 ? known.length : at, 0, block)
  }

  async function searchOn(
    endpoint: Endpoint,
    { timeSec, isOver, chain }: TimeQuestion & Pick<ChainClient, 'chain'>,
    signal: AbortSignal,
  ): Promise<Search> {
    const { id: chainId, blockTimeMs } = chain
    const known = points.get(chainId) ?? []
    const later = known.findIndex(({ timestampSec }) => timestampSec > timeSec)
    const before = known.at(later < 0 ? -1 : later - 1)
    let after = known[later]
    if (after === undefined) {
      const newest = await readBlock(endpoint, { chainId, number: 'latest' }, signal)
      if (newest.timestampSec <= timeSec) {
        // Only here the answer depends on how recent the endpoint is.
        endpoint.observeBlock(newest)
        const isToCome = newest.timestampSec < timeSec && Number(timeSec) > clock.now() / 1_000
        if (!isOver && !isToCome) return { block: newest, next: undefined }
        return { none: new NoBlockError(newest), isTooEarly: false }
      }
      after = newest
    }
    let bracket = { before: later === 0 ? undefined : before, after }
    for (let probes = 0; probes < PROBES_MAX; probes++) {
      const number = nextProbe(bracket, { timeSec, blockTimeMs, probes })
      if (number === undefined) {
        const { before: block, after: next } = bracket
        if (block === undefined) return { none: new NoBlockError(next), isTooEarly: true }
        if (next.parentHash !== block.hash) throw new UpstreamError('The endpoint leads to blocks of two chains')
        return { block, next }
      }
      bracket = narrowed(bracket, await readBlock(endpoint, { chainId, number }, signal), timeSec)
    }
    throw new MissingBlockError('The endpoint leads to no block of that time')
  }

  async function findTime(client: ChainClient, asked: TimeQuestion, signal: AbortSignal): Promise<FoundBlock> {
    const { chain } = client
    const { timeSec, isOver } = asked
    const mayDiffer = !isSettled(timeSec)
    const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<Search> => {
      const search = await searchOn(endpoint, { ...asked, chain }, within)
      // Of a young moment an endpoint may rightly not have the block yet.
      if (mayDiffer && 'none' in search) throw search.none
      return search
    }
    const { value, endpoints } = await readByQuorum(client, attempt, {
      signal,
      past: 'header',
      budgetMs: SEARCH_BUDGET_MS,
      priority: isOver ? 'background' : 'caller',
      quorum: mayDiffer && !isOver ? 1 : QUORUM,
      what: `the block at ${timeSec}`,
      textOf: textOfSearch,
    })
    if ('none' in value) throw value.none
    const { block, next } = value
    if (next !== undefined && isLasting(client, endpoints.length))
      for (const each of [next, block]) learn(chain.id, each)
    return { ...block, witnesses: endpoints.length }
  }

  /** Of a young block endpoints may differ: one of them is believed for one answer. */
  async function findNumber(client: ChainClient, number: bigint, signal: AbortSignal): Promise<FoundBlock> {
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
    { name, find }: { readonly name: string; readonly find: (signal: AbortSignal) => Promise<FoundBlock> },
    signal: AbortSignal,
  ): Promise<FoundBlock> {
    const read = async (shared: AbortSignal) => {
      const value = await find(shared)
      return { value, lifeMs: isSettled(value.timestampSec) ? lifeMsOf(client, value.witnesses) : 0 }
    }
    return cache.get({ key: `${client.chain.id}:${name}`, read }, signal)
  }

  const byTime = (client: ChainClient, asked: TimeQuestion, signal: AbortSignal) => {
    const name = `${asked.isOver ? 'over' : 'time'}:${asked.timeSec}`
    return remembered(client, { name, find: (shared) => findTime(client, asked, shared) }, signal)
  }

  return {
    byNumber: (client, number, signal) => {
      const find = (shared: AbortSignal) => findNumber(client, number, shared)
      return remembered(client, { name: `number:${number}`, find }, signal)
    },
    byTime: (client, timeSec, signal) => byTime(client, { timeSec, isOver: false }, signal),
    lastBy: (client, timeSec, signal) => byTime(client, { timeSec, isOver: true }, signal),
  }
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
): Promise<FoundBlock> {
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
