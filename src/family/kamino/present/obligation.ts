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
import { minBigint } from '../../../lib/number/fixed_point.ts'
import { DECIMAL, named, text, withWords } from '../../../lib/text/text_format.ts'
import { parseTargetHealthFactor } from '../../lending/calculations.ts'
import { dueFields, presentDue } from '../../lending/due.ts'
import { nameUnpaidInterest, presentYieldFigures, unpaidInterest, yieldFigures } from '../../lending/yield.ts'
import { SF } from '../math/accrual.ts'
import type { ObligationPosition, Supply } from '../math/position.ts'
import { type AssessedObligation, computeSafeBorrow, computeSafeWithdraw } from '../math/risk.ts'

/** Descriptions of the amounts that bring the health factor of an obligation down to the target. */
export const SAFE_AMOUNTS = {
  safeBorrow:
    'What can still be borrowed, at borrow factor 1, before the health factor falls to the target or the program refuses ' +
    'more: maximum loan-to-value, switched-off loans, caps, terms, and what the reserves that it owes to can lend; 0 while ' +
    'any wallet may liquidate it',
  safeWithdraw:
    'Collateral that can be taken out, in proportion, before the health factor falls to the target or the program refuses ' +
    'more: maximum loan-to-value, emergencies, caps, and what its reserves can pay; 0 for a debt while any wallet may ' +
    'liquidate it',
}

/** Schemas of the fields that name an obligation. */
const idFields = v.strictObject({
  chain_id: chainId,
  wallet: withWords('The wallet that owns the obligation', v.string()),
  market_address: withWords('Account of the lending market', v.string()),
  obligation_address: withWords('Account of the obligation', v.string()),
})

export type NamedObligation = v.InferOutput<typeof idFields>

/** Body of a risk answer, without `request_id`. */
export const riskOutput = v.strictObject({
  data: v.strictObject({
    ...idFields.entries,
    health_factor: healthFactorFigure,
    ...dueFields,
    target_health_factor: withWords('The health factor that was aimed at, as asked for', text(DECIMAL)),
    current_ltv_percentage: withWords('Debt in percent of the collateral', percentageFigure),
    safe_borrow_amount_usd: v.pipe(usdFigure, v.description(SAFE_AMOUNTS.safeBorrow)),
    safe_withdraw_amount_usd: v.pipe(usdFigure, v.description(SAFE_AMOUNTS.safeWithdraw)),
    risk_metrics: named(
      'RiskMetrics',
      'How near the debt is to its limits',
      v.strictObject({
        maxBorrowCapacityUSD: withWords('The most that the collateral allows to owe', usdFigure),
        borrowUtilization: withWords('Debt, by maxBorrowCapacityUSD; 1 is all of it', ratioOrMaxFigure),
        liquidationThreshold: withWords('The part of the collateral up to which it may be owed', ratioFigure),
        currentLtv: withWords('Debt, by the collateral; 1 is all of it', ratioFigure),
      }),
    ),
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

/** Schema of the duration of a slot that an APY rests on. */
export const slot_ms = v.pipe(
  v.nullable(v.pipe(v.number(), v.integer())),
  v.description('Milliseconds of a slot that the APY beside it rests on; null if its reserves count seconds'),
)

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({
  data: v.strictObject({ ...idFields.entries, ...yieldFigures, slot_ms, incomplete: unpaidInterest }),
})

/**
 * Presents the yield of an obligation. In a market of no table, interest on what was lent is projected as far as the
 * reserve could pay that out: any account can make one, lend to itself at any rate, and name the sum of a year.
 */
export function presentYield(position: ObligationPosition, { isTrusted }: { readonly isTrusted: boolean }) {
  const { supplies, borrows } = position
  const paidSupplies = supplies.map((supply) => pay(supply, isTrusted ? supply.amountSf : computePayableSf(supply)))
  const unpaid = paidSupplies.filter(({ unpaidSf }) => unpaidSf > 0n)
  return {
    ...presentYieldFigures(unpaid.length === 0 ? position : { ...position, paidSupplies }),
    slot_ms: [...supplies, ...borrows].find((each) => each.slotMs !== undefined)?.slotMs ?? null,
    incomplete: unpaid.map(({ reserve: { symbol, decimals }, unpaidSf }) =>
      nameUnpaidInterest(symbol, formatExact(unpaidSf / SF, decimals)),
    ),
  }
}

/** The part of a supply that is paid, up to `paidSf`, and what of it is not. */
function pay(supply: Supply, paidSf: bigint) {
  const unpaidSf = supply.amountSf - paidSf
  const value = unpaidSf === 0n ? supply.value : (supply.value * paidSf) / supply.amountSf
  return { ...supply, value, unpaidSf }
}

function computePayableSf({ amountSf, reserve }: Supply): bigint {
  return minBigint(amountSf, reserve.availableAmount * SF)
}
