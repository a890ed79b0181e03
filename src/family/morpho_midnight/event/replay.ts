import type { Hex } from 'viem'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import type { PositionChange } from './change.ts'

/** What a position's changes add up to, raw units; negative amounts show that changes are missing. */
export interface ReplayedPosition {
  credit: bigint
  pendingFee: bigint
  debt: bigint
  /** By token, lower case; none is zero. */
  readonly collaterals: Map<Hex, bigint>
}

/** What a wallet's changes add up to so far, by market. */
export type ReplayedPositions = Map<Hex, ReplayedPosition>

/**
 * Replays the changes of one wallet, which are in their order: the stored position in each market. `positions` are those
 * of the changes before, and are changed. A bad debt of another
 * wallet lowers all credits without a log, and the next change of each takes that off.
 *
 * Source: Midnight `take`, `repay`, `withdraw`, `liquidate`, `_updatePosition`.
 */
export function replayChanges(
  changes: readonly PositionChange[],
  positions: ReplayedPositions = new Map(),
): ReplayedPositions {
  for (const change of changes) {
    const position = positions.get(change.market) ?? { credit: 0n, pendingFee: 0n, debt: 0n, collaterals: new Map() }
    positions.set(change.market, position)
    apply(position, change)
  }
  return positions
}

function apply(position: ReplayedPosition, { kind, amount, asset }: PositionChange): void {
  switch (kind) {
    case 'buy': {
      const paid = minBigint(amount, position.debt)
      position.debt -= paid
      position.credit += amount - paid
      return
    }
    case 'sell': {
      const given = minBigint(amount, position.credit)
      position.credit -= given
      position.debt += amount - given
      return
    }
    case 'lower_debt':
      position.debt -= amount
      return
    case 'lower_credit':
      position.credit -= amount
      return
    case 'raise_fee':
      position.pendingFee += amount
      return
    case 'lower_fee':
      position.pendingFee -= amount
      return
    default: {
      const { collaterals } = position
      const left = (collaterals.get(asset) ?? 0n) + (kind === 'raise_collateral' ? amount : -amount)
      if (left === 0n) collaterals.delete(asset)
      else collaterals.set(asset, left)
    }
  }
}
