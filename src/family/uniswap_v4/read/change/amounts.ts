import { DisputeError, QUORUM } from '../../../../chain/past/quorum.ts'
import type { Database } from '../../../../db/database.ts'
import {
  blocksPendingError,
  createAdaptiveConcurrency,
} from '../../../../finance/liquidity/position_history/adaptive_concurrency.ts'
import {
  type ChangeAmounts,
  type FoundChange,
  type StoredChange,
  storeAmounts,
} from '../../../../finance/liquidity/position_history/liquidity_change.ts'
import type { FeeGrowth } from '../../../../finance/math/liquidity.ts'
import { createRecheck } from '../../../../history/recheck.ts'
import { registerTimeoutError } from '../../../../lib/async/timeout_error.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import {
  type AmountsQuery,
  type ChangeGroup,
  type ChangeGroupRead,
  createGroupReader,
  groupByBlock,
  incompleteChangesError,
} from './changed_blocks.ts'

/**
 * The changes with what each was worth. What was found of final blocks is kept, so that whoever asks again goes on from
 * there. Throws `UnavailableError` if the chain cannot be read, if no endpoint keeps the state that is needed, if fees
 * moved between two changes of a block, or if the state shows that a change must be missing.
 */
export type FindAmounts = (question: AmountsQuery, signal: AbortSignal) => Promise<readonly FoundChange[]>

/** Blocks that are read at the same time, each by up to three requests, and how many are read again at most. */
const BLOCKS_AT_ONCE = 12
const RECHECKED_MAX = 12

/** Makes a finder that keeps what it finds in the database. */
export function createAmountsFinder({ db, clock }: { readonly db: Database; readonly clock: Clock }): FindAmounts {
  const readGroups = createGroupReader(clock)
  const recheck = createRecheck(clock)
  const inWaves = createAdaptiveConcurrency(BLOCKS_AT_ONCE)

  return async (question, signal) => {
    const { client, place, changes, finalTo } = question
    const known = new Map(changes.flatMap((change) => (isFound(change) ? [[keyOf(change), change] as const] : [])))
    const befores = new Map<number, FeeGrowth | undefined>()
    const groups = groupByBlock(changes)
    const missing = groups.filter((group) => group.changes.some((change) => lacks(known.get(keyOf(change)), group)))
    const [first] = changes
    if (first === undefined) return []
    const { tokenId } = first

    async function keep(read: readonly ChangeGroupRead[]): Promise<void> {
      for (const { changes: found, before } of read) {
        for (const each of found) known.set(keyOf(each), believed(question, each, known.get(keyOf(each))))
        if (found[0] !== undefined) befores.set(found[0].block, before)
      }
      const kept = read.flatMap((each) => each.changes).filter(({ block }) => block <= finalTo)
      await storeAmounts(db, { place, tokenId }, kept)
    }

    let done = 0
    const what = 'what its changes paid is'
    registerTimeoutError(signal, () => blocksPendingError({ client, tokenId }, { what, done, of: missing.length }))
    await inWaves({ chainId: client.chain.id, items: missing }, async (some) => {
      await keep(await readGroups(question, some, signal))
      done += some.length
      await question.ahead?.finish(signal)
    })
    const isDue = ({ changes: of }: ChangeGroup) =>
      of.some((change) => recheck.isDue(client, known.get(keyOf(change))?.found.witnesses ?? QUORUM))
    const doubtful = groups.filter((group) => !missing.includes(group) && isDue(group)).slice(0, RECHECKED_MAX)
    if (doubtful.length > 0) {
      // What is known serves if nobody can be asked now.
      const read = await readGroups({ ...question, ahead: undefined }, doubtful, signal).catch((error: unknown) => {
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
      if (isNext && !isSame(earlier.found.inside, before)) throw incompleteChangesError(question, change)
    }
    return all
  }
}

function isFound(change: StoredChange): change is FoundChange {
  return change.found !== undefined
}

/** A mint that was alone has no growth kept; once something follows it, it is needed. */
function lacks(known: FoundChange | undefined, { isAlone }: ChangeGroup): boolean {
  return known === undefined || (!isAlone && known.found.inside === undefined)
}

/** Two endpoints decide against what one gave before; one does not. Throws `DisputeError`. */
function believed({ client: { chain } }: AmountsQuery, now: FoundChange, before: FoundChange | undefined): FoundChange {
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

function keyOf({ block, logIndex }: StoredChange): string {
  return `${block}:${logIndex}`
}
