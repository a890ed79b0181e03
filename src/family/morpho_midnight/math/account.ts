import type { BoundlessRatio } from '../../../finance/math/lending.ts'
import { minBigint, mulDivDown, mulDivUp, pow10, UINT128_MAX, WAD } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import type { LiquidationReason } from '../../lending/due.ts'
import type { CollateralTerms, HeldCollateral, MarketState, StoredPosition } from './state.ts'

/** Scale of an oracle's price, beyond the difference of both tokens' decimals. */
export const ORACLE_SCALE = pow10(36)

/** A collateral with the market's terms for it. */
export interface Collateral extends HeldCollateral, Pick<CollateralTerms, 'lltvWad'> {}

/** What a wallet owes in a market, and what backs it. */
export interface Debt {
  /** Raw units of the loan token. */
  readonly debt: bigint
  readonly collaterals: readonly Collateral[]
  readonly maturitySec: bigint
}

/** Credit that a wallet has, and the fee that is still to be taken from it. */
export interface Credit {
  readonly credit: bigint
  readonly pendingFee: bigint
}

/**
 * A wallet's credit at a time, raw units of the loan token at par: less what bad debts took since it was stored, and the
 * fee up to now, which stops at maturity.
 *
 * @figure assets/amount
 * @source Midnight `updatePositionView`
 * @proof test/contract/family/morpho_midnight/vectors_test.ts
 */
export function computeCredit(
  { credit, pendingFee, lastLossFactor, lastAccrualSec }: StoredPosition,
  { lossFactor, maturitySec, nowSec }: Pick<MarketState, 'lossFactor'> & Record<'maturitySec' | 'nowSec', bigint>,
): Credit {
  if (credit === 0n) return { credit: 0n, pendingFee: 0n }
  const kept =
    lastLossFactor === UINT128_MAX ? 0n : mulDivDown(credit, UINT128_MAX - lossFactor, UINT128_MAX - lastLossFactor)
  const pending = pendingFee - mulDivUp(pendingFee, credit - kept, credit)
  const elapsedSec = minBigint(nowSec, maturitySec) - lastAccrualSec
  const fee = lastAccrualSec >= maturitySec ? 0n : mulDivDown(pending, elapsedSec, maturitySec - lastAccrualSec)
  return { credit: kept - fee, pendingFee: pending - fee }
}

/** Debt that a collateral backs, raw units of the loan token; undefined if its oracle is silent. */
function computeBacking({ amount, oraclePrice, lltvWad }: Collateral): bigint | undefined {
  return oraclePrice === undefined ? undefined : mulDivDown(mulDivDown(amount, oraclePrice, ORACLE_SCALE), lltvWad, WAD)
}

/**
 * Debt that these collaterals back, raw units of the loan token: a greater one can be liquidated. Undefined if one of their oracles is
 * silent: then the contract tells nothing, and liquidates nothing.
 *
 * @figure health_factor
 * @source Midnight `isHealthy`, `liquidate`
 * @proof test/contract/family/morpho_midnight/vectors_test.ts
 */
export function computeMaxDebt(collaterals: readonly Collateral[]): bigint | undefined {
  let sum = 0n
  for (const each of collaterals) {
    const backing = computeBacking(each)
    if (backing === undefined) return undefined
    sum += backing
  }
  return sum
}

/** Health factor by the market's own oracles: the debt that its collaterals back ÷ the debt; undefined as `computeMaxDebt`. */
export function computeHealthFactor({ debt, collaterals }: Debt): BoundlessRatio | undefined {
  if (debt === 0n) return 'max'
  const maxDebt = computeMaxDebt(collaterals)
  return maxDebt === undefined ? undefined : rational(maxDebt, debt)
}

/** True if a debt is past its maturity; at that second it is not yet. */
export function isOverdue({ debt, maturitySec }: Debt, nowSec: bigint): boolean {
  return debt > 0n && nowSec > maturitySec
}

/**
 * Finds why a wallet that the market's gate lets may liquidate a position: every reason that applies. None does while an
 * oracle is silent, because liquidating then reverts.
 */
export function findLiquidationReasons(account: Debt, nowSec: bigint): readonly LiquidationReason[] {
  const maxDebt = computeMaxDebt(account.collaterals)
  if (account.debt === 0n || maxDebt === undefined) return []
  return [
    ...(account.debt > maxDebt ? (['health_factor'] as const) : []),
    ...(isOverdue(account, nowSec) ? (['debt_matured'] as const) : []),
  ]
}
