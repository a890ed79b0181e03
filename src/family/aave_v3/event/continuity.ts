import type { Hex } from 'viem'
import { RAY, SECONDS_PER_YEAR } from '../../../finance/rate.ts'
import { type HistoryLog, IncompleteError } from '../../../history/stream.ts'
import { TOPICS } from './abi.ts'
import { type ReserveUpdate, readLog } from './log.ts'
import type { LendingPlace } from './place.ts'

/** The oldest known update of each reserve, by asset: where the range before has to lead to. */
type IndexChain = ReadonlyMap<Hex, ReserveUpdate>

/**
 * Checks that each reserve's updates follow from each other, see `Stream.continuity`: the borrow index is the one
 * before, compounded at the rate before, over the time between. Throws `IncompleteError` with the check `index`. A lost
 * update shows if the reserve had debt and time passed; if an endpoint does not say the time, nothing is checked.
 */
export function checkContinuity(place: LendingPlace, logs: readonly HistoryLog[], later: unknown): IndexChain {
  const known = (later as IndexChain | null) ?? new Map<Hex, ReserveUpdate>()
  const updates = logs
    .filter(({ topics }) => topics[0] === TOPICS.update)
    .map((log) => readLog(place, log))
    .filter((log) => log?.kind === 'update')
  const first = new Map<Hex, ReserveUpdate>()
  const last = new Map<Hex, ReserveUpdate>()
  for (const update of updates) {
    const before = last.get(update.asset)
    if (before === undefined) first.set(update.asset, update)
    else checkLink(before, update)
    last.set(update.asset, update)
  }
  for (const [asset, before] of last) {
    const after = known.get(asset)
    if (after !== undefined) checkLink(before, after)
  }
  return new Map([...known, ...first])
}

function checkLink(before: ReserveUpdate, after: ReserveUpdate): void {
  const [from, to] = [before.log, after.log]
  if (from.timestampSec === null || to.timestampSec === null) return
  const index = after.borrowIndexRay
  // Without debt the index stands still; a reserve that was dropped and listed again begins anew.
  if (index === before.borrowIndexRay || index === RAY) return
  const seconds = BigInt(to.timestampSec - from.timestampSec)
  const isRight = [compound, compoundSince3_6].some(
    (formula) => rayMul(formula(before.borrowRateRay, seconds), before.borrowIndexRay) === index,
  )
  if (!isRight) throw new IncompleteError('index', { fromBlock: from.blockNumber, toBlock: to.blockNumber })
}

/** Growth over some seconds at a yearly rate, in ray. `MathUtils.calculateCompoundedInterest`, 3.0 to 3.5. */
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

/** The same since 3.6. */
function compoundSince3_6(rateRay: bigint, seconds: bigint): bigint {
  const x = (rateRay * seconds) / SECONDS_PER_YEAR
  return RAY + x + rayMul(x, x / 2n + rayMul(x, x / 6n))
}

/** Rounds half up, as `WadRayMath.rayMul`. */
function rayMul(a: bigint, b: bigint): bigint {
  return (a * b + RAY / 2n) / RAY
}
