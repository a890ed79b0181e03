import type { Hex } from 'viem'
import type { ChainClient } from '../../../../chain/rpc/client.ts'
import {
  readWitnessedLogs,
  type WitnessedLogs,
} from '../../../../finance/liquidity/position_history/mint/witnessed_logs.ts'
import type { LogRange } from '../../../../history/logs/check_logs.ts'
import type { LogFilter } from '../../../../history/stream.ts'
import { allOrAbort } from '../../../../lib/async/all_or_abort.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import { createPoolEventFilter, createPriceFilter, decodePoolEvents, type PoolEvent } from '../../event/pool_move.ts'

/** A pool, and who keeps it. */
export interface NamedPool {
  readonly client: ChainClient
  /** Lower case. */
  readonly poolManager: Hex
  readonly pool: Hex
}

/** Moves of a pool, and how many different endpoints gave them. */
export type WitnessedPoolEvents = WitnessedLogs<PoolEvent>

/** A block, by its hash if it may still be replaced. */
export interface BlockReference {
  readonly number: number
  readonly hash?: Hex | undefined
}

/** Blocks so near to each other are asked for together, and at most so many. */
const NEAR_BLOCKS = 64
const RANGE_MAX = 512
/** First and longest stretch of the search for the last price, and how many there may be. */
const BACK_FIRST = 64
const BACK_MAX = 10_000
const BACKS_MAX = 40

/** Moves of a pool in each of some blocks, ascending, by number; two endpoints are asked. Throws as `readByQuorum`. */
export async function readPoolEvents(
  of: NamedPool,
  blocks: readonly BlockReference[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, WitnessedPoolEvents>> {
  const found = new Map<number, WitnessedPoolEvents>()
  const add = ({ number }: BlockReference, { rows, witnesses }: WitnessedPoolEvents) =>
    found.set(number, { rows: rows.filter(({ block }) => block === number), witnesses })
  const readOne = (block: BlockReference) => async (within: AbortSignal) => {
    const { number, hash } = block
    const range = hash === undefined ? { fromBlock: number, toBlock: number } : { number, blockHash: hash }
    const seen = await look(of, createPoolEventFilter(of), range, within)
    if ('blocks' in seen) throw new UnavailableError(seen.message)
    add(block, seen)
  }
  const tasks = groupsOf(blocks).map((group) => async (within: AbortSignal) => {
    const [first, last] = [group[0]?.number ?? 0, group.at(-1)?.number ?? 0]
    const seen =
      group.length > 1 && (await look(of, createPoolEventFilter(of), { fromBlock: first, toBlock: last }, within))
    if (seen === false || 'blocks' in seen) await allOrAbort(group.map(readOne), within)
    else for (const block of group) add(block, seen)
  })
  await allOrAbort(tasks, signal)
  return found
}

/**
 * The square-root price of a pool, in Q96, before a block, by the last log that says it: needs no state of the past.
 * Undefined if it is further back than the search goes. Throws as `readByQuorum`.
 */
export async function readPriceBefore(
  of: NamedPool,
  block: number,
  signal: AbortSignal,
): Promise<{ readonly sqrtPriceX96: bigint; readonly witnesses: number } | undefined> {
  let [toBlock, blocks] = [block - 1, BACK_FIRST]
  let witnesses = Number.POSITIVE_INFINITY
  let cap = BACK_MAX
  for (let looks = 0; looks < BACKS_MAX && toBlock >= 0; looks++) {
    const range = { fromBlock: Math.max(0, toBlock - blocks + 1), toBlock }
    const seen = await look(of, createPriceFilter(of), range, signal)
    if ('blocks' in seen) {
      if (blocks === 1) throw new UnavailableError(seen.message)
      blocks = cap = seen.blocks
      continue
    }
    witnesses = Math.min(witnesses, seen.witnesses)
    const sqrtPriceX96 = seen.rows.findLast((move) => move.sqrtPriceX96 !== undefined)?.sqrtPriceX96
    if (sqrtPriceX96 !== undefined) return { sqrtPriceX96, witnesses }
    toBlock = range.fromBlock - 1
    blocks = Math.min(cap, blocks * 4)
  }
  return undefined
}

function look({ client, pool }: NamedPool, filter: LogFilter, range: LogRange, signal: AbortSignal) {
  const what = `the moves of pool ${pool}`
  return readWitnessedLogs({ client, filter, range, what, rowsOf: decodePoolEvents, textOf: textOfMove }, signal)
}

/** Neighbouring blocks together; what may be replaced is alone. */
function groupsOf(blocks: readonly BlockReference[]): readonly (readonly BlockReference[])[] {
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

function textOfMove({ block, logIndex, sqrtPriceX96 }: PoolEvent): string {
  return `${block} ${logIndex} ${sqrtPriceX96}`
}
