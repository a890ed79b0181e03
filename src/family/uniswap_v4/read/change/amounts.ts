import { createBlockFinder } from '../../../../chain/past/block_at.ts'
import { DisputeError, QUORUM } from '../../../../chain/past/quorum.ts'
import { type ChainClient, DepthError } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import {
  type ChangeAmounts,
  type FoundChange,
  keepAmounts,
  type StoredChange,
} from '../../../../finance/liquidity/lives/liquidity_change.ts'
import { createWaves } from '../../../../finance/liquidity/lives/waves.ts'
import type { FeeGrowth } from '../../../../finance/math/liquidity.ts'
import { createRecheck } from '../../../../history/recheck.ts'
import { whenLate } from '../../../../lib/async/late.ts'
import { together } from '../../../../lib/async/together.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../../../lib/error.ts'
import { grouped } from '../../../../lib/grouped.ts'
import { amountsOfChanges, priceFrom } from '../../math/change.ts'
import { type AskedBlock, readMoves, readPriceBefore, type SeenMoves } from './moves.ts'
import { readState } from './state.ts'
import type { ChangePlace } from './stream.ts'

/** The changes of one position, from its mint on, oldest first. */
export interface AmountsQuestion {
  readonly client: ChainClient
  readonly place: ChangePlace
  readonly changes: readonly StoredChange[]
  /** The last block that can never be replaced, so far as is known. */
  readonly finalTo: number
}

/**
 * The changes with what each was worth. What was found of final blocks is kept, so that whoever asks again goes on from
 * there. Throws `UnavailableError` if the chain cannot be read, if no endpoint keeps the state that is needed, if fees
 * moved between two changes of a block, or if the state shows that a change must be missing.
 */
export type FindAmounts = (question: AmountsQuestion, signal: AbortSignal) => Promise<readonly FoundChange[]>

/** Fees moved between two changes of one block, so nobody can tell what each paid. */
export class MovedError extends UnavailableError {}

/** Blocks that are read at the same time, each by up to three requests, and how many are read again at most. */
const BLOCKS_AT_ONCE = 12
const RECHECKED_MAX = 12
/** What nobody can tell today, nobody can tell tomorrow; a change that is missing may be there soon. */
const RETRY_SEC = { moved: 3_600, contradicted: 5 } as const

/** A block in which the position changed. */
interface Group {
  readonly number: number
  readonly changes: readonly StoredChange[]
  /** Of the position, before its first change here and after its last. */
  readonly liquidity: { readonly before: bigint; readonly after: bigint }
  /** The position came into being here. */
  readonly isBirth: boolean
  /** Nothing changed it besides, so no state of the past is needed. */
  readonly isAlone: boolean
}

/** A block of changes as it was read. */
interface FoundGroup {
  readonly changes: readonly FoundChange[]
  /** Growth within the range before it; undefined if nobody was asked. */
  readonly before: FeeGrowth | undefined
}

const UNBORN = { liquidity: 0n, inside: { growth0: 0n, growth1: 0n } } as const
const NO_MOVES: SeenMoves = { moves: [], witnesses: 1 }

