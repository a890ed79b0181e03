import type { Hex } from 'viem'
import { RAY, SECONDS_PER_YEAR } from '../../../finance/math/rate.ts'
import { type HistoryLog, IncompleteError } from '../../../history/stream.ts'
import { type LendingTarget, type Liquidation, type ReserveUpdate, readLog, TOPICS } from './log.ts'

/** The known updates above a range, by reserve: the range's own updates must lead to them. */
type IndexChain = ReadonlyMap<Hex, Link>

interface Link {
  /** The oldest known update. */
  readonly update: ReserveUpdate
  /** Liquidations below it that may have accrued the reserve, oldest first. */
  readonly silentLiquidations: readonly Liquidation[]
}

const INDEX_TOPICS: readonly (Hex | undefined)[] = [TOPICS.update, TOPICS.liquidation]
/** Maximum number of liquidations between two updates that are checked. */
const SILENT_MAX = 64

/**
 * Checks that each reserve's updates follow from each other, see `Stream.continuity`: a borrow index is the previous
 * index, compounded at the previous rate over the time between. Throws `IncompleteError` with the check `index`. The
 * check finds a lost update if the reserve had debt and time passed; it skips logs without a time.
 *
 * From 3.0 to 3.7 every change of a reserve's debt or rate also logs `ReserveDataUpdated` in the same transaction. Only
 * one operation accrues a reserve without that log: since 3.5 a liquidation paid in aTokens, for the reserve of its
 * collateral. The next update is then compounded in two steps.
 */
export function checkContinuity(target: LendingTarget, logs: readonly HistoryLog[], laterLinks: unknown): IndexChain {
  const links = new Map((laterLinks as IndexChain | null) ?? [])
  for (const log of logs.filter(({ topics }) => INDEX_TOPICS.includes(topics[0])).reverse()) {
    const event = readLog(target, log)
    if (event?.kind === 'update') {
      const after = links.get(event.asset)
      if (after !== undefined) checkLink(event, after)
      links.set(event.asset, { update: event, silentLiquidations: [] })
    } else if (event?.kind === 'liquidation' && event.isPaidInATokens) {
      const { asset } = event.collateral
      const after = links.get(asset)
      if (after !== undefined) links.set(asset, { ...after, silentLiquidations: [event, ...after.silentLiquidations] })
    }
  }
  return links
}

function checkLink(before: ReserveUpdate, { update: after, silentLiquidations }: Link): void {
  const index = after.borrowIndexRay
  // Without debt the index does not change; a reserve that was dropped and listed again restarts at one ray.
  if (index === before.borrowIndexRay || index === RAY || silentLiquidations.length > SILENT_MAX) return
  const times = [before, ...silentLiquidations, after].flatMap(({ log }) => log.timestampSec ?? [])
  if (times.length < silentLiquidations.length + 2) return
  if (!computePossibleIndexes(before, times).includes(index)) {
    throw new IncompleteError('index', { fromBlock: before.log.blockNumber, toBlock: after.log.blockNumber })
  }
}

/** A borrow index and the time of its accrual. */
interface AccruedIndex {
  readonly indexRay: bigint
  readonly atSec: number
}

/**
 * Possible indexes at the last of these times, for an index accrued at the first. It accrued at none of the times
 * between, or at each from one of them on, because an upgrade to a version that accrues there may come between.
 */
function computePossibleIndexes(
  { borrowIndexRay, borrowRateRay }: ReserveUpdate,
  times: readonly number[],
): readonly bigint[] {
  const [fromSec = 0, ...between] = times
  const toSec = between.pop() ?? fromSec
  return [compound, compoundSince3_4].flatMap((formula) => {
    const accrue = ({ indexRay, atSec }: AccruedIndex, untilSec: number): AccruedIndex => {
      const growthRay = formula(borrowRateRay, BigInt(untilSec - atSec))
      return { indexRay: rayMul(growthRay, indexRay), atSec: untilSec }
    }
    const first = { indexRay: borrowIndexRay, atSec: fromSec }
    let accrued: readonly AccruedIndex[] = [first]
    for (const atSec of between) accrued = [first, ...accrued.map((each) => accrue(each, atSec))]
    return accrued.map((each) => accrue(each, toSec).indexRay)
  })
}

/** Growth over some seconds at a yearly rate, in ray. `MathUtils.calculateCompoundedInterest`, 3.0 to 3.3. */
function compound(rateRay: bigint, seconds: bigint): bigint {
  if (seconds === 0n) return RAY
  const less = seconds - 1n
  const twoLess = seconds > 2n ? seconds - 2n : 0n
  const square = rayMul(rateRay, rateRay) / (SECONDS_PER_YEAR * SECONDS_PER_YEAR)
  const cube = rayMul(square, rateRay) / SECONDS_PER_YEAR
  const second = (seconds * less * square) / 2n
  const third = (seconds * less * twoLess * cube) / 6n
  return RAY + (rateRay * seconds) / SECONDS_PER_YEAR + second + third
}

/** The same since 3.4. */
function compoundSince3_4(rateRay: bigint, seconds: bigint): bigint {
  const x = (rateRay * seconds) / SECONDS_PER_YEAR
  return RAY + x + rayMul(x, x / 2n + rayMul(x, x / 6n))
}

/** Rounds half up, as `WadRayMath.rayMul`. */
function rayMul(a: bigint, b: bigint): bigint {
  return (a * b + RAY / 2n) / RAY
}
