import * as v from 'valibot'
import {
  borrowUtilization,
  currentLtv,
  healthFactor,
  type LendingPosition,
  liquidationThreshold,
  safeBorrowUsd,
  safeWithdrawUsd,
} from '../../finance/lending.ts'
import type { Rational } from '../../lib/number/rational.ts'
import { DECIMAL, text } from '../../lib/text/text_format.ts'
import {
  healthFactorFigure,
  healthFactorText,
  percentageFigure,
  percentageText,
  ratioFigure,
  ratioOrMaxFigure,
  ratioText,
  usdFigure,
  usdText,
} from '../figure.ts'
import { chainId } from '../schema.ts'
import { presentYieldFigures, yieldFigures } from '../yield.ts'

/** Which obligation an answer is about. */
export interface Named {
  readonly chainId: number
  readonly wallet: string
  readonly marketAddress: string
  readonly obligationAddress: string
}

const named = {
  chain_id: chainId,
  wallet: v.string(),
  market_address: v.string(),
  obligation_address: v.string(),
}

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({ data: v.strictObject({ ...named, ...yieldFigures }) })

/** Body of a risk answer, without `request_id`. */
export const riskOutput = v.strictObject({
  data: v.strictObject({
    ...named,
    health_factor: healthFactorFigure,
    target_health_factor: text(DECIMAL),
    current_ltv_percentage: percentageFigure,
    safe_borrow_amount_usd: usdFigure,
    safe_withdraw_amount_usd: usdFigure,
    risk_metrics: v.strictObject({
      maxBorrowCapacityUSD: usdFigure,
      borrowUtilization: ratioOrMaxFigure,
      liquidationThreshold: ratioFigure,
      currentLtv: ratioFigure,
    }),
  }),
})

/** Yield figures of an obligation, after the fields that name it. */
export function presentYield(names: Named, position: LendingPosition): v.InferOutput<typeof yieldOutput>['data'] {
  return { ...presentNames(names), ...presentYieldFigures(position) }
}

/** Risk figures of an obligation, after the fields that name it. `target` and its digits are those of the caller. */
export function presentRisk(
  names: Named,
  { totals }: LendingPosition,
  { target, targetText }: { readonly target: Rational; readonly targetText: string },
): v.InferOutput<typeof riskOutput>['data'] {
  const ltv = currentLtv(totals)
  return {
    ...presentNames(names),
    health_factor: healthFactorText(healthFactor(totals)),
    target_health_factor: targetText,
    current_ltv_percentage: percentageText(ltv),
    safe_borrow_amount_usd: usdText(safeBorrowUsd(totals, target)),
    safe_withdraw_amount_usd: usdText(safeWithdrawUsd(totals, target)),
    risk_metrics: {
      maxBorrowCapacityUSD: usdText({ numerator: totals.borrowLimit, denominator: totals.perUsd }),
      borrowUtilization: ratioText(borrowUtilization(totals)),
      liquidationThreshold: ratioText(liquidationThreshold(totals)),
      currentLtv: ratioText(ltv),
    },
  }
}

function presentNames({ chainId, wallet, marketAddress, obligationAddress }: Named) {
  return { chain_id: chainId, wallet, market_address: marketAddress, obligation_address: obligationAddress }
}
