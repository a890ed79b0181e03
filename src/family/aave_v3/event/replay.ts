import type { Hex } from 'viem'
import { RAY } from '../../../finance/math/rate.ts'
import { IncompleteError } from '../../../history/stream.ts'
import { isIndexTracked, mayBeDiscounted } from './balance.ts'
import type { BalanceChange, LendingLog, Transfer } from './log.ts'
import { getMaxRounding } from './rounding.ts'

/** Most assumptions about one balance that are followed at the same time. */
const ASSUMPTIONS_MAX = 8

/** What a balance may have been after its last log. Bounds of the scaled balance; undefined: nothing is known above. */
interface Assumption {
  readonly indexRay: bigint | undefined
  readonly least: bigint
  readonly most: bigint | undefined
}

/** Both balances that interest is the difference of were rounded. */
const INTEREST_SLACK = 2n
const UNKNOWN: Assumption = { indexRay: undefined, least: 0n, most: undefined }

/**
 * Checks that no log is missing between those of one balance: the interest that each one tells must be what the balance
 * before it earns while the index moves from that of the log before it. Needs no archive and no stored state; what the
 * balance was at first follows from the interest itself. `logs` are of any number of transactions, in order, and hold
 * every token log of the wallets `isInScope`. Throws `IncompleteError` with the check `state`. It cannot see movements
 * that undo each other while the index stands still, or amounts of a few smallest units.
 */
export function checkReplay(logs: readonly LendingLog[], isInScope: (wallet: Hex) => boolean): void {
  const balances = new Map<string, { readonly block: number; readonly assumptions: readonly Assumption[] }>()
  const step = (
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
    const kept = assumptions.length > ASSUMPTIONS_MAX ? [UNKNOWN] : assumptions
    balances.set(key, { block: log.log.blockNumber, assumptions: kept })
  }
  for (const log of logs) {
    if (log.kind === 'change') step(log, log.wallet, (before) => afterChange(before, log))
    else if (log.kind === 'transfer' && log.from !== log.to) {
      step(log, log.from, (before) => afterTransfer(before, log, -1n))
      step(log, log.to, (before) => afterTransfer(before, log, 1n))
    }
  }
}

function afterChange(before: Assumption, { net, interest, indexRay }: BalanceChange): Assumption[] {
  if (indexRay === undefined) return [UNKNOWN]
  const earned = earning(before, { interest, indexRay })
  // A mark of interest alone moves nothing.
  if (earned === undefined || net === 0n) return earned === undefined ? [] : [earned]
  const slack = getMaxRounding(indexRay)
  const [low, high] = [net - slack, net + slack].map((amount) => (amount * RAY) / indexRay) as [bigint, bigint]
  return moved(earned, [low - 1n, high + 1n])
}

/**
 * Since 3.0.1 a transfer writes down both balances' indexes, and its value is scaled. The contracts before wrote down
 * none, and their value was not scaled. Which contracts they were, the logs do not say.
 */
function afterTransfer(before: Assumption, { value, indexRay }: Transfer, sign: 1n | -1n): Assumption[] {
  const earned = earning(before, { interest: 0n, indexRay })
  const written = earned === undefined ? [] : moved(earned, [sign * value, sign * value])
  if (indexRay === before.indexRay || indexRay === RAY) return written
  const unscaled = (sign * value * RAY) / indexRay
  return [...written, ...moved(before, [unscaled - 1n, unscaled + 1n])]
}

/** The balance after something between the two was added; nothing if it would be below zero. */
function moved({ indexRay, least, most }: Assumption, [low, high]: readonly [bigint, bigint]): Assumption[] {
  if (most !== undefined && most + high < 0n) return []
  const lowest = least + low
  return [{ indexRay, least: lowest < 0n ? 0n : lowest, most: most === undefined ? undefined : most + high }]
}

/** What the balance can have been if it earned this interest while the index moved; undefined if it cannot have. */
function earning(
  { indexRay: from, least, most }: Assumption,
  { interest, indexRay }: { readonly interest: bigint; readonly indexRay: bigint },
): Assumption | undefined {
  // The first log of the balance in this range.
  if (from === undefined) return { indexRay, least, most }
  const grown = indexRay - from
  if (grown < 0n) return undefined
  if (grown === 0n) return interest > INTEREST_SLACK ? undefined : { indexRay, least, most }
  const lowest = ((interest - INTEREST_SLACK) * RAY) / grown
  const highest = ((interest + INTEREST_SLACK) * RAY) / grown + 1n
  const earned = {
    indexRay,
    least: lowest > least ? lowest : least,
    most: most === undefined || highest < most ? highest : most,
  }
  return earned.most < earned.least ? undefined : earned
}
