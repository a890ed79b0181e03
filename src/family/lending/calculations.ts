import * as v from 'valibot'
import {
  apyFigure,
  formatPercentage,
  formatRatio,
  formatUsd,
  healthFactorFigure as healthFactor,
  percentageFigure as percentage,
  ratioOrMaxFigure as ratioOrMax,
  usdFigure as usd,
} from '../../finance/figure.ts'
import {
  borrowUtilization,
  currentLtv,
  dailyInterest,
  type LendingPosition,
  type LendingTotals,
  netApy,
  positionLeverage,
  weightedApy,
} from '../../finance/math/lending.ts'
import { memoize } from '../../lib/memoize.ts'
import { parseRational, type Rational, rational } from '../../lib/number/rational.ts'
import { named, withWords } from '../../lib/text/text_format.ts'

/** What the leverage of a position is. */
export const LEVERAGE_WORDS = 'Everything supplied, by what of it is not owed; MAX if all of it is'

const targetHealthFactor = withWords('The health factor that was aimed at, as asked for', v.number())

/**
 * Builds the schema of a position's calculations in a list by the family's name, `AaveV3`; `safe…` describe these figures
 * in the family, `place` has the fields that name the position, if any do.
 */
export function calculationsSchema<const Place extends v.ObjectEntries = Record<never, never>>(
  family: string,
  {
    safeBorrow,
    safeWithdraw,
    place,
  }: { readonly safeBorrow: string; readonly safeWithdraw: string; readonly place?: Place },
) {
  return named(
    `${family}Calculations`,
    'What follows from the position at the same index of `positions`',
    v.strictObject({
      ...((place ?? {}) as Place),
      targetHealthFactor,
      healthFactor,
      dailySupplyInterestUSD: withWords('What supplies earn in a day at the rates of this block', usd),
      dailyBorrowInterestUSD: withWords('What debts cost in a day at the rates of this block', usd),
      netDailyInterestUSD: withWords('dailySupplyInterestUSD less dailyBorrowInterestUSD', usd),
      safeBorrowAmountUSD: withWords(safeBorrow, usd),
      safeWithdrawAmountUSD: withWords(safeWithdraw, usd),
      currentLtvPercentage: withWords('Debt in percent of the collateral', percentage),
      netAPY: apyFigure,
      positionLeverage: withWords(LEVERAGE_WORDS, ratioOrMax),
      weightedSupplyAPY: apyFigure,
      weightedBorrowAPY: apyFigure,
      borrowUtilizationRate: withWords(
        'Debt, by the most that the collateral allows to borrow; 1 is all of it',
        ratioOrMax,
      ),
    }),
  )
}

/** Schema of a position's calculations in a batch. */
export const reducedCalculations = named(
  'ReducedCalculations',
  'What follows from the position at the same index of `positions`',
  v.strictObject({ healthFactor, netAPY: apyFigure, targetHealthFactor }),
)

/** Inputs of the calculations; `target` is the health factor to aim at, in decimal digits. */
interface CalculationInput {
  readonly target: string
  readonly healthFactor: string
}

/** A family's amounts that bring the health factor down to the target, US dollars. */
interface SafeAmounts {
  safeBorrow(target: Rational): Rational
  safeWithdraw(target: Rational): Rational
}

/** Presents a position's calculations in a list. */
export function presentCalculations(
  position: LendingPosition,
  { target, healthFactor, safeBorrow, safeWithdraw }: CalculationInput & SafeAmounts,
) {
  const targetRatio = parseTargetHealthFactor(target)
  const { interest, ratios } = presentCommon(position)
  return {
    targetHealthFactor: Number(target),
    healthFactor,
    ...interest,
    safeBorrowAmountUSD: formatUsd(safeBorrow(targetRatio)),
    safeWithdrawAmountUSD: formatUsd(safeWithdraw(targetRatio)),
    ...ratios,
  }
}

/** Presents a position's calculations in a batch. */
export function presentReducedCalculations(
  { totals, ...legs }: LendingPosition,
  { target, healthFactor }: CalculationInput,
): v.InferOutput<typeof reducedCalculations> {
  return { healthFactor, netAPY: formatRatio(netApy(totals, legs)), targetHealthFactor: Number(target) }
}

/** Parses a target health factor. Throws `RangeError` for a text that is not a decimal number. */
export function parseTargetHealthFactor(text: string): Rational {
  const target = parseRational(text)
  if (target === undefined) throw new RangeError('Cannot use a target health factor that is not a decimal number')
  return target
}

/** Presents the totals of a position. */
export function presentTotals({ perUsd, collateral, supplied, debt }: LendingTotals) {
  return {
    totalCollateralUSD: formatUsd(rational(collateral, perUsd)),
    totalDebtUSD: formatUsd(rational(debt, perUsd)),
    netWorthUSD: formatUsd(rational(supplied - debt, perUsd)),
  }
}

/** Calculations that do not depend on the target; memoized, because many answers share the positions of a block. */
const presentCommon = memoize(({ totals, ...legs }: LendingPosition) => {
  const interest = dailyInterest(totals, legs)
  return {
    interest: {
      dailySupplyInterestUSD: formatUsd(interest.dailySupplyUsd),
      dailyBorrowInterestUSD: formatUsd(interest.dailyBorrowUsd),
      netDailyInterestUSD: formatUsd(interest.dailyNetUsd),
    },
    ratios: {
      currentLtvPercentage: formatPercentage(currentLtv(totals)),
      netAPY: formatRatio(netApy(totals, legs)),
      positionLeverage: formatRatio(positionLeverage(totals)),
      weightedSupplyAPY: formatRatio(weightedApy(legs.supplies)),
      weightedBorrowAPY: formatRatio(weightedApy(legs.borrows)),
      borrowUtilizationRate: formatRatio(borrowUtilization(totals)),
    },
  }
})
