import { concat, encodePacked, type Hex, keccak256, toFunctionSelector, toHex } from 'viem'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeWord, encodeArray, encodeCall } from '../../../chain/call/words.ts'
import { createBlockFinder } from '../../../chain/past/block_at.ts'
import { noteWitnesses, QUORUM, readByQuorum } from '../../../chain/past/quorum.ts'
import { type ChainClient, ChainUnavailableError, type Endpoint, isUnavailable } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import type { FeeGrowth } from '../../../finance/math/liquidity.ts'
import type { PricePrefetcher } from '../../../finance/price/past/prefetch.ts'
import { createRecheck } from '../../../history/recheck.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { CodedError, UnavailableError, UpstreamError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import {
  blocksPendingError,
  createAdaptiveConcurrency,
  formatPosition,
} from '../../liquidity/position_history/adaptive_concurrency.ts'
import {
  type ChangeAmounts,
  type FoundChange,
  type LiquidityChange,
  type StoredChange,
  storeAmounts,
} from '../../liquidity/position_history/liquidity_change.ts'
import { type Counters, computeChangeAmounts, findPriceBefore } from '../math/change.ts'
import {
  type BlockReference,
  type ChangeTarget,
  readPoolEvents,
  readPriceBefore,
  type WitnessedPoolEvents,
} from './pool_events.ts'

/**
 * Completes changes with the amounts of each. Amounts of final blocks are stored, so a repeated call continues from
 * there. Throws `UnavailableError` if the chain cannot be read, if no endpoint keeps the needed state, if fees moved
 * between two changes of a block, or if the state shows that a change is missing.
 */
type FindAmounts = (query: AmountsQuery, work: Work) => Promise<readonly FoundChange[]>

/** Most blocks read at the same time, each by up to three requests, and most blocks that are re-checked. */
const BLOCKS_AT_ONCE = 12
const RECHECKED_MAX = 12

/** Creates a finder that stores amounts in the database. */
export function createAmountsFinder({ db, clock }: { readonly db: Database; readonly clock: Clock }): FindAmounts {
  const readGroups = createGroupReader(clock)
  const recheck = createRecheck(clock)
  const runAdaptively = createAdaptiveConcurrency(BLOCKS_AT_ONCE)

  return async (query, work) => {
    const { client, target, changes, finalTo } = query
    const changesByKey = new Map(
      changes.flatMap((change) => (hasAmounts(change) ? [[getKey(change), change] as const] : [])),
    )
    const growthBefore = new Map<number, FeeGrowth | undefined>()
    const groups = groupByBlock(changes)
    const missing = groups.filter((group) =>
      group.changes.some((change) => lacksAmounts(changesByKey.get(getKey(change)), group)),
    )
    const [first] = changes
    if (first === undefined) return []
    const { tokenId } = first

    async function addFound(read: readonly ChangeGroupRead[]): Promise<void> {
      for (const { changes: foundChanges, before } of read) {
        for (const each of foundChanges)
          changesByKey.set(getKey(each), checkAgreement(query, each, changesByKey.get(getKey(each))))
        if (foundChanges[0] !== undefined) growthBefore.set(foundChanges[0].block, before)
      }
      const finalChanges = read.flatMap((each) => each.changes).filter(({ block }) => block <= finalTo)
      await storeAmounts(db, { target, tokenId }, finalChanges)
    }

    let done = 0
    const what = 'what its changes paid is'
    work.onTimeout(() => blocksPendingError({ client, tokenId }, { what, done, total: missing.length }))
    await runAdaptively({ chainId: client.chain.id, items: missing }, async (batch) => {
      await addFound(await readGroups(query, batch, work))
      done += batch.length
      await query.prefetcher?.finish(work)
    })
    const isDue = ({ changes: groupChanges }: ChangeGroup) =>
      groupChanges.some((change) =>
        recheck.isDue(client, changesByKey.get(getKey(change))?.amounts.witnesses ?? QUORUM),
      )
    const doubtful = groups.filter((group) => !missing.includes(group) && isDue(group)).slice(0, RECHECKED_MAX)
    if (doubtful.length > 0) {
      // The stored amounts serve if no endpoint is available now.
      const read = await readGroups({ ...query, prefetcher: undefined }, doubtful, work).catch((error: unknown) => {
        if (!(error instanceof UnavailableError) || isUnavailable(error, 'disputed')) throw error
        return []
      })
      const witnesses = read.flatMap((each) => each.changes).map(({ amounts: found }) => found.witnesses)
      recheck.recordAnswer(client, witnesses.length === 0 ? 0 : Math.min(...witnesses))
      await addFound(read)
    }
    const all = changes.flatMap((change) => changesByKey.get(getKey(change)) ?? [])
    for (const { amounts } of all) noteWitnesses(client, amounts.witnesses, work)
    for (const [index, change] of all.entries()) {
      const earlier = all[index - 1]
      const before = growthBefore.get(change.block)
      const isNext = earlier !== undefined && earlier.block < change.block && before !== undefined
      if (isNext && !isSame(earlier.amounts.inside, before)) throw incompleteChangesError(query, change)
    }
    return all
  }
}

