import { divHalfAwayFromZero, pow10 } from '../../../lib/number/fixed_point.ts'
import {
  addRational,
  multiplyRational,
  ONE,
  type Rational,
  rational,
  subtractRational,
  ZERO,
} from '../../../lib/number/rational.ts'
import { SECONDS_PER_YEAR } from '../rate.ts'
import { addAmounts, isZero, type Pair, type Prices } from './flow.ts'
import { advanceTo, type PnlLedger, releasePending, worth, worthOfFractions } from './replay.ts'

const DAY_SEC = 86_400n

/** A position at the time of its figures. */
export interface Valuation {
  readonly timeSec: bigint
  /** Prices at that time; those of the last collect once nothing is left. */
  readonly prices: Prices
  /** Amounts that withdrawing all liquidity would pay, raw units. */
  readonly principal: Pair<bigint>
  /** Fees that collecting would pay, raw units, without withdrawn principal. */
  readonly fees: Pair<bigint>
}

/**
 * Profit and loss of a position. US dollars are millionths: the first values are rounded, half away from zero, and the
 * others are their sums, so that sums hold on what is shown. Ratios are exact, 1 for 100 %, and 0 without a denominator.
 * Negative is worse for the owner.
 *
 * @proof test/unit/finance/math/pnl/worked_test.ts, test/unit/finance/math/pnl/random_test.ts, test/contract/family/uniswap_v3/pnl/lives_test.ts
 */
export interface PnlFigures {
  /** Realized + unrealized. @figure pnl_usd_value */
  readonly pnlE6: bigint
  /** Profit and loss ÷ time-weighted average capital. @figure pnl_percentage */
  readonly pnlRatio: Rational
  /**
   * Σ (cost of what the position held × seconds that it held it) ÷ seconds of its life; all deposits if no time
   * passed. Cost is what was deposited, at the prices of its blocks, less its share in every withdrawal.
   * @figure time_weighted_average_capital
   */
  readonly averageCapitalE6: bigint
  /**
   * Fees, collected or not ÷ time-weighted average capital × 365 days ÷ the seconds in which the position held something;
   * undefined below a day, whose rate would be chance.
   * @figure fee_apr
   */
  readonly feeApr: Rational | undefined
  /** All tokens that were ever deposited, at the prices of now. @figure hodl_gross_benchmark_usd_value */
  readonly hodlGrossE6: bigint
  /**
   * Profit and loss − (HODL benchmark − deposits at the prices of their blocks).
   * @figure alpha_vs_hodl_gross_usd_value
   */
  readonly alphaE6: bigint
  /** Alpha ÷ HODL benchmark. @figure alpha_vs_hodl_gross_percentage */
  readonly alphaRatio: Rational
  /** Profit and loss − market profit and loss: the same as LP divergence. @figure net_impermanent_loss */
  readonly netImpermanentLossE6: bigint
  /** Net impermanent loss ÷ worth of the twin. @figure net_impermanent_loss_percentage */
  readonly netImpermanentLossRatio: Rational
  /** Net impermanent loss − fees, collected or not. @figure pure_impermanent_loss */
  readonly pureImpermanentLossE6: bigint
  /** Pure impermanent loss ÷ worth of the twin. @figure pure_impermanent_loss_percentage */
  readonly pureImpermanentLossRatio: Rational
  /**
   * Worth of the twin − deposits. The twin holds the tokens of every deposit and sells the same share of them with
   * every withdrawal.
   * @figure market_pnl_usd_value
   */
  readonly marketE6: bigint
  /** Profit and loss − market profit and loss. @figure lp_divergence_pnl_usd_value */
  readonly divergenceE6: bigint
  /**
   * Withdrawals + collected fees − the cost of what was withdrawn, each at the prices of its block.
   * @figure realized_usd_value
   */
  readonly realizedE6: bigint
  /** Principal + uncollected fees, at the prices of now, − the cost of what is left. @figure unrealized_usd_value */
  readonly unrealizedE6: bigint
}

