import { checksumAddress } from 'viem'
import { formatApy, formatHealthFactor, formatRatio, formatUsd } from '../../../finance/figure.ts'
import { RAY } from '../../../finance/math/rate.ts'
import { toToken } from '../../../finance/token/token.ts'
import { memoize } from '../../../lib/memoize.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { UINT256_MAX, WAD } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import { presentDue } from '../../lending/due.ts'
import { createMarketPresenter } from '../../lending/market_present.ts'
import { createWatchedLending } from '../../lending/watched.ts'
import { presentWithdrawal } from '../../lending/withdrawal.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import {
  type Asset,
  computeBaseApy,
  computeBorrowApy,
  computeDebtValueRay,
  computeLiquidationBonus,
  computeNextHealthFactor,
  computeNextPremium,
  computePosition,
  computeSupplyApy,
  findLiquidationReasons,
  getFactor,
  getHealthFactor,
  isKnownRevision,
  isOutdated,
  isOwed,
  PER_USD,
  toValue,
} from '../math/account.ts'
import { computeWithdrawable, safeBorrow, safeWithdraw } from '../math/withdrawal.ts'
import type { Position, WalletPositions } from '../read/position.ts'
import { HUB_NAMES } from '../table.ts'
import type { PresentedPosition } from './schema.ts'

const BPS = 10_000n

/** Values a position, with its yields. */
export const toLending = memoize((position: Position) => computePosition(position))

const PRESENTER = createMarketPresenter<Position>({ toLending, getHealthFactor, safeBorrow, safeWithdraw })

/** Presents a wallet for the batch, and a position for a snapshot. */
export const { presentReduced, toSnapshotFigures } = PRESENTER

/** A wallet's positions on a chain and the figures of each; `target` is a health factor in decimal digits. */
export function presentWallet(wallet: WalletPositions, { target }: { readonly target: string }) {
  return PRESENTER.presentWallet(wallet, { target, present: presentPosition })
}

/** Positions of one block serve many answers, which differ only by the target. */
const presentPosition = memoize((position: Position): PresentedPosition => {
  const { market, assets, riskPremiumBps, terms } = position
  const { healthFactor, collateralUsd, debtUsd, netWorthUsd } = toSnapshotFigures(position)
  const next = isKnownRevision(position)
    ? { premium: computeNextPremium(position), health: computeNextHealthFactor(position) }
    : {}
  const restored = terms.liquidation?.targetHealthFactorWad
  return {
    marketId: market,
    healthFactor,
    ...presentDue({ liquidatableBecause: findLiquidationReasons(position), dueAtSec: undefined }),
    totalCollateralUSD: collateralUsd,
    totalDebtUSD: debtUsd,
    netWorthUSD: netWorthUsd,
    suppliedAssets: assets.filter(({ supplied }) => supplied > 0n).map((asset) => presentSupply(asset, position)),
    borrowedAssets: assets.filter(isOwed).map(presentDebt),
    riskPremium: formatBps(riskPremiumBps),
    riskPremiumAfterRefresh: next.premium === undefined ? null : formatBps(next.premium),
    configOutdated: isOutdated(position),
    healthFactorAfterRefresh: next.health === undefined ? null : formatHealth(next.health),
    targetHealthFactor: restored === undefined ? null : formatHealth(restored),
  }
})

function presentSupply(asset: Asset, position: Position): PresentedPosition['suppliedAssets'][number] {
  const { supplied, reserve, own } = asset
  const value = rational(toValue(supplied, reserve) * RAY, PER_USD)
  const isCollateral = getFactor(asset, 'own') > 0n
  const { healthFactorWad } = position.data
  const bonus = isCollateral
    ? computeLiquidationBonus(own, { healthFactorWad, terms: position.terms.liquidation })
    : undefined
  return {
    ...presentReserve(asset, supplied),
    amountSuppliedUSD: formatUsd(value),
    supplyAPY: formatApy(computeSupplyApy(reserve)),
    isCollateral,
    ...presentWithdrawal({
      amount: supplied,
      decimals: reserve.decimals,
      withdrawable: computeWithdrawable(position, asset),
      value,
    }),
    liquidationBonus: bonus === undefined ? null : formatBps(bonus - BPS),
  }
}

function presentDebt(asset: Asset): PresentedPosition['borrowedAssets'][number] {
  const { drawn, premium, reserve } = asset
  return {
    ...presentReserve(asset, drawn + premium),
    amountBorrowedUSD: formatUsd(rational(computeDebtValueRay(asset), PER_USD)),
    borrowAPY: formatApy(computeBorrowApy(asset)),
    drawn: formatExact(drawn, reserve.decimals),
    premium: formatExact(premium, reserve.decimals),
    baseBorrowAPY: formatApy(computeBaseApy(reserve)),
  }
}

/**
 * Names what a row is of; answers show amounts ÷ 10^decimals of the token, as the spoke returns them.
 *
 * @figure aave-v4/amount, aave-v4/drawn, aave-v4/premium
 * @source Aave V4 `Spoke.getUserSuppliedAssets`, `getUserDebt`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
function presentReserve({ reserve: { id, hub, token, decimals } }: Asset, amount: bigint) {
  return {
    symbol: toToken(token).symbol,
    address: checksumAddress(token.address),
    reserveId: id,
    hub: HUB_NAMES.get(hub) ?? hub,
    amount: formatExact(amount, decimals),
  }
}

function formatBps(bps: bigint): string {
  return formatRatio(rational(bps, BPS))
}

function formatHealth(healthFactorWad: bigint): string {
  return formatHealthFactor(healthFactorWad === UINT256_MAX ? 'max' : rational(healthFactorWad, WAD))
}

/** The confirmed figures of a position, for triggers. */
export function toConfirmedFigures(position: Position): ConfirmedFigures {
  return createWatchedLending({
    healthFactor: getHealthFactor(position),
    totals: toLending(position).totals,
    isLiquidatable: findLiquidationReasons(position).length > 0,
    dueInSec: 'max',
  })
}
