import type { PnlFigures } from '../../../../../src/finance/math/pnl/figures.ts'
import { formatFixed } from '../../../../../src/lib/number/decimal.ts'
import { formatRational, type Rational } from '../../../../../src/lib/number/rational.ts'

/** The figures in the names and digits of the specification. */
export function shown(figures: PnlFigures) {
  const { netImpermanentLossRatio, pureImpermanentLossRatio } = figures
  return {
    pnl_usd_value: usd(figures.pnlE6),
    pnl_percentage: percentage(figures.pnlRatio),
    time_weighted_average_capital: usd(figures.averageCapitalE6),
    fee_apr: figures.feeApr === undefined ? null : percentage(figures.feeApr),
    hodl_gross_benchmark_usd_value: usd(figures.hodlGrossE6),
    alpha_vs_hodl_gross_usd_value: usd(figures.alphaE6),
    alpha_vs_hodl_gross_percentage: percentage(figures.alphaRatio),
    net_impermanent_loss: usd(figures.netImpermanentLossE6),
    net_impermanent_loss_percentage: percentage(netImpermanentLossRatio),
    pure_impermanent_loss: usd(figures.pureImpermanentLossE6),
    pure_impermanent_loss_percentage: percentage(pureImpermanentLossRatio),
    market_pnl_usd_value: usd(figures.marketE6),
    lp_divergence_pnl_usd_value: usd(figures.divergenceE6),
    realized_usd_value: usd(figures.realizedE6),
    unrealized_usd_value: usd(figures.unrealizedE6),
  }
}

function usd(unitsE6: bigint): string {
  return formatFixed(unitsE6, { scale: 6, digits: 6 })
}

function percentage({ numerator, denominator }: Rational): string {
  return formatRational({ numerator: numerator * 100n, denominator }, { digits: 4 })
}
