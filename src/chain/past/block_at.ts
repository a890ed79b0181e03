import { createCache } from '../../lib/cache.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { PinnedBlock } from '../block.ts'
import { readBlock } from '../read_block.ts'
import type { ChainClient, Endpoint } from '../rpc/client.ts'
import { MissingBlockError } from '../rpc/error.ts'
import { narrowed, nextProbe } from './block_search.ts'

/** Time for one search over all its headers, milliseconds. */
const SEARCH_BUDGET_MS = 4_000
/** Far more than a search over any chain needs; an endpoint that answers nonsense ends here. */
const PROBES_MAX = 100
/** A block older than this is final on every chain, so what was found once stays true. */
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

/** Finds past blocks, pinned by their hash, and remembers those that are final. */
export interface BlockFinder {
  /** The block of a height, from one header. Throws `NoBlockError` above the newest one, else as `ChainClient.read`. */
  byNumber(client: ChainClient, number: bigint, signal: AbortSignal): Promise<PinnedBlock>
  /**
   * The last block at or before a moment (seconds since the epoch): the newest one if it is not later. Reads a few
   * headers of one endpoint. Throws `NoBlockError` if the chain began later, or if the moment is still to come for the
   * chain and the clock; else as `ChainClient.read`.
   */
  byTime(client: ChainClient, timeSec: bigint, signal: AbortSignal): Promise<PinnedBlock>
  /** The same in the background, once a later block shows that it is the last one. Until then throws `NoBlockError`. */
  lastBy(client: ChainClient, timeSec: bigint, signal: AbortSignal): Promise<PinnedBlock>
}

/** Makes a finder with an empty memory. */
export function createBlockFinder(clock: Clock): BlockFinder {
  const cache = createCache<PinnedBlock>({ clock, entriesMax: ENTRIES_MAX })
  /** Final blocks by chain, ascending. */
  const points = new Map<number, PinnedBlock[]>()
  let forgotten = 0
  const isSettled = ({ timestampSec }: PinnedBlock) => clock.now() / 1_000 - Number(timestampSec) > SETTLED_SEC

  function remembered(key: string, find: (signal: AbortSignal) => Promise<PinnedBlock>, signal: AbortSignal) {
    const read = async (shared: AbortSignal) => {
      const value = await find(shared)
      return { value, lifeMs: isSettled(value) ? Number.POSITIVE_INFINITY : 0 }
    }
    return cache.get({ key, read }, signal)
  }

  /** Keeps a block that is final as a place to start other searches from. */
  function learn(chainId: number, block: PinnedBlock): void {
    if (!isSettled(block)) return
    const known = points.get(chainId) ?? []
    points.set(chainId, known)
    if (known.some(({ number }) => number === block.number)) return
    // Each place in its turn, or a hole would grow in which nothing is remembered.
    if (known.length >= POINTS_MAX) known.splice(forgotten++ % POINTS_MAX, 1)
    const at = known.findIndex(({ number }) => number > block.number)
    known.splice(at < 0 ? known.length : at, 0, block)
  }

  function findTime(
    client: ChainClient,
    { timeSec, isOver }: { readonly timeSec: bigint; readonly isOver: boolean },
    signal: AbortSignal,
  ): Promise<PinnedBlock> {
    const { id: chainId, blockTimeMs } = client.chain
    const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<PinnedBlock> => {
      const known = points.get(chainId) ?? []
      const later = known.findIndex(({ timestampSec }) => timestampSec > timeSec)
      const before = known.at(later < 0 ? -1 : later - 1)
      let after = known[later]
      if (after === undefined) {
        const newest = await readBlock(endpoint, { chainId, number: 'latest' }, within)
        if (newest.timestampSec <= timeSec) {
          // Only here the answer depends on how recent the endpoint is.
          endpoint.observeBlock(newest)
          const isToCome = newest.timestampSec < timeSec && Number(timeSec) > clock.now() / 1_000
          if (isOver || isToCome) throw new NoBlockError(newest)
          return newest
        }
        after = newest
      }
      let bracket = { before: later === 0 ? undefined : before, after }
      for (let probes = 0; probes < PROBES_MAX; probes++) {
        const number = nextProbe(bracket, { timeSec, blockTimeMs, probes })
        if (number === undefined) {
          if (bracket.before === undefined) throw new NoBlockError(bracket.after)
          learn(chainId, bracket.after)
          learn(chainId, bracket.before)
          return bracket.before
        }
        bracket = narrowed(bracket, await readBlock(endpoint, { chainId, number }, within), timeSec)
      }
      throw new MissingBlockError('The endpoint leads to no block of that time')
    }
    const priority = isOver ? 'background' : 'caller'
    return client.read(attempt, { signal, past: 'header', budgetMs: SEARCH_BUDGET_MS, priority })
  }

  const byTime = (client: ChainClient, timeSec: bigint, isOver: boolean, signal: AbortSignal) =>
    remembered(
      `${client.chain.id}:${isOver ? 'over' : 'time'}:${timeSec}`,
      (shared) => findTime(client, { timeSec, isOver }, shared),
      signal,
    )

  return {
    byNumber: (client, number, signal) =>
      remembered(`${client.chain.id}:number:${number}`, (shared) => findNumber(client, number, shared), signal),
    byTime: (client, timeSec, signal) => byTime(client, timeSec, false, signal),
    lastBy: (client, timeSec, signal) => byTime(client, timeSec, true, signal),
  }
}

async function findNumber(client: ChainClient, number: bigint, signal: AbortSignal): Promise<PinnedBlock> {
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
    return await client.read(attempt, { signal, past: 'header' })
  } catch (error) {
    const isFuture = error instanceof UnavailableError && missing === asked
    throw isFuture && newest !== undefined ? new NoBlockError(newest) : error
  }
}
