import * as v from 'valibot'
import {
  healthFactorFigure as healthFactor,
  percentageFigure as percentage,
  percentageText,
  ratioFigure as ratio,
  ratioOrMaxFigure as ratioOrMax,
  ratioText,
  usdFigure as usd,
  usdText,
} from '../figure.ts'
import {
  borrowUtilization,
  currentLtv,
  dailyInterest,
  type LendingPosition,
  netApy,
  positionLeverage,
  weightedApy,
} from '../math/lending.ts'

/** Schema of what a list calculates of one position; `safe…` say in words what those figures count in the family. */
export function calculationsSchema(safe: { readonly safeBorrow: string; readonly safeWithdraw: string }) {
  return v.strictObject({
    targetHealthFactor: v.number(),
    healthFactor,
    dailySupplyInterestUSD: usd,
    dailyBorrowInterestUSD: usd,
    netDailyInterestUSD: usd,
    safeBorrowAmountUSD: v.pipe(usd, v.description(safe.safeBorrow)),
    safeWithdrawAmountUSD: v.pipe(usd, v.description(safe.safeWithdraw)),
    currentLtvPercentage: percentage,
    netAPY: ratio,
    positionLeverage: ratioOrMax,
    weightedSupplyAPY: ratio,
    weightedBorrowAPY: ratio,
    borrowUtilizationRate: ratioOrMax,
  })
}

/** Those of the figures that depend on the position alone, before and after those that depend on the target too. */
export function presentCalculated({ totals, ...legs }: LendingPosition) {
  const interest = dailyInterest(totals, legs)
  return {
    interest: {
      dailySupplyInterestUSD: usdText(interest.dailySupplyUsd),
      dailyBorrowInterestUSD: usdText(interest.dailyBorrowUsd),
      netDailyInterestUSD: usdText(interest.dailyNetUsd),
    },
    ratios: {
      currentLtvPercentage: percentageText(currentLtv(totals)),
      netAPY: ratioText(netApy(totals, legs)),
      positionLeverage: ratioText(positionLeverage(totals)),
      weightedSupplyAPY: ratioText(weightedApy(legs.supplies)),
      weightedBorrowAPY: ratioText(weightedApy(legs.borrows)),
      borrowUtilizationRate: ratioText(borrowUtilization(totals)),
    },
  }
}
