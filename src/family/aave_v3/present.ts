import { getAddress } from 'viem'
import {
  borrowUtilization,
  currentLtv,
  dailyInterest,
  netApy,
  positionLeverage,
  weightedApy,
} from '../../finance/lending.ts'
import { RAY } from '../../finance/rate.ts'
import { WAD } from '../../lib/number/fixed_point.ts'
import { parseRational, rational } from '../../lib/number/rational.ts'
import { healthFactorText, percentageText, ratioText, usdText } from '../figure.ts'
import { borrowsOf, safeBorrow, safeWithdraw, suppliesOf, totalsOf, yieldLegs } from './math.ts'
import type { Position, WalletPositions } from './position.ts'

/** A wallet's positions on a chain and the figures of each. `target` is a health factor in decimal digits. */
export function presentWallet({ chainId, wallet, positions }: WalletPositions, target: string) {
  return {
    chain_id: chainId,
    wallet: getAddress(wallet),
    positions: positions.map(presentPosition),
    calculations: positions.map((position) => presentCalculations(position, target)),
  }
}

/** The same, with only the figures that the batch answers. */
export function presentReduced({ chainId, wallet, positions }: WalletPositions, target: string) {
  return {
    chain_id: chainId,
    wallet: getAddress(wallet),
    positions: positions.map((position) => ({
      marketId: position.market,
      healthFactor: healthFactorOf(position),
      netWorthUSD: netWorthText(position),
    })),
    calculations: positions.map((position) => ({
      healthFactor: healthFactorOf(position),
      netAPY: ratioText(netApy(totalsOf(position), yieldLegs(position))),
      targetHealthFactor: Number(target),
    })),
  }
}

function presentPosition(position: Position) {
  const { data, unit, market } = position
  return {
    marketId: market,
    healthFactor: healthFactorOf(position),
    totalCollateralUSD: usdText(rational(data.totalCollateral, unit)),
    totalDebtUSD: usdText(rational(data.totalDebt, unit)),
    netWorthUSD: netWorthText(position),
    suppliedAssets: suppliesOf(position).map(({ asset, value, apyRay }) => ({
      symbol: asset.reserve.symbol,
      amountSuppliedUSD: usdText(rational(value, unit)),
      supplyAPY: apyText(apyRay),
      isCollateral: asset.isCollateral,
    })),
    borrowedAssets: borrowsOf(position).map(({ asset, value, apyRay }) => ({
      symbol: asset.reserve.symbol,
      amountBorrowedUSD: usdText(rational(value, unit)),
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
    healthFactor: healthFactorOf(position),
    dailySupplyInterestUSD: usdText(interest.dailySupplyUsd),
    dailyBorrowInterestUSD: usdText(interest.dailyBorrowUsd),
    netDailyInterestUSD: usdText(interest.dailyNetUsd),
    safeBorrowAmountUSD: usdText(safeBorrow(position, target)),
    safeWithdrawAmountUSD: usdText(safeWithdraw(position, target)),
    currentLtvPercentage: percentageText(ltv),
    netAPY: ratioText(netApy(totals, legs)),
    positionLeverage: ratioText(positionLeverage(totals)),
    weightedSupplyAPY: ratioText(weightedApy(legs.supplies)),
    weightedBorrowAPY: ratioText(weightedApy(legs.borrows)),
    borrowUtilizationRate: ratioText(borrowUtilization(totals)),
  }
}

/** The pool's own health factor. */
function healthFactorOf({ data }: Position): string {
  return healthFactorText(data.totalDebt === 0n ? 'max' : rational(data.healthFactorWad, WAD))
}

function netWorthText(position: Position): string {
  const { supplied, debt, perUsd } = totalsOf(position)
  return usdText(rational(supplied - debt, perUsd))
}

function apyText(apyRay: bigint): string {
  return ratioText(rational(apyRay, RAY))
}
