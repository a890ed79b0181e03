import { type Hex, padHex } from 'viem'
import { toLowerHex } from '../../../chain/call/words.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { LogRange } from '../../../history/logs/check_logs.ts'
import type { LogFilter, Stream, StreamTarget } from '../../../history/stream.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { LIQUIDITY_CHANGES, type LiquidityChange } from '../../liquidity/position_history/liquidity_change.ts'
import { readWitnessedLogs, type WitnessedLogs } from '../../liquidity/position_history/mint_block.ts'
import {
  CHANGE_TOPIC,
  createPoolEventFilter,
  createPriceFilter,
  decodeChanges,
  decodePoolEvents,
  type PoolEvent,
} from '../event.ts'
import type { UniswapV4Deployment } from '../table.ts'

/** The pool manager that logs changes, for one position manager, which is the `contract` of the target. */
export interface ChangeTarget extends StreamTarget {
  /** Lower case. */
  readonly poolManager: Hex
}

/**
 * The stream of changes of positions. A log has the pool and the manager in its topics but the token id only in its
 * data, so a subject is a pool: its changes serve all positions in it.
 */
export const CHANGE_STREAM: Stream<LiquidityChange, ChangeTarget> = {
  name: 'uniswap_v4_change',
  table: LIQUIDITY_CHANGES,
  filters: ({ contract, poolManager }, subjects) => [
    { addresses: [poolManager], topics: [[CHANGE_TOPIC], subjects, [padHex(contract, { size: 32 })]] },
  ],
  decode: (_, logs) => ({ rows: decodeChanges(logs), unsettled: [] }),
}

/** Converts a deployment to the target that history follows. */
export function toChangeTarget(
  chainId: number,
  { positionManager, poolManager, startBlock }: UniswapV4Deployment,
): ChangeTarget {
  return { chainId, contract: toLowerHex(positionManager), poolManager: toLowerHex(poolManager), startBlock }
}

/** A pool and its pool manager. */
interface NamedPool {
  readonly client: ChainClient
  /** Lower case. */
  readonly poolManager: Hex
  readonly pool: Hex
}

/** Events of a pool, and the number of different endpoints that returned them. */
export type WitnessedPoolEvents = WitnessedLogs<PoolEvent>

/** A block, with its hash if it may still be replaced. */
export interface BlockReference {
  readonly number: number
  readonly hash?: Hex | undefined
}

/** Largest gap between blocks that one request covers, and its longest range. */
const NEAR_BLOCKS = 64
const RANGE_MAX = 512
/** First and longest range of the search for the last price, and the most ranges. */
const BACK_FIRST = 64
const BACK_MAX = 10_000
const BACKS_MAX = 40

/** Reads a pool's events in each of some ascending blocks, by number, by two endpoints. Throws as `readByQuorum`. */
export async function readPoolEvents(
  namedPool: NamedPool,
  blocks: readonly BlockReference[],
  work: Work,
): Promise<ReadonlyMap<number, WitnessedPoolEvents>> {
  const eventsByBlock = new Map<number, WitnessedPoolEvents>()
  const add = ({ number }: BlockReference, { rows, witnesses }: WitnessedPoolEvents) =>
    eventsByBlock.set(number, { rows: rows.filter(({ block }) => block === number), witnesses })
  const readBlockEvents = (block: BlockReference) => async (within: Work) => {
    const { number, hash } = block
    const range = hash === undefined ? { fromBlock: number, toBlock: number } : { number, blockHash: hash }
    const result = await readPoolLogs(namedPool, createPoolEventFilter(namedPool), range, within)
    if ('blocks' in result) throw new UnavailableError(result.message)
    add(block, result)
  }
  const tasks = groupNearby(blocks).map((group) => async (within: Work) => {
    const [first, last] = [group[0]?.number ?? 0, group.at(-1)?.number ?? 0]
    const result =
      group.length > 1 &&
      (await readPoolLogs(namedPool, createPoolEventFilter(namedPool), { fromBlock: first, toBlock: last }, within))
    if (result === false || 'blocks' in result) await allOrAbort(group.map(readBlockEvents), within)
    else for (const block of group) add(block, result)
  })
  await allOrAbort(tasks, work)
  return eventsByBlock
}

/**
 * Reads the square-root price of a pool, in Q96, before a block, from the last log that contains it; needs no past
 * state. Undefined if that log is older than the search reaches. Throws as `readByQuorum`.
 */
export async function readPriceBefore(
  namedPool: NamedPool,
  block: number,
  work: Work,
): Promise<{ readonly sqrtPriceX96: bigint; readonly witnesses: number } | undefined> {
  let [toBlock, blocks] = [block - 1, BACK_FIRST]
  let witnesses = Number.POSITIVE_INFINITY
  let cap = BACK_MAX
  for (let reads = 0; reads < BACKS_MAX && toBlock >= 0; reads++) {
    const range = { fromBlock: Math.max(0, toBlock - blocks + 1), toBlock }
    const result = await readPoolLogs(namedPool, createPriceFilter(namedPool), range, work)
    if ('blocks' in result) {
      if (blocks === 1) throw new UnavailableError(result.message)
      blocks = cap = result.blocks
      continue
    }
    witnesses = Math.min(witnesses, result.witnesses)
    const sqrtPriceX96 = result.rows.findLast((event) => event.sqrtPriceX96 !== undefined)?.sqrtPriceX96
    if (sqrtPriceX96 !== undefined) return { sqrtPriceX96, witnesses }
    toBlock = range.fromBlock - 1
    blocks = Math.min(cap, blocks * 4)
  }
  return undefined
}

function readPoolLogs({ client, pool }: NamedPool, filter: LogFilter, range: LogRange, work: Work) {
  const what = `the moves of pool ${pool}`
  return readWitnessedLogs({ client, filter, range, what, decodeRows: decodePoolEvents, toText: toEventText }, work)
}

/** Groups neighbouring blocks; a block that may be replaced is a group of its own. */
function groupNearby(blocks: readonly BlockReference[]): readonly (readonly BlockReference[])[] {
  const groups: BlockReference[][] = []
  for (const block of blocks) {
    const group = groups.at(-1)
    const [first, last] = [group?.[0], group?.at(-1)]
    const isNear =
      first !== undefined &&
      last !== undefined &&
      last.hash === undefined &&
      block.hash === undefined &&
      block.number - last.number <= NEAR_BLOCKS &&
      block.number - first.number < RANGE_MAX
    if (isNear) group?.push(block)
    else groups.push([block])
  }
  return groups
}

function toEventText({ block, logIndex, sqrtPriceX96 }: PoolEvent): string {
  return `${block} ${logIndex} ${sqrtPriceX96}`
}
