import { checksumAddress } from 'viem'
import { formatApy, formatHealthFactor, formatUsd } from '../../../finance/figure.ts'
import type { LendingPosition } from '../../../finance/math/lending.ts'
import { memoize } from '../../../lib/memoize.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../../lib/number/rational.ts'
import { presentCalculations, presentReducedCalculations, presentTotals } from '../../lending/calculations.ts'
import { presentDue } from '../../lending/due.ts'
import type { SnapshotFigures } from '../../lending/series.ts'
import { createWatchedLending } from '../../lending/watched.ts'
import { presentWithdrawal } from '../../lending/withdrawal.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import {
  type AccountToken,
  computeHealthFactor,
  findLiquidationReasons,
  type Reward,
  valueAccount,
} from '../math/account.ts'
import { toApyRay } from '../math/market.ts'
import { computeWithdrawableBase, computeWithdrawableCollateral, safeBorrow, safeWithdraw } from '../math/withdrawal.ts'
import type { Position, WalletPositions } from '../read/position.ts'
import type { PresentedPosition } from './schema.ts'

/** Positions of one block serve many answers, which differ only by the target. */
const toFigures = memoize((position: Position) => {
  const health = computeHealthFactor(position)
  const value = valueAccount(position)
  return {
    health,
    healthFactor: health === undefined ? null : formatHealthFactor(health),
    lending: typeof value === 'string' ? undefined : value,
    reason: typeof value === 'string' ? `Cannot value the position because ${value}` : null,
  }
})

/** A wallet's positions on a chain and the figures of each; `target` is a health factor in decimal digits. */
export function presentWallet(
  { chainId, wallet, positions }: WalletPositions,
  { target }: { readonly target: string },
) {
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    positions: positions.map(presentPosition),
    calculations: positions.map((position) => {
      const figures = presentIfValued(position, (lending, healthFactor) =>
        presentCalculations(lending, {
          target,
          healthFactor,
          safeBorrow: (aim) => safeBorrow(position, lending, aim),
          safeWithdraw: (aim) => safeWithdraw(position, lending, aim),
        }),
      )
      return figures ?? null
    }),
  }
}

/** The same with only the figures of the batch. */
export function presentReduced({ chainId, wallet, positions }: WalletPositions, target: string) {
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    positions: positions.map((position) => {
      const { healthFactor, lending } = toFigures(position)
      const netWorthUSD = lending === undefined ? null : presentTotals(lending.totals).netWorthUSD
      return { marketId: position.market, healthFactor, netWorthUSD }
    }),
    calculations: positions.map((position) => {
      const figures = presentIfValued(position, (lending, healthFactor) =>
        presentReducedCalculations(lending, { target, healthFactor }),
      )
      return figures ?? null
    }),
  }
}

function presentIfValued<T>(
  position: Position,
  present: (lending: LendingPosition, healthFactor: string) => T,
): T | undefined {
  const { lending, healthFactor } = toFigures(position)
  return lending === undefined || healthFactor === null ? undefined : present(lending, healthFactor)
}

const presentPosition = memoize((position: Position): PresentedPosition => {
  const { market, base, terms, supplied, owed, collaterals } = position
  const { healthFactor, lending, reason } = toFigures(position)
  const lent = {
    ...presentAmount(base, supplied),
    supplyAPY: formatApy(toApyRay(terms.supplyRateWad)),
    isCollateral: false,
    withdrawable: computeWithdrawableBase(position),
  }
  const secured = collaterals.map((each) => ({
    ...presentAmount(each.token, each.amount),
    supplyAPY: formatApy(0n),
    isCollateral: true,
    withdrawable: computeWithdrawableCollateral(position, each),
  }))
  const { worth, ...debt } = presentAmount(base, owed)
  return {
    marketId: market,
    healthFactor,
    ...presentDue({ liquidatableBecause: findLiquidationReasons(position), dueAtSec: undefined }),
    ...(lending === undefined
      ? { totalCollateralUSD: null, totalDebtUSD: null, netWorthUSD: null }
      : presentTotals(lending.totals)),
    suppliedAssets: [...(supplied === 0n ? [] : [lent]), ...secured].map(
      ({ worth: value, units, decimals, withdrawable, ...row }) => ({
        ...row,
        amountSuppliedUSD: formatWorth(value),
        ...presentWithdrawal({ amount: units, decimals, withdrawable, value }),
      }),
    ),
    borrowedAssets:
      owed === 0n
        ? []
        : [
            {
              symbol: debt.symbol,
              address: debt.address,
              amount: debt.amount,
              amountBorrowedUSD: formatWorth(worth),
              borrowAPY: formatApy(toApyRay(terms.borrowRateWad)),
            },
          ],
    rewards: presentRewards(position.reward),
    reason,
  }
})

function presentRewards(reward: Position['reward']): PresentedPosition['rewards'] {
  if (reward === undefined || reward === 'unknown') return reward === undefined ? [] : null
  const { amount: raw, token }: Reward = reward
  const { symbol, address, amount, worth } = presentAmount(token, raw)
  return [{ token: { address, symbol }, raw: String(raw), amount, usd: formatWorth(worth) }]
}

/**
 * An amount ÷ 10^decimals of its token, and its exact worth in US dollars, undefined without a price.
 *
 * @figure compound-v3/usd
 * @source the price as of all tokens
 * @proof test/contract/family/compound_v3/vectors_test.ts
 */
function presentAmount({ symbol, address, decimals, price }: AccountToken, units: bigint) {
  const isPriced = decimals !== undefined && price.kind === 'price'
  return {
    symbol,
    address: checksumAddress(address),
    amount: decimals === undefined ? null : formatExact(units, decimals),
    units,
    decimals,
    worth: isPriced ? rational(units * price.price.units, pow10(price.price.scale + decimals)) : undefined,
  }
}

function formatWorth(worth: Rational | undefined): string | null {
  return worth === undefined ? null : formatUsd(worth)
}

/** Figures of a position for a snapshot, in the format of the list; undefined if it cannot be valued. */
export function toSnapshotFigures(position: Position): SnapshotFigures | undefined {
  return presentIfValued(position, ({ totals }, healthFactor) => {
    const { totalCollateralUSD, totalDebtUSD, netWorthUSD } = presentTotals(totals)
    return { collateralUsd: totalCollateralUSD, debtUsd: totalDebtUSD, netWorthUsd: netWorthUSD, healthFactor }
  })
}

/** The confirmed figures of a position, for triggers. */
export function toConfirmedFigures(position: Position): ConfirmedFigures {
  const { health, lending } = toFigures(position)
  return createWatchedLending({
    healthFactor: health,
    totals: lending?.totals,
    isLiquidatable: health === undefined ? undefined : findLiquidationReasons(position).length > 0,
    dueInSec: 'max',
  })
}
