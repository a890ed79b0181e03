import * as v from 'valibot'
import { memoize } from '../../lib/memoize.ts'
import { parseRational, type Rational, rational } from '../../lib/number/rational.ts'
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
  type LendingTotals,
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

/** Schema of those that a batch calculates. */
export const reducedCalculations = v.strictObject({ healthFactor, netAPY: ratio, targetHealthFactor: v.number() })

/** How a position is shown: `target` is a health factor to aim at, in decimal digits. */
interface Calculated {
  readonly target: string
  readonly healthFactor: string
}

/** How a family counts what is safe until the health factor falls to the target, US dollars. */
interface SafeAmounts {
  safeBorrow(target: Rational): Rational
  safeWithdraw(target: Rational): Rational
}

/** What a list calculates of a position. */
export function presentCalculations(
  position: LendingPosition,
  { target, healthFactor, safeBorrow, safeWithdraw }: Calculated & SafeAmounts,
) {
  const aim = targetFrom(target)
  const { interest, ratios } = presentCommon(position)
  return {
    targetHealthFactor: Number(target),
    healthFactor,
    ...interest,
    safeBorrowAmountUSD: usdText(safeBorrow(aim)),
    safeWithdrawAmountUSD: usdText(safeWithdraw(aim)),
    ...ratios,
  }
}

/** What a batch calculates of a position. */
export function presentReducedCalculations(
  { totals, ...legs }: LendingPosition,
  { target, healthFactor }: Calculated,
): v.InferOutput<typeof reducedCalculations> {
  return { healthFactor, netAPY: ratioText(netApy(totals, legs)), targetHealthFactor: Number(target) }
}

/** A health factor to aim at. Throws `RangeError` for a text that is not a decimal number. */
export function targetFrom(text: string): Rational {
  const target = parseRational(text)
  if (target === undefined) throw new RangeError('Cannot use a target health factor that is not a decimal number')
  return target
}

/** What a position has and owes in all. */
export function presentTotals({ perUsd, collateral, supplied, debt }: LendingTotals) {
  return {
    totalCollateralUSD: usdText(rational(collateral, perUsd)),
    totalDebtUSD: usdText(rational(debt, perUsd)),
    netWorthUSD: usdText(rational(supplied - debt, perUsd)),
  }
}

/** What does not depend on the target: positions of one block serve many answers, which differ only by that. */
const presentCommon = memoize(({ totals, ...legs }: LendingPosition) => {
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
})
