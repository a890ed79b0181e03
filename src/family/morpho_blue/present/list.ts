import type * as v from 'valibot'
import { type Address, checksumAddress } from 'viem'
import { formatApy, formatHealthFactor, formatRatio, formatUsd } from '../../../finance/figure.ts'
import type { BoundlessRatio } from '../../../finance/math/lending.ts'
import type { Token } from '../../../finance/token/token.ts'
import { memoize } from '../../../lib/memoize.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { WAD } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import { presentCalculations, presentTotals } from '../../lending/calculations.ts'
import { presentDue } from '../../lending/due.ts'
import { createWatchedLending, EMPTY_LENDING } from '../../lending/watched.ts'
import { presentWithdrawal } from '../../lending/withdrawal.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import { healthFactor, type MarketMemo } from '../math/market.ts'
import { findLiquidationReasons, safeBorrow, safeWithdraw } from '../math/rule.ts'
import { computeWithdrawableCollateral, computeWithdrawableLoan } from '../math/withdrawal.ts'
import type { HeldMarket, HeldRead, Position } from '../read/position.ts'
import type { listOutput } from './schema.ts'

type Entry = v.InferOutput<typeof listOutput>['data'][number]
type PresentedPosition = Entry['positions'][number]

/** A wallet's positions in markets on a chain. */
export interface WalletMarkets {
  readonly chainId: number
  readonly wallet: Address
  readonly positions: readonly HeldRead[]
  /** Markets that it entered after the first ones of a list. */
  readonly omitted: number
}

/** Presents a wallet's positions with their figures. `target` is a health factor in decimal digits. */
export function presentWallet({ chainId, wallet, positions, omitted }: WalletMarkets, target: string): Entry {
  return {
    chain_id: chainId,
    wallet: checksumAddress(wallet),
    positions: positions.map(presentPosition),
    calculations: positions.map((read) =>
      read.kind === 'position' ? presentSafeFigures(read.position, target) : null,
    ),
    incomplete:
      omitted === 0
        ? []
        : [
            {
              what: `${omitted} more markets`,
              amount: null,
              why: 'A list has the markets that a wallet entered first; market_id reads any other',
            },
          ],
  }
}

/** Positions of one block serve many answers, which differ only by the target. */
const presentPosition = memoize((read: HeldRead): PresentedPosition => {
  const held = read.kind === 'position' ? read.position : read.held
  const values = read.kind === 'position' ? formatValues(read.position) : NOT_VALUED
  const { params, supplied, owed, collateral, loan, collateralToken, oraclePrice } = held
  const health = computePositionHealth(held)
  return {
    marketId: held.marketId,
    collateralSymbol: collateralToken?.symbol ?? null,
    loanSymbol: loan.symbol,
    lltv: formatRatio(rational(params.lltv, WAD)),
    oraclePrice: oraclePrice === undefined ? null : String(oraclePrice),
    healthFactor: health === undefined ? null : formatHealthFactor(health),
    ...presentDue({ liquidatableBecause: findLiquidationReasons(held, health), dueAtSec: undefined }),
    ...values.totals,
    suppliedAssets: [
      ...(supplied === 0n
        ? []
        : [
            {
              ...formatAmount(supplied, loan),
              ...values.lent,
              isCollateral: false,
              ...presentWithdrawal({
                amount: supplied,
                decimals: loan.decimals,
                withdrawable: computeWithdrawableLoan(held),
                value: values.lentUsd,
              }),
            },
          ]),
      ...(collateral === 0n || collateralToken === undefined
        ? []
        : [
            {
              ...formatAmount(collateral, collateralToken),
              ...values.collateral,
              isCollateral: true,
              ...presentWithdrawal({
                amount: collateral,
                decimals: collateralToken.decimals,
                withdrawable: computeWithdrawableCollateral(held),
                value: values.collateralUsd,
              }),
            },
          ]),
    ],
    borrowedAssets: owed === 0n ? [] : [{ ...formatAmount(owed, loan), ...values.owed }],
    reason: read.kind === 'position' ? null : read.message,
  }
})

const NOT_VALUED = {
  totals: { totalCollateralUSD: null, totalDebtUSD: null, netWorthUSD: null },
  lent: { amountSuppliedUSD: null, supplyAPY: null },
  collateral: { amountSuppliedUSD: null, supplyAPY: null },
  owed: { amountBorrowedUSD: null, borrowAPY: null },
  lentUsd: undefined,
  collateralUsd: undefined,
}

function formatValues({ totals, supplies, borrows }: Position) {
  const [lent, collateral] = supplies
  const [owed] = borrows
  const toUsd = (value = 0n) => rational(value, totals.perUsd)
  const usd = (value?: bigint) => formatUsd(toUsd(value))
  return {
    totals: presentTotals(totals),
    lent: { amountSuppliedUSD: usd(lent?.value), supplyAPY: formatApy(lent?.apyRay ?? 0n) },
    collateral: { amountSuppliedUSD: usd(collateral?.value), supplyAPY: formatApy(0n) },
    owed: { amountBorrowedUSD: usd(owed?.value), borrowAPY: formatApy(owed?.apyRay ?? 0n) },
    lentUsd: toUsd(lent?.value),
    collateralUsd: toUsd(collateral?.value),
  }
}

/** The health factor; undefined for a debt if the oracle does not answer or the interest cannot be accrued. */
export function computePositionHealth({
  params,
  owed,
  collateral,
  oraclePrice,
  isAccrued,
}: HeldMarket): BoundlessRatio | undefined {
  if (owed > 0n && (!isAccrued || (collateral > 0n && oraclePrice === undefined))) return undefined
  return healthFactor({ collateral, oraclePrice: oraclePrice ?? 0n, lltvWad: params.lltv, owed })
}

function presentSafeFigures(position: Position, target: string): NonNullable<Entry['calculations'][number]> {
  return presentCalculations(position, {
    target,
    healthFactor: formatHealthFactor(computePositionHealth(position) ?? 'max'),
    safeBorrow: (aim) => safeBorrow(position, aim),
    safeWithdraw: (aim) => safeWithdraw(position, aim),
  })
}

function formatAmount(amount: bigint, { symbol, decimals }: Token) {
  return { symbol, amount: decimals === undefined ? null : formatExact(amount, decimals) }
}

/** The confirmed figures of a position, for triggers. */
export function toConfirmedFigures(read: HeldRead): ConfirmedFigures {
  const held = read.kind === 'position' ? read.position : read.held
  const { marketId, params, market, supplied, owed, collateral } = held
  const memo: MarketMemo = { marketId, lltvWad: params.lltv, market, supplied, owed, collateral }
  const totals = read.kind === 'position' ? read.position.totals : undefined
  const healthFactor = computePositionHealth(held)
  const isLiquidatable = findLiquidationReasons(held, healthFactor).length > 0
  return createWatchedLending({ healthFactor, totals, isLiquidatable, dueInSec: 'max' }, totals && memo)
}

/** Confirmed figures of a wallet without a position in a market. */
export const EMPTY_CONFIRMED = createWatchedLending(EMPTY_LENDING, 'nothing')

/** Memo of a position for the forecaster; undefined if its figures cannot be forecast. */
export type ForecastMemo = MarketMemo | 'nothing' | undefined