/** Figures of a position by its history and its holding. Throws `RangeError` for a time before the last flow. */
export function pnlFigures(history: PnlLedger, holding: Valuation): PnlFigures {
  const { prices, principal, fees } = holding
  const ledger = settle(advanceTo(history, holding.timeSec), holding)
  const cost = addRational(ledger.cost, ledger.pendingCost)
  const value = worth(addAmounts(principal, ledger.pending), prices)
  const feesLeft = worth(fees, prices)
  const exact = {
    deposited: ledger.deposited,
    realized: subtractRational(addRational(ledger.withdrawn, ledger.feesCollected), ledger.released),
    unrealized: subtractRational(addRational(value, feesLeft), cost),
    fees: addRational(ledger.feesCollected, feesLeft),
    hodlGross: worth(ledger.deposits, prices),
    twin: addRational(
      ledger.twinSold,
      addRational(worthOfFractions(ledger.twin, prices), worthOfFractions(ledger.pendingTwin, prices)),
    ),
  }
  const averageCapital =
    ledger.activeSec === 0n ? ledger.deposited : multiplyRational(ledger.costSeconds, rational(1n, ledger.activeSec))
  // The average capital times the seconds in which it was held is the same sum, which has no gap to be told apart.
  const feeApr =
    ledger.activeSec < DAY_SEC
      ? undefined
      : multiplyRational(ratio(exact.fees, ledger.costSeconds), rational(SECONDS_PER_YEAR, 1n))
  return { ...sums(exact, averageCapital), ...ratios(exact, averageCapital), feeApr }
}

/** Releases pending cost when nothing is left: a withdrawal that paid nothing is never collected. */
function settle(ledger: PnlLedger, { principal, fees, prices }: Valuation): PnlLedger {
  const isOver = ledger.liquidity === 0n && [principal, fees, ledger.pending].every(isZero)
  return isOver ? releasePending(ledger, ONE, prices) : ledger
}

interface Exact {
  readonly deposited: Rational
  readonly realized: Rational
  readonly unrealized: Rational
  readonly fees: Rational
  readonly hodlGross: Rational
  readonly twin: Rational
}

function sums(exact: Exact, averageCapital: Rational) {
  const [realizedE6, unrealizedE6] = [e6(exact.realized), e6(exact.unrealized)]
  const [hodlGrossE6, depositedE6] = [e6(exact.hodlGross), e6(exact.deposited)]
  const pnlE6 = realizedE6 + unrealizedE6
  // Both benchmarks start from the same rounded deposits: without withdrawals they are equal to the last digit.
  const marketE6 = e6(exact.twin) - depositedE6
  const divergenceE6 = pnlE6 - marketE6
  return {
    pnlE6,
    realizedE6,
    unrealizedE6,
    hodlGrossE6,
    marketE6,
    divergenceE6,
    averageCapitalE6: e6(averageCapital),
    alphaE6: pnlE6 - (hodlGrossE6 - depositedE6),
    netImpermanentLossE6: divergenceE6,
    pureImpermanentLossE6: divergenceE6 - e6(exact.fees),
  }
}

function ratios(exact: Exact, averageCapital: Rational) {
  const pnl = addRational(exact.realized, exact.unrealized)
  const alpha = subtractRational(addRational(pnl, exact.deposited), exact.hodlGross)
  const net = subtractRational(addRational(pnl, exact.deposited), exact.twin)
  return {
    pnlRatio: ratio(pnl, averageCapital),
    alphaRatio: ratio(alpha, exact.hodlGross),
    netImpermanentLossRatio: ratio(net, exact.twin),
    pureImpermanentLossRatio: ratio(subtractRational(net, exact.fees), exact.twin),
  }
}

function ratio(part: Rational, whole: Rational): Rational {
  if (whole.numerator <= 0n) return ZERO
  return rational(part.numerator * whole.denominator, part.denominator * whole.numerator)
}

function e6({ numerator, denominator }: Rational): bigint {
  return divHalfAwayFromZero(numerator * pow10(6), denominator)
}
