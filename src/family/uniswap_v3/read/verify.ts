import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import { type ChainClient, RevertError } from '../../../chain/rpc/client.ts'
import type { PositionFlow } from '../../../history/rows/position_flow.ts'
import { IncompleteError, type Stream, type StreamPlace } from '../../../history/stream.ts'
import { together } from '../../../lib/async/together.ts'
import { UnavailableError } from '../../../lib/error.ts'

/** Two blocks between which a position has no flows, so that the manager must say the same at both. */
interface Quiet {
  readonly fromBlock: number
  readonly toBlock: number
}

const ABI = parseAbi(['function positions(uint256 tokenId) view'])
/** The newest blocks of flows that are verified; older ones were verified when they were the newest. */
const BLOCKS_MAX = 24
/** Liquidity, both counters of fees and both amounts owed: what follows from flows. Words before them do not. */
const FLOW_WORDS = { from: 7, to: 12 }
/** Nothing of any of them is left, but for the counters. */
const LEFT_WORDS = [7, 10, 11]

/**
 * Holds flows to the manager's own words, where an endpoint keeps the state of the past: between two flows its record
 * of the position does not change, and before the first there is none. What leaves no trace, such as a deposit that is
 * taken back at once, cannot be seen here. Without such an endpoint nothing is checked.
 */
export const verifyFlows: NonNullable<Stream<PositionFlow>['verify']> = async (place, part, signal) => {
  const { subject, rows, client, toBlock } = part
  const blocks = [...new Set(rows.map(({ block }) => block))]
  const [first] = blocks
  if (first === undefined) return
  const data = encodeFunctionData({ abi: ABI, functionName: 'positions', args: [BigInt(subject)] })
  const recordAt = (block: number, within: AbortSignal) => readRecord({ client, place, data, block }, within)
  const newest = blocks.slice(-BLOCKS_MAX)
  const quiets = newest.map(
    (block, index): Quiet => ({ fromBlock: block, toBlock: (newest[index + 1] ?? toBlock + 1) - 1 }),
  )
  try {
    await together(
      quiets
        .filter(({ fromBlock, toBlock }) => fromBlock < toBlock)
        .map((quiet) => async (within: AbortSignal) => {
          const [before, after] = [await recordAt(quiet.fromBlock, within), await recordAt(quiet.toBlock, within)]
          if (!isUnchanged(before, after)) throw new IncompleteError('state', quiet)
        }),
      signal,
    )
    const isBorn = first > place.startBlock && (await recordAt(first - 1, signal)) !== undefined
    if (isBorn) throw new IncompleteError('birth', { fromBlock: place.startBlock, toBlock: first - 1 })
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
  }
}

/** The record of a position at the end of a block; undefined if there is none. */
async function readRecord(
  {
    client,
    place,
    data,
    block,
  }: { readonly client: ChainClient; readonly place: StreamPlace; readonly data: Hex; readonly block: number },
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const number = BigInt(block)
  try {
    const answer = await client.read(
      (endpoint, within) => endpoint.call({ to: place.contract, data, block: number }, within),
      { signal, past: { number, timestampSec: 0n } },
    )
    return answer.slice(2).match(/.{64}/g) ?? undefined
  } catch (error) {
    if (error instanceof RevertError) return undefined
    throw error
  }
}

/** A position may be burned without a flow once nothing of it is left. */
function isUnchanged(before: readonly string[] | undefined, after: readonly string[] | undefined): boolean {
  if (before === undefined) return after === undefined
  if (after === undefined) return LEFT_WORDS.every((index) => /^0*$/.test(before[index] ?? ''))
  const { from, to } = FLOW_WORDS
  return before.slice(from, to).join() === after.slice(from, to).join()
}
