import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { type ChainClient, RevertError } from '../../../chain/rpc/client.ts'
import { readPositionFlows } from '../../../finance/liquidity/position_flow.ts'
import { IncompleteError, type Stream } from '../../../history/stream.ts'
import { together } from '../../../lib/async/together.ts'
import { createCache } from '../../../lib/cache.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'

/** What the manager keeps about a position at the end of a block, in words; undefined if it does not know it. */
type Kept = readonly string[] | undefined

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

/**
 * Makes the check that holds stored flows to the manager's own words, where an endpoint keeps the state of the past:
 * between two flows what it keeps about the position does not change, and before the first it does not know it. What
 * leaves no trace, such as a deposit that is taken back at once, cannot be seen here. Without such an endpoint nothing is
 * checked. Blocks are final, so each is read once.
 */
export function createFlowCheck(options: {
  readonly stream: string
  readonly clock: Clock
}): NonNullable<Stream<unknown>['verify']> {
  const { stream, clock } = options
  const cache = createCache<Kept>({ clock, entriesMax: KEPT_MAX })

  return async (place, { subject, client, db, fromBlock, toBlock }, signal) => {
    const tokenId = BigInt(subject)
    const rows = await readPositionFlows(db, { place, stream, tokenId, fromBlock, toBlock, max: FLOWS_MAX })
    const blocks = [...new Set((rows ?? []).map(({ block }) => block))]
    const [first] = blocks
    if (first === undefined) return
    const data = encodeFunctionData({ abi: ABI, functionName: 'positions', args: [tokenId] })
    const keptAt = (block: number, within: AbortSignal): Promise<Kept> => {
      const call = { to: place.contract, data, block: BigInt(block) }
      const read = async (shared: AbortSignal) => ({
        value: await readKept(client, call, shared),
        lifeMs: Number.POSITIVE_INFINITY,
      })
      return cache.get({ key: `${place.chainId}:${place.contract}:${tokenId}:${block}`, read }, within)
    }
    const newest = blocks.slice(-BLOCKS_MAX)
    const quiet = newest
      .map((block, index) => ({ fromBlock: block, toBlock: (newest[index + 1] ?? toBlock + 1) - 1 }))
      .filter((range) => range.fromBlock < range.toBlock)
    try {
      await together(
        quiet.map((range) => async (within: AbortSignal) => {
          const [before, after] = [await keptAt(range.fromBlock, within), await keptAt(range.toBlock, within)]
          if (!isUnchanged(before, after)) throw new IncompleteError('state', range)
        }),
        signal,
      )
      if (first > fromBlock && (await keptAt(first - 1, signal)) !== undefined) {
        throw new IncompleteError('birth', { fromBlock, toBlock: first - 1 })
      }
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error
    }
  }
}

async function readKept(
  client: ChainClient,
  call: { readonly to: Address; readonly data: Hex; readonly block: bigint },
  signal: AbortSignal,
): Promise<Kept> {
  const past = { number: call.block, timestampSec: 0n }
  try {
    const answer = await client.read((endpoint, within) => endpoint.call(call, within), { signal, past })
    return answer.slice(2).match(/.{64}/g) ?? undefined
  } catch (error) {
    if (error instanceof RevertError) return undefined
    throw error
  }
}

/** A position may be burned without a flow once nothing of it is left. */
function isUnchanged(before: Kept, after: Kept): boolean {
  if (before === undefined) return after === undefined
  if (after === undefined) return LEFT_WORDS.every((index) => /^0*$/.test(before[index] ?? ''))
  const { from, to } = FLOW_WORDS
  return before.slice(from, to).join() === after.slice(from, to).join()
}
