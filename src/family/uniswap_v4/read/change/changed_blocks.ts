import { concat, encodePacked, type Hex, keccak256, toFunctionSelector, toHex } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { decodeWord, encodeArray, encodeCall } from '../../../../chain/call/words.ts'
import { createBlockFinder } from '../../../../chain/past/block_at.ts'
import { QUORUM, readByQuorum } from '../../../../chain/past/quorum.ts'
import { type ChainClient, type Endpoint, isUnavailable } from '../../../../chain/rpc/client.ts'
import type { FeeGrowth } from '../../../../finance/math/liquidity.ts'
import type { PricePrefetcher } from '../../../../finance/price/past/prefetch.ts'
import { allOrAbort } from '../../../../lib/async/parallel.ts'
import type { Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { CodedError, UnavailableError, UpstreamError } from '../../../../lib/error.ts'
import { groupBy } from '../../../../lib/group_by.ts'
import { formatPosition } from '../../../liquidity/position_history/adaptive_concurrency.ts'
import type {
  FoundChange,
  LiquidityChange,
  StoredChange,
} from '../../../liquidity/position_history/liquidity_change.ts'
import { type Counters, computeChangeAmounts, findPriceBefore } from '../../math/change.ts'
import { type BlockReference, readPoolEvents, readPriceBefore, type WitnessedPoolEvents } from './pool_events.ts'
import type { ChangeTarget } from './stream.ts'

/** The changes of one position, from its mint on, oldest first. */
export interface AmountsQuery {
  readonly client: ChainClient
  readonly target: ChangeTarget
  readonly changes: readonly StoredChange[]
  /** The last block known to be final. */
  readonly finalTo: number
  /** Prefetches prices at the blocks of changes, bundled with the reads of the state. */
  readonly prefetcher?: PricePrefetcher | undefined
}

/** A block in which the position changed. */
export interface ChangeGroup {
  readonly number: number
  readonly changes: readonly StoredChange[]
  readonly first: StoredChange
  /** Liquidity of the position, before its first change in the block and after its last. */
  readonly liquidity: { readonly before: bigint; readonly after: bigint }
  /** The position was minted in this block. */
  readonly isBirth: boolean
  /** The position has no other changes, so no past state is needed. */
  readonly isAlone: boolean
}

/** The changes of a block with their amounts. */
export interface ChangeGroupRead {
  readonly changes: readonly FoundChange[]
  /** Growth within the range before the block; undefined if it was not read. */
  readonly before: FeeGrowth | undefined
}

const EMPTY_COUNTERS = { liquidity: 0n, inside: { growth0: 0n, growth1: 0n } } as const
const NO_POOL_EVENTS: WitnessedPoolEvents = { rows: [], witnesses: 1 }
/** A missing change may arrive soon. */
const INCOMPLETE_RETRY_SEC = 5

/** Reads the amounts of the changes of some blocks, all blocks at the same time. Throws as `FindAmounts`. */
type ReadGroups = (
  query: AmountsQuery,
  groups: readonly ChangeGroup[],
  work: Work,
) => Promise<readonly ChangeGroupRead[]>

/** Creates a reader of blocks with changes. */
export function createGroupReader(clock: Clock): ReadGroups {
  const finder = createBlockFinder(clock)

  /** Adds the hash to a block that may be replaced. */
  async function toBlockReference(
    { client, finalTo }: AmountsQuery,
    number: number,
    work: Work,
  ): Promise<BlockReference> {
    if (number <= finalTo) return { number }
    const { hash } = await finder.findByNumber(client, BigInt(number), work)
    return { number, hash }
  }

  async function readStateAt(query: AmountsQuery, { first: change }: ChangeGroup, number: number, work: Work) {
    const block = await toBlockReference(query, number, work)
    return await readState({ ...query, clock }, { change, block }, work)
  }

  /** Reads the state after the block and prefetches its prices; undefined for a lone mint if no endpoint keeps it. */
  async function readStateAfter(query: AmountsQuery, group: ChangeGroup, work: Work) {
    const { number, isAlone } = group
    const [timeSec] = group.changes.flatMap(({ timestampSec }) => timestampSec ?? [])
    const state = readStateAt(query, group, number, work)
    if (number <= query.finalTo && timeSec !== undefined) {
      query.prefetcher?.start({ number: BigInt(number), timestampSec: BigInt(timeSec) }, work)
    }
    if (!isAlone) return await state
    return await state.catch((error: unknown) => {
      if (isUnavailable(error, 'pruned')) return undefined
      throw error
    })
  }

  /** Reads the price before a position's mint, from logs if no endpoint keeps the state. */
  async function readOriginPrice(query: AmountsQuery, group: ChangeGroup, work: Work) {
    try {
      return await readStateAt(query, group, group.number - 1, work)
    } catch (error) {
      if (!isUnavailable(error, 'pruned')) throw error
      const price = await readPriceBefore(toNamedPool(query, group.first), group.number, work)
      if (price === undefined) throw error
      return price
    }
  }

  async function readGroup(
    query: AmountsQuery,
    { group, moves }: { readonly group: ChangeGroup; readonly moves: Promise<WitnessedPoolEvents> },
    work: Work,
  ): Promise<ChangeGroupRead> {
    const { changes, first, isBirth, liquidity } = group
    const [poolEvents, before, after] = await Promise.all([
      moves,
      isBirth ? undefined : readStateAt(query, group, group.number - 1, work),
      readStateAfter(query, group, work),
    ])
    const hasPriceBefore = findPriceBefore(poolEvents.rows, first) !== undefined
    const isPriceUnchanged = poolEvents.rows.every(({ sqrtPriceX96 }) => sqrtPriceX96 === undefined)
    const price =
      before ??
      (isPriceUnchanged ? after : undefined) ??
      (hasPriceBefore ? undefined : await readOriginPrice(query, group, work))
    if (after !== undefined && after.liquidity !== liquidity.after) throw incompleteChangesError(query, first)
    if (before !== undefined && before.liquidity !== liquidity.before) throw incompleteChangesError(query, first)
    const amounts = computeChangeAmounts({
      changes,
      poolEvents: poolEvents.rows,
      sqrtPriceBeforeX96: price?.sqrtPriceX96,
      before: before ?? EMPTY_COUNTERS,
      after: after?.inside,
    })
    if (amounts === 'moved') throw feesMovedError(query, first)
    if (amounts === 'unknown') throw incompleteChangesError(query, first)
    const witnesses = Math.min(poolEvents.witnesses, price?.witnesses ?? QUORUM, after?.witnesses ?? QUORUM)
    const foundChanges = changes.flatMap((change, index): FoundChange[] => {
      const changeAmounts = amounts[index]
      return changeAmounts === undefined
        ? []
        : [{ ...change, amounts: { ...changeAmounts, inside: after?.inside, witnesses } }]
    })
    return { changes: foundChanges, before: before?.inside }
  }

  return async (query, groups, work) => {
    const [group] = groups
    if (group === undefined) return []
    const blockReads = groups.map(
      ({ number }) =>
        (within: Work) =>
          toBlockReference(query, number, within),
    )
    const blocks = await allOrAbort(blockReads, work)
    const eventsByBlock = readPoolEvents(toNamedPool(query, group.first), blocks, work)
    eventsByBlock.catch(() => {})
    const tasks = groups.map((group) => (within: Work) => {
      const moves = eventsByBlock.then((events) => events.get(group.number) ?? NO_POOL_EVENTS)
      return readGroup(query, { group, moves }, within)
    })
    return await allOrAbort(tasks, work)
  }
}

/** Groups changes by block. */
export function groupByBlock(changes: readonly StoredChange[]): readonly ChangeGroup[] {
  let liquidity = 0n
  const byBlock = [...groupBy(changes, ({ block }) => block)]
  return byBlock.flatMap(([number, blockChanges], index) => {
    const before = liquidity
    const [first] = blockChanges
    if (first === undefined) return []
    for (const change of blockChanges) liquidity += change.liquidity
    const isBirth = index === 0
    return {
      number,
      changes: blockChanges,
      first,
      liquidity: { before, after: liquidity },
      isBirth,
      isAlone: isBirth && byBlock.length === 1,
    }
  })
}

function toNamedPool({ client, target: { poolManager } }: AmountsQuery, { pool }: StoredChange) {
  return { client, poolManager, pool }
}

/** The error if fee growth moved between two changes in one block: their fees can never be separated. */
function feesMovedError({ client }: AmountsQuery, { tokenId, block }: StoredChange): CodedError {
  const message =
    `Cannot compute what ${formatPosition({ client, tokenId })} was paid in block ${block}: it changed more than once there, with a swap or a ` +
    'donation in between'
  return new CodedError('NOT_FOUND', message)
}

/** The error if the state shows that a change is missing. */
export function incompleteChangesError({ client }: AmountsQuery, { tokenId, block }: StoredChange): UnavailableError {
  const title = formatPosition({ client, tokenId })
  const message = `The history of ${title} is not complete: the state at block ${block} does not follow from it`
  return new UnavailableError(message, { retryAfterSec: INCOMPLETE_RETRY_SEC })
}

/** State of a pool and of a position in it, as the pool manager stores them, at the end of a block. */
interface PoolState extends Counters {
  /** 0 before the pool is initialized. */
  readonly sqrtPriceX96: bigint
}

/** Storage slot of pools in the pool manager (v4-core `StateLibrary.POOLS_SLOT`), and of positions in a pool. */
const POOLS_SLOT = 6n
const POSITIONS_OFFSET = 6n
const EXTSLOAD = toFunctionSelector('extsload(bytes32[])')
/** Slot0 of the pool, and the three words of a position. */
const WORDS = 4

/**
 * Reads the state of a position and its pool at the end of a block from two endpoints; `witnesses` counts those that
 * agree. Bundled into one request with other reads of the block from the same event-loop turn. Throws as
 * `readByQuorum`: `ChainUnavailableError` (pruned) if no endpoint keeps the state.
 */
async function readState(
  { client, target, clock }: { readonly client: ChainClient; readonly target: ChangeTarget; readonly clock: Clock },
  { change, block }: { readonly change: LiquidityChange; readonly block: BlockReference },
  work: Work,
): Promise<PoolState & { readonly witnesses: number }> {
  const calls = [{ to: target.poolManager, data: encodeStateCall(change, target.contract) }]
  const { number, hash } = block
  const callBlock = { chainId: target.chainId, number: BigInt(number), ...(hash === undefined ? {} : { hash }) }
  const attempt = async (endpoint: Endpoint, within: Work): Promise<PoolState> => {
    const { results } = await readMulticall(endpoint, { calls, block: callBlock, isLight: true, clock }, within)
    return decodeState(results[0])
  }
  const { value, endpoints } = await readByQuorum(client, attempt, {
    work,
    past: { number: BigInt(number), timestampSec: 0n },
    isBundled: true,
    what: `the state of pool ${change.pool} at block ${number}`,
    toText: ({ sqrtPriceX96, liquidity, inside }) => `${sqrtPriceX96} ${liquidity} ${inside.growth0} ${inside.growth1}`,
  })
  return { ...value, witnesses: endpoints.length }
}

/** Encodes the call that reads the state of a position's pool and of the position from the pool manager. */
function encodeStateCall({ pool, tokenId, tickLower, tickUpper }: LiquidityChange, positionManager: Hex): Hex {
  const state = BigInt(keccak256(concat([pool, toHex(POOLS_SLOT, { size: 32 })])))
  const key = keccak256(
    encodePacked(['address', 'int24', 'int24', 'uint256'], [positionManager, tickLower, tickUpper, tokenId]),
  )
  const position = BigInt(keccak256(concat([key, toHex(state + POSITIONS_OFFSET, { size: 32 })])))
  return encodeCall(EXTSLOAD, encodeArray([state, position, position + 1n, position + 2n]))
}

/** Decodes a state. Throws `UpstreamError` for an answer of another length. */
function decodeState(answer: Hex | undefined): PoolState {
  if (answer === undefined || answer.length !== 2 + 64 * (2 + WORDS)) {
    throw new UpstreamError('The pool manager does not answer')
  }
  const [slot0, liquidity, growth0, growth1] = [2, 3, 4, 5].map((index) => decodeWord(answer, index))
  return {
    sqrtPriceX96: BigInt.asUintN(160, slot0 ?? 0n),
    liquidity: BigInt.asUintN(128, liquidity ?? 0n),
    inside: { growth0: growth0 ?? 0n, growth1: growth1 ?? 0n },
  }
}
