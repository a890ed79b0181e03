import { createBlockFinder } from '../../../../chain/past/block_at.ts'
import { QUORUM } from '../../../../chain/past/quorum.ts'
import { type ChainClient, StatePrunedError } from '../../../../chain/rpc/client.ts'
import { formatPosition } from '../../../../finance/liquidity/position_history/adaptive_concurrency.ts'
import type { FoundChange, StoredChange } from '../../../../finance/liquidity/position_history/liquidity_change.ts'
import type { FeeGrowth } from '../../../../finance/math/liquidity.ts'
import type { PricePrefetcher } from '../../../../finance/price/past/prefetch.ts'
import { allOrAbort } from '../../../../lib/async/all_or_abort.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import { groupBy } from '../../../../lib/group_by.ts'
import { computeChangeAmounts, findPriceBefore } from '../../math/change.ts'
import { type BlockReference, readPoolEvents, readPriceBefore, type WitnessedPoolEvents } from './pool_events.ts'
import { readState } from './state.ts'
import type { ChangeTarget } from './stream.ts'

/** The changes of one position, from its mint on, oldest first. */
export interface AmountsQuery {
  readonly client: ChainClient
  readonly place: ChangeTarget
  readonly changes: readonly StoredChange[]
  /** The last block that can never be replaced, so far as is known. */
  readonly finalTo: number
  /** Prices that will be wanted at the blocks of changes: they leave together with the questions for the state. */
  readonly ahead?: PricePrefetcher | undefined
}

/** Fees moved between two changes of one block, so nobody can tell what each paid. */
export class FeesMovedInBlockError extends UnavailableError {}

/** A block in which the position changed. */
export interface ChangeGroup {
  readonly number: number
  readonly changes: readonly StoredChange[]
  readonly first: StoredChange
  /** Of the position, before its first change here and after its last. */
  readonly liquidity: { readonly before: bigint; readonly after: bigint }
  /** The position came into being here. */
  readonly isBirth: boolean
  /** Nothing changed it besides, so no state of the past is needed. */
  readonly isAlone: boolean
}

/** A block of changes as it was read. */
export interface ChangeGroupRead {
  readonly changes: readonly FoundChange[]
  /** Growth within the range before it; undefined if nobody was asked. */
  readonly before: FeeGrowth | undefined
}

const UNBORN = { liquidity: 0n, inside: { growth0: 0n, growth1: 0n } } as const
const NO_MOVES: WitnessedPoolEvents = { rows: [], witnesses: 1 }
/** What nobody can tell today, nobody can tell tomorrow; a change that is missing may be there soon. */
const RETRY_SEC = { moved: 3_600, contradicted: 5 } as const

/** Reads what the changes of some blocks were worth, all blocks at the same time. Throws as `FindAmounts`. */
type ReadGroups = (
  question: AmountsQuery,
  groups: readonly ChangeGroup[],
  signal: AbortSignal,
) => Promise<readonly ChangeGroupRead[]>

