import type { Hex } from 'viem'
import { RAY } from '../../../finance/math/rate.ts'
import { IncompleteError } from '../../../history/stream.ts'
import { isIndexTracked, mayBeDiscounted } from './balance.ts'
import type { BalanceChange, LendingLog, Transfer } from './log.ts'
import { getMaxRounding } from './rounding.ts'

/** Maximum number of assumptions about one balance; with more, all are dropped. */
const ASSUMPTIONS_MAX = 8

/** A possible balance after its last log. Bounds of the scaled balance; undefined: no upper bound. */
interface Assumption {
  readonly indexRay: bigint | undefined
  readonly min: bigint
  readonly max: bigint | undefined
}

/** Interest is the difference of two rounded balances. */
const INTEREST_SLACK = 2n
const UNKNOWN: Assumption = { indexRay: undefined, min: 0n, max: undefined }

/**
 * Checks that no log is missing between the logs of one balance: the interest in each log must be what the previous
 * balance earns while the index moves from that of the previous log. Needs no archive and no stored state; the initial
 * balance follows from the interest itself. `logs` are of any number of transactions, in order, and hold every token
 * log of the wallets `isInScope`. Throws `IncompleteError` with the check `state`. The check does not detect movements
 * that cancel out while the index is unchanged, or amounts of a few smallest units.
 */
export function checkReplay(logs: readonly LendingLog[], isInScope: (wallet: Hex) => boolean): void {
  const balances = new Map<string, { readonly block: number; readonly assumptions: readonly Assumption[] }>()
  const replayLog = (
    log: BalanceChange | Transfer,
    wallet: Hex,
    next: (before: Assumption) => readonly Assumption[],
  ): void => {
    if (!isInScope(wallet)) return
    if (!isIndexTracked(log.token) || mayBeDiscounted(log.token.asset, log.log.timestampSec)) return
    const key = `${log.log.address}${wallet}`
    const before = balances.get(key)
    const assumptions = (before?.assumptions ?? [UNKNOWN]).flatMap(next)
    if (assumptions.length === 0) {
      throw new IncompleteError('state', {
        fromBlock: before?.block ?? log.log.blockNumber,
        toBlock: log.log.blockNumber,
      })
    }
    const followed = assumptions.length > ASSUMPTIONS_MAX ? [UNKNOWN] : assumptions
    balances.set(key, { block: log.log.blockNumber, assumptions: followed })
  }
  for (const log of logs) {
    if (log.kind === 'change') replayLog(log, log.wallet, (before) => applyChange(before, log))
    else if (log.kind === 'transfer' && log.from !== log.to) {
      replayLog(log, log.from, (before) => applyTransfer(before, log, -1n))
      replayLog(log, log.to, (before) => applyTransfer(before, log, 1n))
    }
  }
}

function applyChange(before: Assumption, { net, interest, indexRay }: BalanceChange): Assumption[] {
  if (indexRay === undefined) return [UNKNOWN]
  const earned = applyInterest(before, { interest, indexRay })
  // A log of interest alone moves nothing.
  if (earned === undefined || net === 0n) return earned === undefined ? [] : [earned]
  const slack = getMaxRounding(indexRay)
  const [low, high] = [net - slack, net + slack].map((amount) => (amount * RAY) / indexRay) as [bigint, bigint]
  return addRange(earned, [low - 1n, high + 1n])
}

/**
 * Since 3.0.1 a transfer stores both balances' indexes, and its value is scaled. Earlier contracts stored no index, and
 * their value was not scaled. The logs do not show the version, so both are assumed.
 */
function applyTransfer(before: Assumption, { value, indexRay }: Transfer, sign: 1n | -1n): Assumption[] {
  const earned = applyInterest(before, { interest: 0n, indexRay })
  const written = earned === undefined ? [] : addRange(earned, [sign * value, sign * value])
  if (indexRay === before.indexRay || indexRay === RAY) return written
  const unscaled = (sign * value * RAY) / indexRay
  return [...written, ...addRange(before, [unscaled - 1n, unscaled + 1n])]
}

/** The balance after adding an amount within this range; empty if it would be negative. */
function addRange({ indexRay, min, max }: Assumption, [low, high]: readonly [bigint, bigint]): Assumption[] {
  if (max !== undefined && max + high < 0n) return []
  const newMin = min + low
  return [{ indexRay, min: newMin < 0n ? 0n : newMin, max: max === undefined ? undefined : max + high }]
}

/** The balance that earned this interest while the index moved; undefined if none can have. */
function applyInterest(
  { indexRay: from, min, max }: Assumption,
  { interest, indexRay }: { readonly interest: bigint; readonly indexRay: bigint },
): Assumption | undefined {
  // The first log of the balance in this range.
  if (from === undefined) return { indexRay, min, max }
  const grown = indexRay - from
  if (grown < 0n) return undefined
  if (grown === 0n) return interest > INTEREST_SLACK ? undefined : { indexRay, min, max }
  const lowest = ((interest - INTEREST_SLACK) * RAY) / grown
  const highest = ((interest + INTEREST_SLACK) * RAY) / grown + 1n
  const earned = {
    indexRay,
    min: lowest > min ? lowest : min,
    max: max === undefined || highest < max ? highest : max,
  }
  return earned.max < earned.min ? undefined : earned
}
