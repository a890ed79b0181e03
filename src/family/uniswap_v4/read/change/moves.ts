import type { Hex } from 'viem'
import { DisputeError, readByQuorum } from '../../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import type { LogRange } from '../../../../history/logs/check_logs.ts'
import { LogsRefusedError } from '../../../../history/logs/refusal.ts'
import { createLogSource } from '../../../../history/logs/source.ts'
import type { LogFilter } from '../../../../history/stream.ts'
import { together } from '../../../../lib/async/together.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import { moveFilter, movesOf, type PoolMove, priceFilter } from '../../event/pool_move.ts'

/** A pool, and who keeps it. */
export interface NamedPool {
  readonly client: ChainClient
  /** Lower case. */
  readonly poolManager: Hex
  readonly pool: Hex
}

/** Moves of a pool, and how many different endpoints gave them. */
export interface SeenMoves {
  readonly moves: readonly PoolMove[]
  readonly witnesses: number
}

/** A block, by its hash if it may still be replaced. */
export interface AskedBlock {
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
export async function readMoves(
  of: NamedPool,
  blocks: readonly AskedBlock[],
  signal: AbortSignal,
): Promise<ReadonlyMap<number, SeenMoves>> {
  const found = new Map<number, SeenMoves>()
  const tasks = groupsOf(blocks).map((group) => async (within: AbortSignal) => {
    const [first, last] = [group[0]?.number ?? 0, group.at(-1)?.number ?? 0]
    const alone = () =>
      together(
        group.map((block) => (shared: AbortSignal) => readOne(block, shared)),
        within,
      )
    const add = (block: AskedBlock, { moves, witnesses }: SeenMoves) =>
      found.set(block.number, { moves: moves.filter((move) => move.block === block.number), witnesses })
    const readOne = async (block: AskedBlock, shared: AbortSignal) => {
      const { number, hash } = block
      const range = hash === undefined ? { fromBlock: number, toBlock: number } : { number, blockHash: hash }
      add(block, await look(of, moveFilter(of), range, shared))
    }
    try {
      if (group.length === 1) return void (await alone())
      const seen = await look(of, moveFilter(of), { fromBlock: first, toBlock: last }, within)
      for (const block of group) add(block, seen)
    } catch (error) {
      if (!(error instanceof WideError)) throw error
      await alone()
    }
  })
  await together(tasks, signal)
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
    const seen = await look(of, priceFilter(of), range, signal).catch((error: unknown) => {
      if (!(error instanceof WideError) || blocks === 1) throw error
      return error
    })
    if (seen instanceof WideError) {
      blocks = cap = seen.blocks
      continue
    }
    witnesses = Math.min(witnesses, seen.witnesses)
    const sqrtPriceX96 = seen.moves.findLast((move) => move.sqrtPriceX96 !== undefined)?.sqrtPriceX96
    if (sqrtPriceX96 !== undefined) return { sqrtPriceX96, witnesses }
    toBlock = range.fromBlock - 1
    blocks = Math.min(cap, blocks * 4)
  }
  return undefined
}

/** No endpoint takes so many blocks at once. */
class WideError extends UnavailableError {
  /** How many it may be. */
  readonly blocks: number

  constructor({ message }: UnavailableError, blocks: number) {
    super(message)
    this.blocks = blocks
  }
}

async function look(of: NamedPool, filter: LogFilter, range: LogRange, signal: AbortSignal): Promise<SeenMoves> {
  const { client, pool } = of
  let taken: number | undefined
  const attempt = async (endpoint: Endpoint, within: AbortSignal) => {
    try {
      return movesOf(await createLogSource(endpoint, client.chain.id).logs(filter, range, within))
    } catch (error) {
      const half = 'blockHash' in range ? 1 : Math.ceil((range.toBlock - range.fromBlock + 1) / 2)
      const { reaction } = error instanceof LogsRefusedError ? error : {}
      if (reaction?.kind === 'late') taken ??= half
      if (reaction?.kind === 'range' || reaction?.kind === 'results') taken = Math.min(half, reaction.blocks ?? half)
      throw error
    }
  }
  try {
    const options = { signal, what: `the moves of pool ${pool}`, textOf: textOfMoves }
    const { value, endpoints } = await readByQuorum(client, attempt, options)
    return { moves: value, witnesses: endpoints.length }
  } catch (error) {
    const isWide = taken !== undefined && error instanceof UnavailableError && !(error instanceof DisputeError)
    throw isWide ? new WideError(error, Math.max(1, taken ?? 1)) : error
  }
}

/** Neighbouring blocks together; what may be replaced is alone. */
function groupsOf(blocks: readonly AskedBlock[]): readonly (readonly AskedBlock[])[] {
  const groups: AskedBlock[][] = []
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

function textOfMoves(moves: readonly PoolMove[]): string {
  return moves.map(({ block, logIndex, sqrtPriceX96 }) => `${block} ${logIndex} ${sqrtPriceX96}`).join()
}
