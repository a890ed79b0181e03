import { checksumAddress } from 'viem'
import { formatApy, formatRatio, formatUsd } from '../../../finance/figure.ts'
import { memoize } from '../../../lib/memoize.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { rational } from '../../../lib/number/rational.ts'
import { presentDue } from '../../lending/due.ts'
import { createMarketPresenter } from '../../lending/market_present.ts'
import { createWatchedLending, EMPTY_LENDING } from '../../lending/watched.ts'
import { presentWithdrawal } from '../../lending/withdrawal.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import {
  computeBorrows,
  computeSupplies,
  computeTotals,
  getHealthFactor,
  getLiquidationThreshold,
  type Leg,
  yieldLegs,
} from '../math/account.ts'
import { createMemo, NO_LEGS } from '../math/forecast.ts'
import { findLiquidationReasons } from '../math/rule.ts'
import { safeBorrow, safeWithdraw } from '../math/safe.ts'
import { computeWithdrawable } from '../math/withdrawal.ts'
import type { NamedReserve, Position, WalletPositions } from '../read/position.ts'
import type { PresentedPosition } from './schema.ts'

/** Options for presenting a wallet's positions; `target` is a health factor in decimal digits. */
interface PresentOptions {
  readonly target: string
  /** True to add the breakdown by asset. */
  readonly full?: boolean
}

/** Values a position, with its yields. */
export const toLending = memoize((position: Position) => ({ totals: computeTotals(position), ...yieldLegs(position) }))

const PRESENTER = createMarketPresenter<Position>({ toLending, getHealthFactor, safeBorrow, safeWithdraw })

/** Presenters of a position for a snapshot, in the format of the list, and of a wallet for the batch. */
export const { toSnapshotFigures, presentReduced } = PRESENTER

/** A wallet's positions on a chain and the figures of each. */
export function presentWallet(wallet: WalletPositions, { target, full = false }: PresentOptions) {
  return PRESENTER.presentWallet(wallet, {
    target,
    present(position) {
      const presented = presentPosition(position)
      return full ? withBreakdown(presented, position) : presented
    },
  })
}

/** Positions of one block serve many answers, which differ only by the target. */
const presentPosition = memoize((position: Position): PresentedPosition => {
  const { unit, market } = position
  const { healthFactor, collateralUsd, debtUsd, netWorthUsd } = toSnapshotFigures(position)
  return {
    marketId: market,
    healthFactor,
    ...presentDue({ liquidatableBecause: findLiquidationReasons(position), dueAtSec: undefined }),
    totalCollateralUSD: collateralUsd,
    totalDebtUSD: debtUsd,
    netWorthUSD: netWorthUsd,
    suppliedAssets: computeSupplies(position).map(({ asset, value, apyRay }) => ({
      symbol: asset.reserve.symbol,
      amountSuppliedUSD: formatUsd(rational(value, unit)),
      supplyAPY: formatApy(apyRay),
      isCollateral: asset.isCollateral,
    })),
    borrowedAssets: computeBorrows(position).map(({ asset, value, apyRay }) => ({
      symbol: asset.reserve.symbol,
      amountBorrowedUSD: formatUsd(rational(value, unit)),
      borrowAPY: formatApy(apyRay),
    })),
  }
})

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
function withBreakdown(presented: PresentedPosition, position: Position): PresentedPosition {
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

/** The confirmed figures of a position, for triggers. */
export function toConfirmedFigures(position: Position): ConfirmedFigures {
  return createWatchedLending(
    {
      healthFactor: getHealthFactor(position),
      totals: computeTotals(position),
      isLiquidatable: findLiquidationReasons(position).length > 0,
      dueInSec: 'max',
    },
    createMemo(position),
  )
}

/** Confirmed figures of a wallet without a position in a market. */
export const EMPTY_CONFIRMED = createWatchedLending(EMPTY_LENDING, NO_LEGS)