/** Makes a finder that keeps what it finds in the database. */
export function createAmountsFinder({ db, clock }: { readonly db: Database; readonly clock: Clock }): FindAmounts {
  const blocks = createBlockFinder(clock)
  const recheck = createRecheck(clock)
  const inWaves = createWaves(BLOCKS_AT_ONCE)

  /** A block that may be replaced is asked for by its hash. */
  async function blockOf(
    { client, finalTo }: AmountsQuestion,
    number: number,
    signal: AbortSignal,
  ): Promise<AskedBlock> {
    if (number <= finalTo) return { number }
    const { hash } = await blocks.byNumber(client, BigInt(number), signal)
    return { number, hash }
  }

  async function stateAt(question: AmountsQuestion, { changes: [change] }: Group, number: number, signal: AbortSignal) {
    if (change === undefined) throw new Error('Cannot read the state of no change')
    const block = await blockOf(question, number, signal)
    return await readState({ ...question, clock }, { change, block }, signal)
  }

  /** The price before a position came into being, which logs tell if no endpoint keeps the state. */
  async function birthPrice(question: AmountsQuestion, group: Group, signal: AbortSignal) {
    try {
      return await stateAt(question, group, group.number - 1, signal)
    } catch (error) {
      const [first] = group.changes
      if (!(error instanceof DepthError) || first === undefined) throw error
      const told = await readPriceBefore(poolOf(question, first), group.number, signal)
      if (told === undefined) throw error
      return told
    }
  }

  async function readGroup(
    question: AmountsQuestion,
    { group, moves }: { readonly group: Group; readonly moves: Promise<SeenMoves> },
    signal: AbortSignal,
  ): Promise<FoundGroup> {
    const { changes, isBirth, isAlone, liquidity } = group
    const [first] = changes
    if (first === undefined) return { changes: [], before: undefined }
    const [seen, before, after] = await Promise.all([
      moves,
      isBirth ? undefined : stateAt(question, group, group.number - 1, signal),
      isAlone ? undefined : stateAt(question, group, group.number, signal),
    ])
    const isTold = priceFrom(seen.moves, first) !== undefined
    const price = before ?? (isTold ? undefined : await birthPrice(question, group, signal))
    if (after !== undefined && after.liquidity !== liquidity.after) throw contradicted(question, first)
    if (before !== undefined && before.liquidity !== liquidity.before) throw contradicted(question, first)
    const amounts = amountsOfChanges({
      changes,
      moves: seen.moves,
      sqrtPriceBeforeX96: price?.sqrtPriceX96,
      before: before ?? UNBORN,
      after: after?.inside,
    })
    if (amounts === 'moved') throw moved(question, first)
    if (amounts === 'unknown') throw contradicted(question, first)
    const witnesses = Math.min(seen.witnesses, price?.witnesses ?? QUORUM, after?.witnesses ?? QUORUM)
    const found = changes.flatMap((change, index): FoundChange[] => {
      const worth = amounts[index]
      return worth === undefined ? [] : [{ ...change, found: { ...worth, inside: after?.inside, witnesses } }]
    })
    return { changes: found, before: before?.inside }
  }

  async function readGroups(question: AmountsQuestion, groups: readonly Group[], signal: AbortSignal) {
    const [first] = groups.flatMap(({ changes }) => changes)
    if (first === undefined) return []
    const asked = await together(
      groups.map(
        ({ number }) =>
          (within: AbortSignal) =>
            blockOf(question, number, within),
      ),
      signal,
    )
    const all = readMoves(poolOf(question, first), asked, signal)
    all.catch(() => {})
    const tasks = groups.map((group) => (within: AbortSignal) => {
      const moves = all.then((seen) => seen.get(group.number) ?? NO_MOVES)
      return readGroup(question, { group, moves }, within)
    })
    return await together(tasks, signal)
  }

  return async (question, signal) => {
    const { client, place, changes, finalTo } = question
    const known = new Map(changes.flatMap((change) => (isFound(change) ? [[keyOf(change), change] as const] : [])))
    const befores = new Map<number, FeeGrowth | undefined>()
    const groups = groupsOf(changes)
    const missing = groups.filter((group) => group.changes.some((change) => lacks(known.get(keyOf(change)), group)))
    const [first] = changes
    if (first === undefined) return []
    const { tokenId } = first

    async function keep(read: readonly FoundGroup[]): Promise<void> {
      for (const { changes: found, before } of read) {
        for (const each of found) known.set(keyOf(each), believed(question, each, known.get(keyOf(each))))
        if (found[0] !== undefined) befores.set(found[0].block, before)
      }
      const kept = read.flatMap((each) => each.changes).filter(({ block }) => block <= finalTo)
      await keepAmounts(db, { place, tokenId }, kept)
    }

    let done = 0
    whenLate(signal, () => amountsMissing(question, done, missing.length))
    await inWaves({ chainId: client.chain.id, items: missing }, async (some) => {
      await keep(await readGroups(question, some, signal))
      done += some.length
    })
    const isDue = ({ changes: of }: Group) =>
      of.some((change) => recheck.isDue(client, known.get(keyOf(change))?.found.witnesses ?? QUORUM))
    const doubtful = groups.filter((group) => !missing.includes(group) && isDue(group)).slice(0, RECHECKED_MAX)
    if (doubtful.length > 0) {
      // What is known serves if nobody can be asked now.
      const read = await readGroups(question, doubtful, signal).catch((error: unknown) => {
        if (!(error instanceof UnavailableError) || error instanceof DisputeError) throw error
        return []
      })
      const witnesses = read.flatMap((each) => each.changes).map(({ found }) => found.witnesses)
      recheck.answered(client, witnesses.length === 0 ? 0 : Math.min(...witnesses))
      await keep(read)
    }
    const all = changes.flatMap((change) => known.get(keyOf(change)) ?? [])
    for (const [index, change] of all.entries()) {
      const earlier = all[index - 1]
      const before = befores.get(change.block)
      const isNext = earlier !== undefined && earlier.block < change.block && before !== undefined
      if (isNext && !isSame(earlier.found.inside, before)) throw contradicted(question, change)
    }
    return all
  }
}

