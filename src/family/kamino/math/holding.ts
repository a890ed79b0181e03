import type { Market, Obligation, Reserve } from '../read/accounts/layout.ts'
import { accrue, computeOwed, SF, toLiquidity } from './accrual.ts'

/** Amount that an obligation supplies to or borrows from one reserve, base units of its token. */
export interface ObligationLeg {
  readonly kind: 'supplied' | 'borrowed'
  readonly reserve: string
  readonly amount: bigint
}

/** An obligation and the accounts that its amounts depend on, all at one slot. */
export interface ObligationState {
  readonly slot: bigint
  /** Time of the slot by the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
  readonly obligation: Obligation
  readonly market: Market
  readonly reserves: ReadonlyMap<string, Reserve>
}

/**
 * What an obligation has and owes with interest, reserve by reserve: deposits rounded down, as they are paid out, and
 * debts rounded up, as they are paid back. Throws `RangeError` if a reserve is missing.
 *
 * @figure assets/amount
 * @source klend `refresh_obligation`, `withdraw_obligation_collateral`, `repay_obligation_liquidity`
 * @proof test/contract/portfolio/solana/kamino_test.ts
 */
export function computeLegs({ slot, timestampSec, obligation, market, reserves }: ObligationState): ObligationLeg[] {
  const accruePool = (address: string) => {
    const reserve = reserves.get(address)
    if (reserve === undefined) throw new RangeError('Cannot compute the amounts of an obligation: a reserve is missing')
    return accrue(reserve, { slot, timestampSec, ...market })
  }
  const legs = [
    ...obligation.deposits.map(({ reserve, collateralAmount }): ObligationLeg => {
      const amount = toLiquidity(collateralAmount, accruePool(reserve)) / SF
      return { kind: 'supplied', reserve, amount }
    }),
    ...obligation.borrows.map((borrow): ObligationLeg => {
      const amount = (computeOwed(borrow, accruePool(borrow.reserve)) + SF - 1n) / SF
      return { kind: 'borrowed', reserve: borrow.reserve, amount }
    }),
  ]
  return legs.filter(({ amount }) => amount > 0n)
}