/** Makes a reader of such blocks. */
export function createGroupReader(clock: Clock): ReadGroups {
  const finder = createBlockFinder(clock)

  /** A block that may be replaced is asked for by its hash. */
  async function blockOf(
    { client, finalTo }: AmountsQuery,
    number: number,
    signal: AbortSignal,
  ): Promise<BlockReference> {
    if (number <= finalTo) return { number }
    const { hash } = await finder.byNumber(client, BigInt(number), signal)
    return { number, hash }
  }

  async function stateAt(question: AmountsQuery, { first: change }: ChangeGroup, number: number, signal: AbortSignal) {
    const block = await blockOf(question, number, signal)
    return await readState({ ...question, clock }, { change, block }, signal)
  }

  /** After the block, together with its prices. Undefined if no endpoint keeps it, but logs may tell all that is needed. */
  async function stateAfter(question: AmountsQuery, group: ChangeGroup, signal: AbortSignal) {
    const { number, isAlone } = group
    const [timeSec] = group.changes.flatMap(({ timestampSec }) => timestampSec ?? [])
    const state = stateAt(question, group, number, signal)
    if (number <= question.finalTo && timeSec !== undefined) {
      question.ahead?.start({ number: BigInt(number), timestampSec: BigInt(timeSec) }, signal)
    }
    if (!isAlone) return await state
    return await state.catch((error: unknown) => {
      if (error instanceof StatePrunedError) return undefined
      throw error
    })
  }

  /** The price before a position came into being, which logs tell if no endpoint keeps the state. */
  async function birthPrice(question: AmountsQuery, group: ChangeGroup, signal: AbortSignal) {
    try {
      return await stateAt(question, group, group.number - 1, signal)
    } catch (error) {
      if (!(error instanceof StatePrunedError)) throw error
      const told = await readPriceBefore(poolOf(question, group.first), group.number, signal)
      if (told === undefined) throw error
      return told
    }
  }

  async function readGroup(
    question: AmountsQuery,
    { group, moves }: { readonly group: ChangeGroup; readonly moves: Promise<WitnessedPoolEvents> },
    signal: AbortSignal,
  ): Promise<ChangeGroupRead> {
    const { changes, first, isBirth, liquidity } = group
    const [seen, before, after] = await Promise.all([
      moves,
      isBirth ? undefined : stateAt(question, group, group.number - 1, signal),
      stateAfter(question, group, signal),
    ])
    const isTold = findPriceBefore(seen.rows, first) !== undefined
    const isStill = seen.rows.every(({ sqrtPriceX96 }) => sqrtPriceX96 === undefined)
    const price =
      before ?? (isStill ? after : undefined) ?? (isTold ? undefined : await birthPrice(question, group, signal))
    if (after !== undefined && after.liquidity !== liquidity.after) throw incompleteChangesError(question, first)
    if (before !== undefined && before.liquidity !== liquidity.before) throw incompleteChangesError(question, first)
    const amounts = computeChangeAmounts({
      changes,
      moves: seen.rows,
      sqrtPriceBeforeX96: price?.sqrtPriceX96,
      before: before ?? UNBORN,
      after: after?.inside,
    })
    if (amounts === 'moved') throw moved(question, first)
    if (amounts === 'unknown') throw incompleteChangesError(question, first)
    const witnesses = Math.min(seen.witnesses, price?.witnesses ?? QUORUM, after?.witnesses ?? QUORUM)
    const found = changes.flatMap((change, index): FoundChange[] => {
      const worth = amounts[index]
      return worth === undefined ? [] : [{ ...change, found: { ...worth, inside: after?.inside, witnesses } }]
    })
    return { changes: found, before: before?.inside }
  }

  return async (question, groups, signal) => {
    const [group] = groups
    if (group === undefined) return []
    const asked = groups.map(
      ({ number }) =>
        (within: AbortSignal) =>
          blockOf(question, number, within),
    )
    const blocks = await allOrAbort(asked, signal)
    const all = readPoolEvents(poolOf(question, group.first), blocks, signal)
    all.catch(() => {})
    const tasks = groups.map((group) => (within: AbortSignal) => {
      const moves = all.then((seen) => seen.get(group.number) ?? NO_MOVES)
      return readGroup(question, { group, moves }, within)
    })
    return await allOrAbort(tasks, signal)
  }
}

/** The changes by their blocks. */
export function groupByBlock(changes: readonly StoredChange[]): readonly ChangeGroup[] {
  let liquidity = 0n
  const byBlock = [...groupBy(changes, ({ block }) => block)]
  return byBlock.flatMap(([number, here], index) => {
    const before = liquidity
    const [first] = here
    if (first === undefined) return []
    for (const change of here) liquidity += change.liquidity
    const isBirth = index === 0
    return {
      number,
      changes: here,
      first,
      liquidity: { before, after: liquidity },
      isBirth,
      isAlone: isBirth && byBlock.length === 1,
    }
  })
}

function poolOf({ client, place: { poolManager } }: AmountsQuery, { pool }: StoredChange) {
  return { client, poolManager, pool }
}

function moved({ client }: AmountsQuery, { tokenId, block }: StoredChange): FeesMovedInBlockError {
  const message =
    `Cannot tell what ${formatPosition({ client, tokenId })} was paid in block ${block}: it changed more than once there, with a swap or a ` +
    'donation in between'
  return new FeesMovedInBlockError(message, { retryAfterSec: RETRY_SEC.moved })
}

/** The changes cannot be all. */
export function incompleteChangesError({ client }: AmountsQuery, { tokenId, block }: StoredChange): UnavailableError {
  const title = formatPosition({ client, tokenId })
  const message = `The history of ${title} is not complete: the state at block ${block} does not follow from it`
  return new UnavailableError(message, { retryAfterSec: RETRY_SEC.contradicted })
}
