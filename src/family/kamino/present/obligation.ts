import * as v from 'valibot'
import {
  chainId,
  formatHealthFactor,
  formatPercentage,
  formatRatio,
  formatUsd,
  healthFactorFigure,
  percentageFigure,
  ratioFigure,
  ratioOrMaxFigure,
  usdFigure,
} from '../../../finance/figure.ts'
import { borrowUtilization, currentLtv, healthFactor, liquidationThreshold } from '../../../finance/math/lending.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { DECIMAL, text } from '../../../lib/text/text_format.ts'
import { parseTargetHealthFactor } from '../../lending/calculations.ts'
import { dueFields, presentDue } from '../../lending/due.ts'
import { type AssessedObligation, computeSafeBorrow, computeSafeWithdraw } from '../math/risk.ts'
import { SAFE_AMOUNTS } from './safe.ts'

/** Schemas of the fields that name an obligation. */
export const idFields = v.strictObject({
  chain_id: chainId,
  wallet: v.string(),
  market_address: v.string(),
  obligation_address: v.string(),
})

export type NamedObligation = v.InferOutput<typeof idFields>

/** Body of a risk answer, without `request_id`. */
export const riskOutput = v.strictObject({
  data: v.strictObject({
    ...idFields.entries,
    health_factor: healthFactorFigure,
    ...dueFields,
    target_health_factor: text(DECIMAL),
    current_ltv_percentage: percentageFigure,
    safe_borrow_amount_usd: v.pipe(usdFigure, v.description(SAFE_AMOUNTS.safeBorrow)),
    safe_withdraw_amount_usd: v.pipe(usdFigure, v.description(SAFE_AMOUNTS.safeWithdraw)),
    risk_metrics: v.strictObject({
      maxBorrowCapacityUSD: usdFigure,
      borrowUtilization: ratioOrMaxFigure,
      liquidationThreshold: ratioFigure,
      currentLtv: ratioFigure,
    }),
  }),
})

/**
 * Presents the risk figures of an obligation after the fields that name it. `targetText` is a health factor in decimal
 * digits; the answer shows it without trailing zeros.
 */
export function presentRisk(
  names: NamedObligation,
  position: AssessedObligation,
  targetText: string,
): v.InferOutput<typeof riskOutput>['data'] {
  const { totals } = position
  const target = parseTargetHealthFactor(targetText)
  const ltv = currentLtv(totals)
  return {
    ...names,
    health_factor: formatHealthFactor(healthFactor(totals)),
    ...presentDue(position),
    target_health_factor: formatExact(target.numerator, target.denominator.toString().length - 1),
    current_ltv_percentage: formatPercentage(ltv),
    safe_borrow_amount_usd: formatUsd(computeSafeBorrow(position, target)),
    safe_withdraw_amount_usd: formatUsd(computeSafeWithdraw(position, target)),
    risk_metrics: {
      maxBorrowCapacityUSD: formatUsd({ numerator: totals.borrowLimit, denominator: totals.perUsd }),
      borrowUtilization: formatRatio(borrowUtilization(totals)),
      liquidationThreshold: formatRatio(liquidationThreshold(totals)),
      currentLtv: formatRatio(ltv),
    },
  }
}
