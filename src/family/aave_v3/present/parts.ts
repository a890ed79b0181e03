import { checksumAddress } from 'viem'
import { formatRatio, formatUsd } from '../../../finance/figure.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { rational } from '../../../lib/number/rational.ts'
import { computeBorrows, computeSupplies, computeTotals, getLiquidationThreshold, type Leg } from '../math/account.ts'
import type { NamedReserve, Position } from '../read/position.ts'
import type { PresentedPosition } from './schema.ts'

const BPS = 10_000n

/**
 * A position with what its health factor is made of, so that anybody can count it again, and what it would be after
 * another step: of each asset what is supplied or owed now, ÷ 10^decimals of the token, and the price that the market's
 * oracle gives for this wallet; and the debt up to which the pool lends.
 *
 * @figure aave-v3/amount, aave-v3/priceUSD, borrowLimitUSD
 * @source Aave V3 `balanceOf` of aToken and debt token; `AaveOracle.getAssetPrice`; `Pool.getUserAccountData`,
 *   totalDebtBase + availableBorrowsBase
 * @proof test/family/aave_v3/parts_test.ts
 */
export function withBreakdown(shown: PresentedPosition, position: Position): PresentedPosition {
  return {
    ...shown,
    borrowLimitUSD: borrowLimitText(position),
    suppliedAssets: pairs(shown.suppliedAssets, computeSupplies(position)).map(([asset, leg]) => ({
      ...asset,
      ...tokensOf(leg, position),
      liquidationThreshold: formatRatio(rational(getLiquidationThreshold(leg.asset.reserve, position), BPS)),
    })),
    borrowedAssets: pairs(shown.borrowedAssets, computeBorrows(position)).map(([asset, leg]) => ({
      ...asset,
      ...tokensOf(leg, position),
    })),
  }
}

function borrowLimitText(position: Position): string {
  const { borrowLimit, perUsd } = computeTotals(position)
  return formatUsd(rational(borrowLimit, perUsd))
}

function tokensOf({ asset: { reserve, price }, amount }: Leg<NamedReserve>, { unit }: Position) {
  return {
    address: checksumAddress(reserve.asset),
    amount: formatExact(amount, reserve.decimals),
    priceUSD: formatUsd(rational(price, unit)),
  }
}

function pairs<A, B>(these: readonly A[], those: readonly B[]): (readonly [A, B])[] {
  return these.flatMap((each, index) => {
    const other = those[index]
    return other === undefined ? [] : [[each, other] as const]
  })
}
