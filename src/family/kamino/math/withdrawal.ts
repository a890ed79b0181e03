import { refuseWithdrawal, type Withdrawable, type WithdrawalLimit } from '../../../finance/withdrawable.ts'
import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import type { Market, Reserve, Ticket } from '../read/accounts/layout.ts'
import { accrue, SF, toLiquidity } from './accrual.ts'
import { type ObligationPosition, type Snapshot, type Supply, valueObligation } from './position.ts'
import { computeLeastValue } from './risk.ts'
import { computeCapRoom, REFUSALS, type RuleInput, WITHDRAWAL_LIMITS } from './rule.ts'

/** A bound of a withdrawal, Sf units of the reserve's token. */
interface Bound {
  readonly roomSf: bigint
  readonly limitedBy: WithdrawalLimit
}

/** Yields take no part in what can be withdrawn, whatever a slot lasts. */
const ANY_SLOT = { slotMs: 400 }

/**
 * Computes what a withdrawal of each deposit alone pays, by reserve, base units of its token; a deposit that can be
 * withdrawn whole is absent. `isPriced`: false if prices of the snapshot only stand in for missing ones: they decide
 * nothing without a debt, and nothing is known with one. `position` is the snapshot's, if it was valued before.
 *
 * @figure assets/amount
 * @source klend `withdraw_obligation_collateral`, `max_withdraw_value`, `post_withdraw_obligation_invariants`
 * @proof test/unit/family/kamino/withdrawal_test.ts
 */
export function computeWithdrawables(
  snapshot: Snapshot,
  {
    isPriced,
    position = valueObligation(snapshot, ANY_SLOT),
  }: { readonly isPriced: boolean; readonly position?: ObligationPosition },
): ReadonlyMap<string, Withdrawable> {
  const input = { snapshot, position }
  return new Map(
    position.supplies.flatMap((supply) => {
      const withdrawable = computeWithdrawable(supply, input, isPriced)
      return withdrawable === undefined ? [] : [[supply.address, withdrawable] as const]
    }),
  )
}

function computeWithdrawable(supply: Supply, input: RuleInput, isPriced: boolean): Withdrawable | undefined {
  const { position } = input
  if (!isPriced && position.borrows.length > 0) return { amount: 0n, limitedBy: 'price' }
  const refusal = REFUSALS.find(({ refuses, holds }) => refuses.includes('withdrawal') && holds(input))
  if (refusal !== undefined) return refuseWithdrawal(refusal)
  const bounds = [
    ...WITHDRAWAL_LIMITS.flatMap(({ room, limitedBy }): Bound[] => {
      const roomSf = room(supply, input)
      return roomSf === undefined ? [] : [{ roomSf: maxBigint(roomSf, 0n), limitedBy }]
    }),
    { roomSf: computeFree(supply, input), limitedBy: 'health' as const },
  ]
  const least = bounds.reduce((tightest, bound) => (bound.roomSf < tightest.roomSf ? bound : tightest))
  const [whole, room] = [supply.amountSf / SF, least.roomSf / SF]
  if (room >= whole) return undefined
  return { amount: isPriced ? keepLeastValue(room, supply, input) : room, limitedBy: least.limitedBy }
}

/** Computes what the debt leaves free of one deposit, Sf: by maximum loan-to-value, nothing once that is reached. */
function computeFree({ amountSf, value, maxLtvPct }: Supply, { snapshot, position }: RuleInput): bigint {
  const { riskDebt, borrowLimit, collateral } = position.totals
  if (riskDebt === 0n || value === 0n) return amountSf
  if (borrowLimit <= riskDebt) return 0n
  const byLtv = maxLtvPct === 0n ? value : ((borrowLimit - riskDebt) * 100n) / maxLtvPct
  const { startedAtSec, targetLtvPct } = snapshot.obligation.deleveraging
  const byMark = startedAtSec === 0n || targetLtvPct === 0n ? value : collateral - (riskDebt * 100n) / targetLtvPct
  return (amountSf * maxBigint(minBigint(minBigint(byLtv, byMark), value), 0n)) / value
}

/** What stays behind is nothing or the least value of a deposit. */
function keepLeastValue(room: bigint, { amountSf, value }: Supply, { snapshot, position }: RuleInput): bigint {
  const least = computeLeastValue({ snapshot, totals: position.totals })
  if (value <= least) return 0n
  return minBigint(room, (amountSf * (value - least)) / value / SF)
}

/** A ticket of a withdraw queue and the accounts that its amount depends on, all at one slot. */
export interface TicketState {
  readonly slot: bigint
  /** Time of the slot by the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
  readonly ticket: Ticket
  readonly market: Market
  readonly reserve: Reserve
}

/**
 * Computes what a ticket is worth, base units of its reserve's token, interest included, and what of it is paid at the
 * slot. Tickets are paid in their order; those before it are not read, so all others count as being before it unless it is
 * the next one. A ticket that the program found invalid gives its collateral back, which is redeemed like any other.
 *
 * @figure assets/amount
 * @source klend `withdraw_queued_liquidity`, `recover_invalid_ticket_collateral`
 * @proof test/unit/family/kamino/ticket_test.ts
 */
export function computeTicket({ ticket, market, reserve, slot, timestampSec }: TicketState): {
  readonly amount: bigint
  readonly withdrawable: Withdrawable | undefined
} {
  const pool = accrue(reserve, { slot, timestampSec, ...market })
  const toUnits = (collateral: bigint) => toLiquidity(collateral, pool) / SF
  const amount = toUnits(ticket.collateralAmount)
  const isNext = ticket.sequence === reserve.nextTicket
  const others = maxBigint(reserve.queuedCollateral - (ticket.isInvalid ? 0n : ticket.collateralAmount), 0n)
  const before = isNext && !ticket.isInvalid ? 0n : others
  const bounds: { readonly room: bigint; readonly limitedBy: WithdrawalLimit }[] = [
    { room: maxBigint(reserve.availableAmount - toUnits(before), 0n), limitedBy: 'liquidity' },
  ]
  const capSf = computeCapRoom(reserve.withdrawalCap, { timestampSec })
  if (capSf !== undefined) bounds.push({ room: maxBigint(capSf / SF, 0n), limitedBy: 'cap' })
  if (market.isEmergency) return { amount, withdrawable: refuseWithdrawal({ limitedBy: 'halted' }) }
  if (!ticket.isInvalid && !market.paysTickets)
    return { amount, withdrawable: refuseWithdrawal({ limitedBy: 'paused' }) }
  const { room, limitedBy } = bounds.reduce((least, bound) => (bound.room < least.room ? bound : least))
  return { amount, withdrawable: room >= amount ? undefined : { amount: room, limitedBy } }
}
