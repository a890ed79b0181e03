import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import { type ReturnData, readMulticall } from '../../../../chain/call/many/multicall.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import type { Range } from '../../../../history/range.ts'
import { IncompleteError, type Stream, type StreamTarget } from '../../../../history/stream.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import { allOrAbort } from '../../../../lib/async/parallel.ts'
import { createPrefetcher } from '../../../../lib/async/prefetch.ts'
import type { Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { AbortedError, UnavailableError } from '../../../../lib/error.ts'
import { createAdaptiveConcurrency } from '../../position_history/adaptive_concurrency.ts'
import { POSITION_FLOWS, type PositionFlow, readPositionFlows } from '../../position_history/position_flow.ts'
import type { EnumerableExchange } from '../exchange.ts'
import { decodeFlows, FLOW_KINDS } from './flow_log.ts'

const TOPICS = [...FLOW_KINDS.keys()]

/** Creates the stream of flows into and out of positions. A subject is a token id; transfers are not flows. */
export function createFlowStream(
  { streamName: name }: Pick<EnumerableExchange, 'streamName'>,
  clock: Clock,
): Stream<PositionFlow> {
  return {
    name,
    table: POSITION_FLOWS,
    filters: ({ contract }, subjects) => [
      { addresses: [contract], topics: subjects === null ? [TOPICS] : [TOPICS, subjects] },
    ],
    decode: (_, logs) => ({ rows: decodeFlows(logs), unsettled: [] }),
    ...createFlowCheck({ stream: name, clock }),
  }
}

/** Words of the manager's `positions` at the end of a block; undefined if the manager does not know the position. */
type ManagerState = readonly string[] | undefined

const ABI = parseAbi(['function positions(uint256 tokenId) view'])
/** Highest number of flows of one position that are verified. */
const FLOWS_MAX = 5_000
/** How many of the newest blocks with flows are verified; older ones were verified when they were the newest. */
const BLOCKS_MAX = 24
/** Liquidity, both fee counters and both owed amounts: the words that only flows change. */
const FLOW_WORDS = { from: 7, to: 12 }
/** Liquidity and both owed amounts. */
const LEFT_WORDS = [7, 10, 11]
const STATES_MAX = 10_000
/** Highest number of concurrent checks of ranges between two flows; each takes two reads. */
const QUIET_CONCURRENCY_MAX = 12

/** Highest number of prefetches in flight. */
const PREFETCHES_MAX = 64

/** Check of a stream of flows, with its prefetch. */
type FlowCheck = Required<Pick<Stream<unknown>, 'prefetch' | 'verify'>>

/**
 * Creates a check of stored flows against the manager's state: between two flows its state of the position does not
 * change, and before the first flow the position does not exist. Flows that leave no trace, such as a deposit withdrawn
 * at once, escape the check. Nothing is checked without an endpoint that has past state. Blocks are final, so each is
 * read once.
 */
export function createFlowCheck(options: { readonly stream: string; readonly clock: Clock }): FlowCheck {
  const { stream, clock } = options
  const processAdaptively = createAdaptiveConcurrency(QUIET_CONCURRENCY_MAX)
  const cache = createCache<ManagerState>({ clock, entriesMax: STATES_MAX })
  const readManagerState = createStateReader(clock)
  const prefetcher = createPrefetcher<{ readonly state: ManagerState }>({ readsMax: PREFETCHES_MAX })

  const verify: FlowCheck['verify'] = async (target, { subject, client, db, fromBlock, toBlock }, work) => {
    const tokenId = BigInt(subject)
    const rows = await readPositionFlows(db, { target, stream, tokenId, fromBlock, toBlock, max: FLOWS_MAX })
    const blocks = [...new Set((rows ?? []).map(({ block }) => block))]
    const [first] = blocks
    if (first === undefined) return
    const readStateAt = (block: number, within: Work): Promise<ManagerState> => {
      const key = getKey(target, tokenId, block)
      const past = { number: BigInt(block), timestampSec: 0n }
      const read = async (shared: Work) => {
        const prefetched = await prefetcher.take(key)
        const value =
          prefetched === undefined
            ? await readManagerState({ client, target, tokenId, past }, shared)
            : prefetched.state
        return { value, lifeMs: prefetched === undefined ? Number.POSITIVE_INFINITY : 0 }
      }
      return cache.get({ key, read }, within)
    }
    const newestBlocks = blocks.slice(-BLOCKS_MAX)
    const quietRanges = newestBlocks
      .map((block, index) => ({ fromBlock: block, toBlock: (newestBlocks[index + 1] ?? toBlock + 1) - 1 }))
      .filter((range) => range.fromBlock < range.toBlock)
    try {
      const checkQuiet = (range: Range) => async (within: Work) => {
        const [before, after] = await Promise.all([
          readStateAt(range.fromBlock, within),
          readStateAt(range.toBlock, within),
        ])
        if (!isUnchanged(before, after)) throw new IncompleteError('state', range)
      }
      await processAdaptively({ chainId: target.chainId, items: quietRanges }, (some) =>
        allOrAbort(some.map(checkQuiet), work),
      )
      if (first > fromBlock && (await readStateAt(first - 1, work)) !== undefined) {
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
        state: await readManagerState({ client, target, tokenId, past }, within),
      })
      prefetcher.start(getKey(target, tokenId, Number(past.number)), read, work)
    },
  }
}

function getKey({ chainId, contract }: StreamTarget, tokenId: bigint, block: number): string {
  return `${chainId}:${contract}:${tokenId}:${block}`
}

/** A read of the manager's state of a position. */
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
 * Creates a reader of positions' states. Those of one manager, block and requester that are read in one event-loop turn,
 * such as those of a wallet's list, are one call.
 */
function createStateReader(clock: Clock): (query: StateQuery, work: Work) => Promise<ManagerState> {
  const openGroups = new Map<string, StateGroup>()
  const reads = createCache<ReadonlyMap<bigint, ManagerState>>({ clock, entriesMax: STATES_MAX })
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
      const calls = [...group.tokenIds].map((id) => ({ to: contract, data: encodePositions(id) }))
      const block = { chainId, number: past.number }
      const attempt = (endpoint: Endpoint, within: Work) => readMulticall(endpoint, { calls, block, clock }, within)
      const { results } = await client.read(attempt, { work: shared, past })
      return { value: new Map([...group.tokenIds].map((id, index) => [id, toState(results[index])])), lifeMs: 0 }
    }
    return (await reads.get({ key: String(group.no), read }, work)).get(tokenId)
  }
}

const waitForTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

function encodePositions(tokenId: bigint): Hex {
  return encodeFunctionData({ abi: ABI, functionName: 'positions', args: [tokenId] })
}

function toState(answer: ReturnData): ManagerState {
  return answer?.slice(2).match(/.{64}/g) ?? undefined
}

/** True if the state did not change. An empty position may be burned without a flow. */
function isUnchanged(before: ManagerState, after: ManagerState): boolean {
  if (before === undefined) return after === undefined
  if (after === undefined) return LEFT_WORDS.every((index) => /^0*$/.test(before[index] ?? ''))
  const { from, to } = FLOW_WORDS
  return before.slice(from, to).join() === after.slice(from, to).join()
}
