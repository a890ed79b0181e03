import { noteWitnesses, QUORUM } from '../../../../chain/past/quorum.ts'
import { ChainUnavailableError, isUnavailable } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import type { FeeGrowth } from '../../../../finance/math/liquidity.ts'
import { createRecheck } from '../../../../history/recheck.ts'
import type { Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UnavailableError } from '../../../../lib/error.ts'
import {
  blocksPendingError,
  createAdaptiveConcurrency,
} from '../../../liquidity/position_history/adaptive_concurrency.ts'
import {
  type ChangeAmounts,
  type FoundChange,
  type StoredChange,
  storeAmounts,
} from '../../../liquidity/position_history/liquidity_change.ts'
import {
  type AmountsQuery,
  type ChangeGroup,
  type ChangeGroupRead,
  createGroupReader,
  groupByBlock,
  incompleteChangesError,
} from './changed_blocks.ts'

/**
 * Completes changes with the amounts of each. Amounts of final blocks are stored, so a repeated call continues from
 * there. Throws `UnavailableError` if the chain cannot be read, if no endpoint keeps the needed state, if fees moved
 * between two changes of a block, or if the state shows that a change is missing.
 */
export type FindAmounts = (query: AmountsQuery, work: Work) => Promise<readonly FoundChange[]>

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
