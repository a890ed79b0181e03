import { checksumAddress } from 'viem'
import { formatRatio, formatUsd } from '../../../finance/figure.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { rational } from '../../../lib/number/rational.ts'
import { presentWithdrawal } from '../../lending/withdrawal.ts'
import { computeBorrows, computeSupplies, computeTotals, getLiquidationThreshold, type Leg } from '../math/account.ts'
import { computeWithdrawable } from '../math/withdrawal.ts'
import type { NamedReserve, Position } from '../read/position.ts'
import type { PresentedPosition } from './schema.ts'

const BPS = 10_000n

/**
 * A position with the inputs of its health factor, so that a caller can recompute it, also after a further action: the
 * amount supplied or owed now of each asset, ÷ 10^decimals of the token, and its price by the market's oracle for this
 * wallet; and the debt up to which the pool lends.
 *
 * @figure aave-v3/amount, aave-v3/priceUSD, borrowLimitUSD
 * @source Aave V3 `balanceOf` of aToken and debt token; `AaveOracle.getAssetPrice`; `Pool.getUserAccountData`,
 *   totalDebtBase + availableBorrowsBase
 * @proof test/contract/family/aave_v3/parts_test.ts
 */
export function withBreakdown(presented: PresentedPosition, position: Position): PresentedPosition {
  return {
    ...presented,
    borrowLimitUSD: formatBorrowLimit(position),
    suppliedAssets: zip(presented.suppliedAssets, computeSupplies(position)).map(([asset, leg]) => ({
      ...asset,
      ...toTokenFields(leg, position),
      ...presentWithdrawal({
        amount: leg.amount,
        decimals: leg.asset.reserve.decimals,
        withdrawable: computeWithdrawable(position, leg.asset),
        value: rational(leg.value, position.unit),
      }),
      liquidationThreshold: formatRatio(rational(getLiquidationThreshold(leg.asset.reserve, position), BPS)),
    })),
    borrowedAssets: zip(presented.borrowedAssets, computeBorrows(position)).map(([asset, leg]) => ({
      ...asset,
      ...toTokenFields(leg, position),
    })),
  }
}

function formatBorrowLimit(position: Position): string {
  const { borrowLimit, perUsd } = computeTotals(position)
  return formatUsd(rational(borrowLimit, perUsd))
}

function toTokenFields({ asset: { reserve, price }, amount }: Leg<NamedReserve>, { unit }: Position) {
  return {
    address: checksumAddress(reserve.asset),
    amount: formatExact(amount, reserve.decimals),
    priceUSD: formatUsd(rational(price, unit)),
  }
}

function zip<A, B>(left: readonly A[], right: readonly B[]): (readonly [A, B])[] {
  return left.flatMap((each, index) => {
    const other = right[index]
    return other === undefined ? [] : [[each, other] as const]
  })
}