function hasAmounts(change: StoredChange): change is FoundChange {
  return change.amounts !== undefined
}

/** True if amounts are missing. A lone mint is stored without growth, which a later change needs. */
function lacksAmounts(change: FoundChange | undefined, { isAlone }: ChangeGroup): boolean {
  return change === undefined || (!isAlone && change.amounts.inside === undefined)
}

/**
 * Two endpoints override an earlier value from one; a single endpoint does not. Throws `ChainUnavailableError`
 * (disputed).
 */
function checkAgreement(
  { client: { chain } }: AmountsQuery,
  now: FoundChange,
  before: FoundChange | undefined,
): FoundChange {
  if (before === undefined || isEqual(before.amounts, now.amounts) || now.amounts.witnesses >= QUORUM) return now
  throw new ChainUnavailableError(
    'disputed',
    `Cannot believe the state at block ${now.block} of chain ${chain.id} (${chain.name}): one endpoint gave another one ` +
      'before (second witness)',
  )
}

function isEqual(a: ChangeAmounts, b: ChangeAmounts): boolean {
  const text = ({ principal, fees, sqrtPriceX96 }: ChangeAmounts) =>
    [principal.amount0, principal.amount1, fees.amount0, fees.amount1, sqrtPriceX96].join()
  return text(a) === text(b)
}

function isSame(a: FeeGrowth | undefined, b: FeeGrowth): boolean {
  return a === undefined || (a.growth0 === b.growth0 && a.growth1 === b.growth1)
}

function getKey({ block, logIndex }: StoredChange): string {
  return `${block}:${logIndex}`
}

/** The changes of one position, from its mint on, oldest first. */
interface AmountsQuery {
  readonly client: ChainClient
  readonly target: ChangeTarget
  readonly changes: readonly StoredChange[]
  /** The last block known to be final. */
  readonly finalTo: number
  /** Prefetches prices at the blocks of changes, bundled with the reads of the state. */
  readonly prefetcher?: PricePrefetcher | undefined
}

/** A block in which the position changed. */
interface ChangeGroup {
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
interface ChangeGroupRead {
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
function createGroupReader(clock: Clock): ReadGroups {
  const finder = createBlockFinder(clock)

  /** Adds the hash to a block that may be replaced. */
  async function toBlockReference(
    { client, finalTo }: AmountsQuery,
    number: number,
    work: Work,
  ): Promise<BlockReference> {
    if (number <= finalTo) return { number }
    const { hash } = await finder.findReportedBlock(client, BigInt(number), work)
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
function groupByBlock(changes: readonly StoredChange[]): readonly ChangeGroup[] {
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
function incompleteChangesError({ client }: AmountsQuery, { tokenId, block }: StoredChange): UnavailableError {
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