function isFound(change: StoredChange): change is FoundChange {
  return change.found !== undefined
}

/** A mint that was alone has no growth kept; once something follows it, it is needed. */
function lacks(known: FoundChange | undefined, { isAlone }: Group): boolean {
  return known === undefined || (!isAlone && known.found.inside === undefined)
}

/** Two endpoints decide against what one gave before; one does not. Throws `DisputeError`. */
function believed(
  { client: { chain } }: AmountsQuestion,
  now: FoundChange,
  before: FoundChange | undefined,
): FoundChange {
  if (before === undefined || isEqual(before.found, now.found) || now.found.witnesses >= QUORUM) return now
  throw new DisputeError(
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

function groupsOf(changes: readonly StoredChange[]): readonly Group[] {
  let liquidity = 0n
  const byBlock = [...grouped(changes, ({ block }) => block)]
  return byBlock.map(([number, here], index) => {
    const before = liquidity
    for (const change of here) liquidity += change.liquidity
    const isBirth = index === 0
    return {
      number,
      changes: here,
      liquidity: { before, after: liquidity },
      isBirth,
      isAlone: isBirth && byBlock.length === 1,
    }
  })
}

function keyOf({ block, logIndex }: StoredChange): string {
  return `${block}:${logIndex}`
}

function poolOf({ client, place: { poolManager } }: AmountsQuestion, { pool }: StoredChange) {
  return { client, poolManager, pool }
}

function nameOf({ client: { chain }, changes: [first] }: AmountsQuestion): string {
  return `position ${first?.tokenId} on chain ${chain.id} (${chain.name})`
}

function moved(question: AmountsQuestion, { block }: StoredChange): MovedError {
  const message =
    `Cannot tell what ${nameOf(question)} was paid in block ${block}: it changed more than once there, with a swap or a ` +
    'donation in between'
  return new MovedError(message, { retryAfterSec: RETRY_SEC.moved })
}

function contradicted(question: AmountsQuestion, { block }: StoredChange): UnavailableError {
  const message = `The history of ${nameOf(question)} is not complete: the state at block ${block} does not follow from it`
  return new UnavailableError(message, { retryAfterSec: RETRY_SEC.contradicted })
}

/** Said if there is no time left when all changes are known; what was found is kept. */
function amountsMissing(question: AmountsQuestion, done: number, of: number): PendingError {
  const share = `${Math.floor((100 * done) / Math.max(1, of))} % done, ${(of - done).toLocaleString('en')} blocks left`
  return new PendingError(`The history of ${nameOf(question)} is read; what its changes paid is being read: ${share}`)
}
