import { getAddress } from 'viem'
import {
  type BoundlessRatio,
  borrowUtilization,
  currentLtv,
  dailyInterest,
  netApy,
  positionLeverage,
  weightedApy,
} from '../../finance/lending.ts'
import type { Rounding } from '../../lib/decimal.ts'
import { pow10 } from '../../lib/fixed_point.ts'
import { formatRational, parseRational, type Rational, rational } from '../../lib/rational.ts'
import { borrowsOf, safeBorrow, safeWithdraw, suppliesOf, totalsOf, yieldLegs } from './math.ts'
import type { Position, WalletPositions } from './position.ts'

const WAD = pow10(18)
const RAY_DIGITS = 27
const USD_DIGITS = 6
const RATIO_DIGITS = 8
const PERCENTAGE_DIGITS = 4
const HEALTH_FACTOR_DIGITS = 4

/** A wallet on a chain as the specification has it, 2.4. `target` is a health factor in decimal digits. */
export function presentWallet({ chainId, wallet, positions }: WalletPositions, target: string) {
  return {
    chain_id: chainId,
    wallet: getAddress(wallet),
    positions: positions.map(presentPosition),
    calculations: positions.map((position) => presentCalculations(position, target)),
  }
}

/** The same, reduced as the batch route has it. */
export function presentReduced({ chainId, wallet, positions }: WalletPositions, target: string) {
  return {
    chain_id: chainId,
    wallet: getAddress(wallet),
    positions: positions.map((position) => ({
      marketId: position.market,
      healthFactor: healthFactorText(position),
      netWorthUSD: netWorthText(position),
    })),
    calculations: positions.map((position) => ({
      healthFactor: healthFactorText(position),
      netAPY: ratio(netApy(totalsOf(position), yieldLegs(position))),
      targetHealthFactor: Number(target),
    })),
  }
}

function presentPosition(position: Position) {
  const { data, unit, market } = position
  return {
    marketId: market,
    healthFactor: healthFactorText(position),
    totalCollateralUSD: usd(rational(data.totalCollateral, unit)),
    totalDebtUSD: usd(rational(data.totalDebt, unit)),
    netWorthUSD: netWorthText(position),
    suppliedAssets: suppliesOf(position).map(({ asset, value, apyRay }) => ({
      symbol: asset.reserve.symbol,
      amountSuppliedUSD: usd(rational(value, unit)),
      supplyAPY: apyText(apyRay),
      isCollateral: asset.isCollateral,
    })),
    borrowedAssets: borrowsOf(position).map(({ asset, value, apyRay }) => ({
      symbol: asset.reserve.symbol,
      amountBorrowedUSD: usd(rational(value, unit)),
      borrowAPY: apyText(apyRay),
    })),
  }
}

function presentCalculations(position: Position, targetText: string) {
  const target = parseRational(targetText)
  if (target === undefined) throw new RangeError('Cannot use a target health factor that is no decimal number')
  const totals = totalsOf(position)
  const legs = yieldLegs(position)
  const interest = dailyInterest(totals, legs)
  const ltv = currentLtv(totals)
  return {
    targetHealthFactor: Number(targetText),
    healthFactor: healthFactorText(position),
    dailySupplyInterestUSD: usd(interest.dailySupplyUsd),
    dailyBorrowInterestUSD: usd(interest.dailyBorrowUsd),
    netDailyInterestUSD: usd(interest.dailyNetUsd),
    safeBorrowAmountUSD: usd(safeBorrow(position, target)),
    safeWithdrawAmountUSD: usd(safeWithdraw(position, target)),
    currentLtvPercentage: formatRational(rational(ltv.numerator * 100n, ltv.denominator), {
      digits: PERCENTAGE_DIGITS,
    }),
    netAPY: ratio(netApy(totals, legs)),
    positionLeverage: ratio(positionLeverage(totals)),
    weightedSupplyAPY: ratio(weightedApy(legs.supplies)),
    weightedBorrowAPY: ratio(weightedApy(legs.borrows)),
    borrowUtilizationRate: ratio(borrowUtilization(totals)),
  }
}

/** The pool's own health factor, never overstated. */
function healthFactorText({ data }: Position): string {
  if (data.totalDebt === 0n) return 'MAX'
  const value = rational(data.healthFactorWad, WAD)
  return formatRational(value, { digits: HEALTH_FACTOR_DIGITS, rounding: 'toward_zero' satisfies Rounding })
}

function netWorthText(position: Position): string {
  const { supplied, debt, perUsd } = totalsOf(position)
  return usd(rational(supplied - debt, perUsd))
}

function usd(value: Rational): string {
  return formatRational(value, { digits: USD_DIGITS })
}

function ratio(value: BoundlessRatio): string {
  return value === 'max' ? 'MAX' : formatRational(value, { digits: RATIO_DIGITS })
}

function apyText(apyRay: bigint): string {
  return ratio(rational(apyRay, pow10(RAY_DIGITS)))
}
