import { checksumAddress } from 'viem'
import { formatApy, formatHealthFactor, formatUsd } from '../../../finance/figure.ts'
import { memoize } from '../../../lib/memoize.ts'
import { rational } from '../../../lib/number/rational.ts'
import { presentCalculations, presentReducedCalculations, presentTotals } from '../../lending/calculations.ts'
import { presentDue } from '../../lending/due.ts'
import { computeBorrows, computeSupplies, computeTotals, getHealthFactor, yieldLegs } from '../math/account.ts'
import { findLiquidationReasons } from '../math/rule.ts'
import { safeBorrow, safeWithdraw } from '../math/safe.ts'
import type { Position, WalletPositions } from '../read/position.ts'
import { withBreakdown } from './parts.ts'
import type { PresentedPosition } from './schema.ts'

/** Options for presenting a wallet's positions; `target` is a health factor in decimal digits. */
interface PresentOptions {
  readonly target: string
  /** True to add the breakdown by asset. */
  readonly full?: boolean
}

/** A wallet's positions on a chain and the figures of each. */
export function presentWallet(
  { chainId, wallet, positions }: WalletPositions,
  { target, full = false }: PresentOptions,
) {
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    positions: positions.map((position) => {
      const presented = presentPosition(position)
      return full ? withBreakdown(presented, position) : presented
    }),
    calculations: positions.map((position) =>
      presentCalculations(toLending(position), {
        target,
        healthFactor: toSnapshotFigures(position).healthFactor,
        safeBorrow: (aim) => safeBorrow(position, aim),
        safeWithdraw: (aim) => safeWithdraw(position, aim),
      }),
    ),
  }
}

/** The same with only the figures of the batch. */
export function presentReduced({ chainId, wallet, positions }: WalletPositions, target: string) {
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    positions: positions.map((position) => {
      const { healthFactor, netWorthUsd } = toSnapshotFigures(position)
      return { marketId: position.market, healthFactor, netWorthUSD: netWorthUsd }
    }),
    calculations: positions.map((position) => {
      const { healthFactor } = toSnapshotFigures(position)
      return presentReducedCalculations(toLending(position), { target, healthFactor })
    }),
  }
}

/** Figures of a position for a snapshot, in the format of the list. The health factor is the pool's own. */
export const toSnapshotFigures = memoize((position: Position) => {
  const { totalCollateralUSD, totalDebtUSD, netWorthUSD } = presentTotals(computeTotals(position))
  return {
    collateralUsd: totalCollateralUSD,
    debtUsd: totalDebtUSD,
    netWorthUsd: netWorthUSD,
    healthFactor: formatHealthFactor(getHealthFactor(position)),
  }
})

/** Positions of one block serve many answers, which differ only by the target. */
const presentPosition = memoize((position: Position): PresentedPosition => {
  const { unit, market } = position
  const { healthFactor, collateralUsd, debtUsd, netWorthUsd } = toSnapshotFigures(position)
  return {
    marketId: market,
    healthFactor,
    ...presentDue({ liquidatableBecause: findLiquidationReasons(position), dueAtSec: undefined }),
    totalCollateralUSD: collateralUsd,
    totalDebtUSD: debtUsd,
    netWorthUSD: netWorthUsd,
    suppliedAssets: computeSupplies(position).map(({ asset, value, apyRay }) => ({
      symbol: asset.reserve.symbol,
      amountSuppliedUSD: formatUsd(rational(value, unit)),
      supplyAPY: formatApy(apyRay),
      isCollateral: asset.isCollateral,
    })),
    borrowedAssets: computeBorrows(position).map(({ asset, value, apyRay }) => ({
      symbol: asset.reserve.symbol,
      amountBorrowedUSD: formatUsd(rational(value, unit)),
      borrowAPY: formatApy(apyRay),
    })),
  }
})

const toLending = memoize((position: Position) => ({ totals: computeTotals(position), ...yieldLegs(position) }))
