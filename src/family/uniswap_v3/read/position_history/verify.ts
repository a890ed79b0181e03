import { encodeFunctionData, parseAbi } from 'viem'
import { type ChainClient, RevertError } from '../../../../chain/rpc/client.ts'
import { createAdaptiveConcurrency } from '../../../../finance/liquidity/position_history/adaptive_concurrency.ts'
import { readPositionFlows } from '../../../../finance/liquidity/position_history/position_flow.ts'
import type { Range } from '../../../../history/range.ts'
import { type ExpectedFinalBlock, IncompleteError, type Stream, type StreamTarget } from '../../../../history/stream.ts'
import { allOrAbort } from '../../../../lib/async/all_or_abort.ts'
import { createCache } from '../../../../lib/async/cache.ts'
import { createPrefetcher } from '../../../../lib/async/prefetch.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError } from '../../../../lib/error.ts'

/** What the manager keeps about a position at the end of a block, in words; undefined if it does not know it. */
type ManagerState = readonly string[] | undefined

const ABI = parseAbi(['function positions(uint256 tokenId) view'])
/** Flows of one position that are looked at. */
const FLOWS_MAX = 5_000
/** The newest blocks with flows that are verified; older ones were verified when they were the newest. */
const BLOCKS_MAX = 24
/** Liquidity, both counters of fees and both amounts owed: all that flows change, and nothing else does. */
const FLOW_WORDS = { from: 7, to: 12 }
/** Liquidity and both amounts owed. */
const LEFT_WORDS = [7, 10, 11]
const KEPT_MAX = 10_000
/** Spans between two flows that are read at the same time, at most: each takes two reads. */
const QUIET_AT_ONCE = 12

/** Reads that may be under way before they are asked for. */
const AHEAD_MAX = 64

/** The check of a stream of flows, and what begins to read for it. */
type FlowCheck = Required<Pick<Stream<unknown>, 'foresee' | 'verify'>>

/**
 * Makes the check that holds stored flows to the manager's own words, if an endpoint keeps the state of the past:
 * between two flows what it keeps about the position does not change, and before the first it does not know it. What
 * leaves no trace, such as a deposit that is taken back at once, cannot be seen here. Without such an endpoint nothing is
 * checked. Blocks are final, so each is read once.
 */
export function createFlowCheck(options: { readonly stream: string; readonly clock: Clock }): FlowCheck {
  const { stream, clock } = options
  const inWaves = createAdaptiveConcurrency(QUIET_AT_ONCE)
  const cache = createCache<ManagerState>({ clock, entriesMax: KEPT_MAX })
  const ahead = createPrefetcher<{ readonly kept: ManagerState }>({ readsMax: AHEAD_MAX })

  const verify: FlowCheck['verify'] = async (place, { subject, client, db, fromBlock, toBlock }, signal) => {
    const tokenId = BigInt(subject)
    const rows = await readPositionFlows(db, { place, stream, tokenId, fromBlock, toBlock, max: FLOWS_MAX })
    const blocks = [...new Set((rows ?? []).map(({ block }) => block))]
    const [first] = blocks
    if (first === undefined) return
    const keptAt = (block: number, within: AbortSignal): Promise<ManagerState> => {
      const key = keyOf(place, tokenId, block)
      const past = { number: BigInt(block), timestampSec: 0n }
      const read = async (shared: AbortSignal) => {
        const begun = await ahead.take(key)
        const value = begun === undefined ? await readKept(client, { place, tokenId, past }, shared) : begun.kept
        // What was read before the block was final may be of another one.
        return { value, lifeMs: begun === undefined ? Number.POSITIVE_INFINITY : 0 }
      }
      return cache.get({ key, read }, within)
    }
    const newest = blocks.slice(-BLOCKS_MAX)
    const quiet = newest
      .map((block, index) => ({ fromBlock: block, toBlock: (newest[index + 1] ?? toBlock + 1) - 1 }))
      .filter((range) => range.fromBlock < range.toBlock)
    try {
      const checkQuiet = (range: Range) => async (within: AbortSignal) => {
        const [before, after] = await Promise.all([keptAt(range.fromBlock, within), keptAt(range.toBlock, within)])
        if (!isUnchanged(before, after)) throw new IncompleteError('state', range)
      }
      await inWaves({ chainId: place.chainId, items: quiet }, (some) => allOrAbort(some.map(checkQuiet), signal))
      if (first > fromBlock && (await keptAt(first - 1, signal)) !== undefined) {
        throw new IncompleteError('birth', { fromBlock, toBlock: first - 1 })
      }
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
    }
  }

  return {
    verify,
    foresee(place, { subject, client, finalized: past }, signal) {
      const tokenId = BigInt(subject)
      const read = async (within: AbortSignal) => ({ kept: await readKept(client, { place, tokenId, past }, within) })
      ahead.start(keyOf(place, tokenId, Number(past.number)), read, signal)
    },
  }
}

function keyOf({ chainId, contract }: StreamTarget, tokenId: bigint, block: number): string {
  return `${chainId}:${contract}:${tokenId}:${block}`
}

async function readKept(
  client: ChainClient,
  of: { readonly place: StreamTarget; readonly tokenId: bigint; readonly past: ExpectedFinalBlock },
  signal: AbortSignal,
): Promise<ManagerState> {
  const { place, tokenId, past } = of
  const data = encodeFunctionData({ abi: ABI, functionName: 'positions', args: [tokenId] })
  const call = { to: place.contract, data, block: past.number }
  try {
    const answer = await client.read((endpoint, within) => endpoint.call(call, within), { signal, past })
    return answer.slice(2).match(/.{64}/g) ?? undefined
  } catch (error) {
    if (error instanceof RevertError) return undefined
    throw error
  }
}

/** A position may be burned without a flow once nothing of it is left. */
function isUnchanged(before: ManagerState, after: ManagerState): boolean {
  if (before === undefined) return after === undefined
  if (after === undefined) return LEFT_WORDS.every((index) => /^0*$/.test(before[index] ?? ''))
  const { from, to } = FLOW_WORDS
  return before.slice(from, to).join() === after.slice(from, to).join()
}
