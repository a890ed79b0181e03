import { refuseWithdrawal, type Withdrawable, type WithdrawalLimit } from '../../../finance/withdrawable.ts'
import { maxBigint } from '../../../lib/number/fixed_point.ts'
import type { Market, Reserve, Ticket } from '../read/accounts/layout.ts'
import { accrue, SF, toLiquidity } from './accrual.ts'
import { computeCapRoom } from './rule.ts'

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
