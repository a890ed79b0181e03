import { checksumAddress } from 'viem'
import { healthFactorText, ratioText, usdText } from '../../../finance/figure.ts'
import { presentCalculated } from '../../../finance/lending/calculations.ts'
import { RAY } from '../../../finance/math/rate.ts'
import { WAD } from '../../../lib/number/fixed_point.ts'
import { parseRational, rational } from '../../../lib/number/rational.ts'
import { onceEach } from '../../../lib/once_each.ts'
import { borrowsOf, safeBorrow, safeWithdraw, suppliesOf, totalsOf, yieldLegs } from '../math/account.ts'
import type { Position, WalletPositions } from '../read/position.ts'
import { withParts } from './parts.ts'
import type { PresentedPosition } from './schema.ts'

/** How a wallet's positions are shown: `target` is a health factor in decimal digits. */
interface Shown {
  readonly target: string
  /** With what each asset counts for. */
  readonly full?: boolean
}

/** A wallet's positions on a chain and the figures of each. */
export function presentWallet({ chainId, wallet, positions }: WalletPositions, { target, full = false }: Shown) {
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    positions: positions.map((position) => {
      const shown = presentPosition(position)
      return full ? withParts(shown, position) : shown
    }),
    calculations: positions.map((position) => presentCalculations(position, target)),
  }
}

/** The same, with only the figures that the batch answers. */
export function presentReduced({ chainId, wallet, positions }: WalletPositions, target: string) {
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    positions: positions.map((position) => {
      const { healthFactor, netWorthUsd } = figuresOf(position)
      return { marketId: position.market, healthFactor, netWorthUSD: netWorthUsd }
    }),
    calculations: positions.map((position) => ({
      healthFactor: figuresOf(position).healthFactor,
      netAPY: presentCommon(position).ratios.netAPY,
      targetHealthFactor: Number(target),
    })),
  }
}

/** What a snapshot says of a position, in the words of the list. The health factor is the pool's own. */
export const figuresOf = onceEach((position: Position) => {
  const { data, unit } = position
  const { supplied, debt, perUsd } = totalsOf(position)
  return {
    collateralUsd: usdText(rational(data.totalCollateral, unit)),
    debtUsd: usdText(rational(data.totalDebt, unit)),
    netWorthUsd: usdText(rational(supplied - debt, perUsd)),
    healthFactor: healthFactorText(data.totalDebt === 0n ? 'max' : rational(data.healthFactorWad, WAD)),
  }
})

/** Positions of one block serve many answers, which differ only by the target. */
const presentPosition = onceEach((position: Position): PresentedPosition => {
  const { unit, market } = position
  const { healthFactor, collateralUsd, debtUsd, netWorthUsd } = figuresOf(position)
  return {
    marketId: market,
    healthFactor,
    totalCollateralUSD: collateralUsd,
    totalDebtUSD: debtUsd,
    netWorthUSD: netWorthUsd,
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
})

function presentCalculations(position: Position, targetText: string) {
  const target = parseRational(targetText)
  if (target === undefined) throw new RangeError('Cannot use a target health factor that is not a decimal number')
  const { interest, ratios } = presentCommon(position)
  return {
    targetHealthFactor: Number(targetText),
    healthFactor: figuresOf(position).healthFactor,
    ...interest,
    safeBorrowAmountUSD: usdText(safeBorrow(position, target)),
    safeWithdrawAmountUSD: usdText(safeWithdraw(position, target)),
    ...ratios,
  }
}

/** What does not depend on the target. */
const presentCommon = onceEach((position: Position) =>
  presentCalculated({ totals: totalsOf(position), ...yieldLegs(position) }),
)

function apyText(apyRay: bigint): string {
  return ratioText(rational(apyRay, RAY))
}
