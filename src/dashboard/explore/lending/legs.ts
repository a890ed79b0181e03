import type { AaveV3Calculations, AaveV3Position, LendingPosition, MorphoPosition } from '../../lib/shapes.ts'
import type { Legs } from './what_if.ts'

/** Converts a position of an answer with `full=true`. */
export function aaveLegs({ suppliedAssets, borrowedAssets }: AaveV3Position): Legs {
  return {
    supplies: suppliedAssets.map(({ address = '', symbol, amountSuppliedUSD, isCollateral, liquidationThreshold }) => ({
      id: address,
      symbol,
      usd: Number(amountSuppliedUSD),
      weight: isCollateral ? Number(liquidationThreshold) : 0,
    })),
    debts: borrowedAssets.map(({ address = '', symbol, amountBorrowedUSD }) => ({
      id: address,
      symbol,
      usd: Number(amountBorrowedUSD),
      weight: 1,
    })),
  }
}

/**
 * Values the collateral at the market's own oracle, as the answer does. Lent tokens back no debt. Undefined if a side has no
 * value.
 */
export function morphoLegs({
  collateralSymbol,
  loanSymbol,
  lltv,
  totalCollateralUSD,
  totalDebtUSD,
}: MorphoPosition): Legs | undefined {
  if (collateralSymbol === null || totalCollateralUSD === null || totalDebtUSD === null) return undefined
  const collateral = {
    id: 'collateral',
    symbol: collateralSymbol,
    usd: Number(totalCollateralUSD),
    weight: Number(lltv),
  }
  const debt = { id: 'loan', symbol: loanSymbol, usd: Number(totalDebtUSD), weight: 1 }
  return { supplies: [collateral], debts: [debt] }
}

/**
 * Returns one leg for all collateral and one for all debt of an obligation: answers have no limits of single reserves.
 * The debt is weighted by borrow factors as in klend (loan-to-value × collateral); the weight of the collateral follows
 * from the health factor. Returns undefined without debt: the limits are then unknown.
 */
export function kaminoLegs(
  { healthFactor, totalCollateralUSD, suppliedAssets, borrowedAssets }: LendingPosition,
  { currentLtvPercentage }: AaveV3Calculations,
): Legs | undefined {
  const ltv = Number(currentLtvPercentage) / 100
  const factor = Number(healthFactor)
  if (!(ltv > 0) || Number.isNaN(factor)) return undefined
  const usd = Number(totalCollateralUSD)
  const getSymbol = (assets: readonly { symbol: string }[], all: string) => {
    const [only, ...others] = assets
    return only !== undefined && others.length === 0 ? only.symbol : all
  }
  const backing = suppliedAssets.filter(({ isCollateral }) => isCollateral)
  return {
    supplies: [{ id: 'collateral', symbol: getSymbol(backing, 'all collateral'), usd, weight: factor * ltv }],
    debts: [{ id: 'debt', symbol: getSymbol(borrowedAssets, 'all debt'), usd: usd * ltv, weight: 1 }],
  }
}
