import type { Hex } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import { type ReturnData, readMulticall } from '../../../../chain/call/many/multicall.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import type { Range } from '../../../../history/range.ts'
import type { RowsQuery } from '../../../../history/stored_part.ts'
import { IncompleteError, type Stream, type StreamTarget } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import { allOrAbort } from '../../../../lib/async/parallel.ts'
import { createPrefetcher } from '../../../../lib/async/prefetch.ts'
import type { Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { AbortedError, UnavailableError } from '../../../../lib/error.ts'
import { createAdaptiveConcurrency } from '../../position_history/adaptive_concurrency.ts'

/** Words of a contract's answer about a position at the end of a block, digits each; undefined if it does not answer. */
export type StateWords = readonly string[] | undefined

/** What stands still between the rows of a stream: the answer of its contract about a position. */
interface StillState {
  /** Encodes the question about a position. */
  encode(tokenId: bigint): Hex
  /** True if no row lies between the two. */
  isUnchanged(before: StateWords, after: StateWords): boolean
  /** True if the contract knows the position, so that it has a row before. */
  isKnown(state: StateWords): boolean
  /** True if something else than a row changed it within a range. Absent: nothing else does. */
  readonly isExplained?: (
    range: Range,
    position: { readonly target: StreamTarget; readonly client: ChainClient; readonly tokenId: bigint },
    work: Work,
  ) => Promise<boolean>
  /** True if a position without rows is checked too: the contract must not know it at the last block. @default {false} */
  readonly checksAbsence?: true
}

/** Highest number of rows of one position that are verified. */
const ROWS_MAX = 5_000
/** How many of the newest blocks with rows are verified; older ones were verified when they were the newest. */
const BLOCKS_MAX = 24
const STATES_MAX = 10_000
/** Highest number of concurrent checks of ranges between two rows; each takes two reads. */
const QUIET_CONCURRENCY_MAX = 12

/** Highest number of prefetches in flight. */
const PREFETCHES_MAX = 64

/** Check of a stream, with its prefetch. */
type StateCheck = Required<Pick<Stream<unknown>, 'prefetch' | 'verify'>>

/**
 * Creates a check of stored rows against the state of their contract: between two rows its state of the position does not
 * change, and before the first row it does not know the position. Rows that leave no trace, such as a deposit withdrawn
 * at once, escape the check. Nothing is checked without an endpoint that has past state. Blocks are final, so each is
 * read once.
 */
export function createStateCheck(options: {
  readonly stream: string
  readonly clock: Clock
  readonly state: StillState
  /** Reads the stored rows. */
  readonly readRows: (
    db: Database,
    query: RowsQuery & { readonly tokenId: bigint },
  ) => Promise<readonly { readonly block: number }[] | undefined>
}): StateCheck {
  const { stream, clock, state, readRows } = options
  const processAdaptively = createAdaptiveConcurrency(QUIET_CONCURRENCY_MAX)
  const cache = createCache<StateWords>({ clock, entriesMax: STATES_MAX })
  const readStateWords = createStateReader(clock, state)
  const prefetcher = createPrefetcher<{ readonly words: StateWords }>({ readsMax: PREFETCHES_MAX })

  const verify: StateCheck['verify'] = async (target, { subject, client, db, fromBlock, toBlock }, work) => {
    const tokenId = BigInt(subject)
    const rows = await readRows(db, { target, stream, tokenId, fromBlock, toBlock, max: ROWS_MAX })
    const blocks = [...new Set((rows ?? []).map(({ block }) => block))]
    const [first] = blocks
    if (rows === undefined || (first === undefined && state.checksAbsence !== true)) return
    const readStateAt = (block: number, within: Work): Promise<StateWords> => {
      const key = getKey(target, tokenId, block)
      const past = { number: BigInt(block), timestampSec: 0n }
      const read = async (shared: Work) => {
        const prefetched = await prefetcher.take(key)
        const value =
          prefetched === undefined ? await readStateWords({ client, target, tokenId, past }, shared) : prefetched.words
        return { value, lifeMs: prefetched === undefined ? Number.POSITIVE_INFINITY : 0 }
      }
      return cache.get({ key, read }, within)
    }
    const newestBlocks = blocks.slice(-BLOCKS_MAX)
    const quietRanges = newestBlocks
      .map((block, index) => ({ fromBlock: block, toBlock: (newestBlocks[index + 1] ?? toBlock + 1) - 1 }))
      .filter((range) => range.fromBlock < range.toBlock)
    try {
      if (first === undefined) {
        if (state.isKnown(await readStateAt(toBlock, work))) throw new IncompleteError('state', { fromBlock, toBlock })
        return
      }
      const checkQuiet = (range: Range) => async (within: Work) => {
        const [before, after] = await Promise.all([
          readStateAt(range.fromBlock, within),
          readStateAt(range.toBlock, within),
        ])
        if (state.isUnchanged(before, after)) return
        if (await state.isExplained?.(range, { target, client, tokenId }, within)) return
        throw new IncompleteError('state', range)
      }
      await processAdaptively({ chainId: target.chainId, items: quietRanges }, (some) =>
        allOrAbort(some.map(checkQuiet), work),
      )
      if (first > fromBlock && state.isKnown(await readStateAt(first - 1, work))) {
        throw new IncompleteError('birth', { fromBlock, toBlock: first - 1 })
      }
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
    }
  }

  return {
    verify,
    prefetch(target, { subject, client, finalized: past }, work) {
      const tokenId = BigInt(subject)
      const read = async (within: Work) => ({
        words: await readStateWords({ client, target, tokenId, past }, within),
      })
      prefetcher.start(getKey(target, tokenId, Number(past.number)), read, work)
    },
  }
}

function getKey({ chainId, contract }: StreamTarget, tokenId: bigint, block: number): string {
  return `${chainId}:${contract}:${tokenId}:${block}`
}

/** A read of the contract's state of a position. */
interface StateQuery {
  readonly client: ChainClient
  readonly target: StreamTarget
  readonly tokenId: bigint
  readonly past: Pick<PinnedBlock, 'number' | 'timestampSec'>
}

/** Positions whose states are read in one call. */
interface StateGroup {
  readonly no: number
  readonly tokenIds: Set<bigint>
}

/**
 * Creates a reader of positions' states. Those of one contract, block and requester that are read in one event-loop turn,
 * such as those of a wallet's list, are one call.
 */
function createStateReader(
  clock: Clock,
  { encode }: Pick<StillState, 'encode'>,
): (query: StateQuery, work: Work) => Promise<StateWords> {
  const openGroups = new Map<string, StateGroup>()
  const reads = createCache<ReadonlyMap<bigint, StateWords>>({ clock, entriesMax: STATES_MAX })
  let groups = 0

  return async ({ client, target, tokenId, past }, work) => {
    if (work.signal.aborted) throw new AbortedError('The caller left')
    const { chainId, contract } = target
    const key = [chainId, contract, past.number, past.timestampSec, ...work.requesters].join(':')
    const group = openGroups.get(key) ?? { no: groups++, tokenIds: new Set<bigint>() }
    openGroups.set(key, group)
    group.tokenIds.add(tokenId)
    const read = async (shared: Work) => {
      await waitForTurn()
      if (openGroups.get(key) === group) openGroups.delete(key)
      const calls = [...group.tokenIds].map((id) => ({ to: contract, data: encode(id) }))
      const block = { chainId, number: past.number }
      const attempt = (endpoint: Endpoint, within: Work) => readMulticall(endpoint, { calls, block, clock }, within)
      const { results } = await client.read(attempt, { work: shared, past })
      return { value: new Map([...group.tokenIds].map((id, index) => [id, toWords(results[index])])), lifeMs: 0 }
    }
    return (await reads.get({ key: String(group.no), read }, work)).get(tokenId)
  }
}

const waitForTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

function toWords(answer: ReturnData): StateWords {
  return answer?.slice(2).match(/.{64}/g) ?? undefined
}
