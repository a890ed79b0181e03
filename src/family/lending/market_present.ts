import { checksumAddress } from 'viem'
import { formatHealthFactor } from '../../finance/figure.ts'
import type { BoundlessRatio, LendingPosition } from '../../finance/math/lending.ts'
import { memoize } from '../../lib/memoize.ts'
import type { Rational } from '../../lib/number/rational.ts'
import { presentCalculations, presentReducedCalculations, presentTotals } from './calculations.ts'
import type { WalletMarkets } from './market_routes.ts'

/** What a protocol computes of a position in one of its markets. */
interface MarketFigures<Position> {
  /** Totals and yields; memoized, since positions of one block serve many answers. */
  readonly toLending: (position: Position) => LendingPosition
  /** The protocol's own. */
  readonly getHealthFactor: (position: Position) => BoundlessRatio
  /** Amounts that bring the health factor down to a target, US dollars. */
  readonly safeBorrow: (position: Position, target: Rational) => Rational
  readonly safeWithdraw: (position: Position, target: Rational) => Rational
}

/** Creates the presenters of the positions of wallets that have an account in each market. */
export function createMarketPresenter<Position extends { readonly market: string }>(figures: MarketFigures<Position>) {
  const { toLending, getHealthFactor, safeBorrow, safeWithdraw } = figures

  /** Figures of a position for a snapshot, in the format of the list. */
  const toSnapshotFigures = memoize((position: Position) => {
    const { totalCollateralUSD, totalDebtUSD, netWorthUSD } = presentTotals(toLending(position).totals)
    return {
      collateralUsd: totalCollateralUSD,
      debtUsd: totalDebtUSD,
      netWorthUsd: netWorthUSD,
      healthFactor: formatHealthFactor(getHealthFactor(position)),
    }
  })

  return {
    toSnapshotFigures,
    /** Presents a wallet's positions on a chain; `target` is a health factor in decimal digits. */
    presentWallet<Presented>(
      { chainId, wallet, positions }: WalletMarkets<Position>,
      { target, present }: { readonly target: string; readonly present: (position: Position) => Presented },
    ) {
      return {
        chain_id: chainId,
        wallet: checksumAddress(wallet),
        positions: positions.map(present),
        calculations: positions.map((position) => ({
          marketId: position.market,
          ...presentCalculations(toLending(position), {
            target,
            healthFactor: toSnapshotFigures(position).healthFactor,
            safeBorrow: (aim) => safeBorrow(position, aim),
            safeWithdraw: (aim) => safeWithdraw(position, aim),
          }),
        })),
      }
    },
    /** The same with only the figures of the batch. */
    presentReduced({ chainId, wallet, positions }: WalletMarkets<Position>, target: string) {
      return {
        chain_id: chainId,
        wallet: checksumAddress(wallet),
        positions: positions.map((position) => {
          const { healthFactor, netWorthUsd } = toSnapshotFigures(position)
          return { marketId: position.market, healthFactor, netWorthUSD: netWorthUsd }
        }),
        calculations: positions.map((position) => {
          const { healthFactor } = toSnapshotFigures(position)
          return presentReducedCalculations(toLending(position), { target, healthFactor })
        }),
      }
    },
  }
}
