import type { Hex } from 'viem'
import { RAY, SECONDS_PER_YEAR } from '../../../finance/math/rate.ts'
import { type HistoryLog, IncompleteError } from '../../../history/stream.ts'
import { TOPICS } from './abi.ts'
import { type Liquidation, type ReserveUpdate, readLog } from './log.ts'
import type { LendingTarget } from './target.ts'

/** What is known above a range, by reserve: where its updates have to lead to. */
type IndexChain = ReadonlyMap<Hex, Link>

interface Link {
  /** The oldest known update. */
  readonly update: ReserveUpdate
  /** Liquidations below it that may have accrued the reserve, oldest first. */
  readonly silent: readonly Liquidation[]
}

const OF_INDEX: readonly (Hex | undefined)[] = [TOPICS.update, TOPICS.liquidation]
/** With more liquidations than this between two updates, nothing is checked. */
const SILENT_MAX = 64

/**
 * Checks that each reserve's updates follow from each other, see `Stream.continuity`: the borrow index is the one
 * before, compounded at the rate before, over the time between. Throws `IncompleteError` with the check `index`. A lost
 * update shows if the reserve had debt and time passed; if an endpoint does not say the time, nothing is checked.
 *
 * From 3.0 to 3.7 whatever changes a reserve's debt or rate also logs `ReserveDataUpdated` in the same transaction. Only
 * one thing accrues a reserve and does not: since 3.5 a liquidation, the reserve of its collateral, if that is paid in
 * aTokens. The next update is then compounded in two steps.
 */
export function checkContinuity(place: LendingTarget, logs: readonly HistoryLog[], later: unknown): IndexChain {
  const links = new Map((later as IndexChain | null) ?? [])
  for (const log of logs.filter(({ topics }) => OF_INDEX.includes(topics[0])).reverse()) {
    const read = readLog(place, log)
    if (read?.kind === 'update') {
      const after = links.get(read.asset)
      if (after !== undefined) checkLink(read, after)
      links.set(read.asset, { update: read, silent: [] })
    } else if (read?.kind === 'liquidation' && read.isPaidInATokens) {
      const { asset } = read.collateral
      const after = links.get(asset)
      if (after !== undefined) links.set(asset, { ...after, silent: [read, ...after.silent] })
    }
  }
  return links
}

function checkLink(before: ReserveUpdate, { update: after, silent }: Link): void {
  const index = after.borrowIndexRay
  // Without debt the index stands still; a reserve that was dropped and listed again begins anew.
  if (index === before.borrowIndexRay || index === RAY || silent.length > SILENT_MAX) return
  const times = [before, ...silent, after].flatMap(({ log }) => log.timestampSec ?? [])
  if (times.length < silent.length + 2) return
  if (!indexesAfter(before, times).includes(index)) {
    throw new IncompleteError('index', { fromBlock: before.log.blockNumber, toBlock: after.log.blockNumber })
  }
}

/** A borrow index, and when it was accrued. */
interface AccruedIndex {
  readonly indexRay: bigint
  readonly atSec: number
}

/**
 * What an index can be at the last of these times, if it was accrued at the first: at none of those between, or from one
 * of them on at each, since versions that do so came later.
 */
function indexesAfter({ borrowIndexRay, borrowRateRay }: ReserveUpdate, times: readonly number[]): readonly bigint[] {
  const [fromSec = 0, ...between] = times
  const toSec = between.pop() ?? fromSec
  return [compound, compoundSince3_4].flatMap((formula) => {
    const accrue = ({ indexRay, atSec }: AccruedIndex, untilSec: number): AccruedIndex => {
      const growthRay = formula(borrowRateRay, BigInt(untilSec - atSec))
      return { indexRay: rayMul(growthRay, indexRay), atSec: untilSec }
    }
    const first = { indexRay: borrowIndexRay, atSec: fromSec }
    let reached: readonly AccruedIndex[] = [first]
    for (const atSec of between) reached = [first, ...reached.map((each) => accrue(each, atSec))]
    return reached.map((each) => accrue(each, toSec).indexRay)
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
