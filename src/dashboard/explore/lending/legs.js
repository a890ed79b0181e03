/**
 * Converts the positions of each protocol to legs for `what_if.js`.
 * @typedef {import('./what_if.js').Legs} Legs
 */

/**
 * @param {import('../../lib/shapes.d.ts').AavePosition} position from an answer with `full=true`
 * @returns {Legs}
 */
export function aaveLegs({ suppliedAssets, borrowedAssets }) {
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
 * @param {import('../../lib/shapes.d.ts').MorphoPosition} position
 * @returns {Legs | undefined}
 */
export function morphoLegs({ collateralSymbol, loanSymbol, lltv, totalCollateralUSD, totalDebtUSD }) {
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
 * Returns one leg for all collateral and one for all debt of an obligation: answers have no limits of single reserves. The
 * debt is weighted by borrow factors as in klend (loan-to-value × collateral); the weight of the collateral follows from
 * the health factor.
 * @param {import('../../lib/shapes.d.ts').LendingPosition} position
 * @param {import('../../lib/shapes.d.ts').LendingFigures} figures
 * @returns {Legs | undefined} undefined without debt: the limits are then unknown
 */
export function kaminoLegs(
  { healthFactor, totalCollateralUSD, suppliedAssets, borrowedAssets },
  { currentLtvPercentage },
) {
  const ltv = Number(currentLtvPercentage) / 100
  const factor = Number(healthFactor)
  if (!(ltv > 0) || Number.isNaN(factor)) return undefined
  const usd = Number(totalCollateralUSD)
  const getSymbol = (/** @type {readonly { symbol: string }[]} */ assets, /** @type {string} */ all) => {
    const [only, ...others] = assets
    return only !== undefined && others.length === 0 ? only.symbol : all
  }
  const backing = suppliedAssets.filter(({ isCollateral }) => isCollateral)
  return {
    supplies: [{ id: 'collateral', symbol: getSymbol(backing, 'all collateral'), usd, weight: factor * ltv }],
    debts: [{ id: 'debt', symbol: getSymbol(borrowedAssets, 'all debt'), usd: usd * ltv, weight: 1 }],
  }
}
