import type { ComponentChildren } from 'preact'
import type { AaveV3Calculations, LendingPosition } from '../../lib/shapes.ts'
import { Change, DefinitionList, Multiple, Percent, Rate, Usd } from '../../part/figure.tsx'
import type { Asset } from './assets.tsx'
import { Assets } from './assets.tsx'
import { Gauge, safeRows } from './gauge.tsx'
import { computeLiquidationPrice, multiplyPrice } from './liquidation_price.tsx'
import type { Legs } from './what_if.ts'
import { WhatIf } from './what_if_panel.tsx'
import { formatWithdrawal } from './withdrawal.ts'

interface LendingCardProps {
  readonly label: string
  readonly family: string
  readonly place: string
  readonly note?: ComponentChildren
  readonly bell?: ComponentChildren
  readonly position: LendingPosition
  readonly figures: AaveV3Calculations
  readonly legs: Legs | undefined
  readonly whatIfNote?: string
  readonly children?: ComponentChildren
}

/** Card of one lending position: health factor, figures and assets. */
export function LendingCard({
  label,
  family,
  place,
  note,
  bell,
  position,
  figures,
  legs,
  whatIfNote,
  children,
}: LendingCardProps) {
  const target = String(figures.targetHealthFactor)
  const { borrowLimitUSD: borrowLimit } = position
  return (
    <article class="card market" aria-label={label}>
      <header>
        <h4>
          {family} <span class="soft">{place}</span>
        </h4>
        {note}
        <p class="card-value">
          <Usd value={position.netWorthUSD} />
        </p>
      </header>
      <div class="market-body">
        <Gauge healthFactor={position.healthFactor} target={target} due={position} bell={bell} />
        <DefinitionList
          rows={[
            ['Collateral', <Usd value={position.totalCollateralUSD} />],
            ['Debt', <Usd value={position.totalDebtUSD} />],
            ['Loan to value', <Percent value={figures.currentLtvPercentage} />],
            ['Borrowing limit used', <Rate value={figures.borrowUtilizationRate} />],
            ['Leverage', <Multiple value={figures.positionLeverage} />],
          ]}
        />
        <DefinitionList
          rows={[
            ...safeRows(target, { borrow: figures.safeBorrowAmountUSD, withdraw: figures.safeWithdrawAmountUSD }),
            ['Net yield a year', <Rate value={figures.netAPY} />],
            ['Net interest a day', <Change value={figures.netDailyInterestUSD} />],
          ]}
        />
      </div>
      <div class="sides">
        <Assets
          title="Supplied"
          kind="supply"
          rows={position.suppliedAssets.map((asset, _, all) =>
            suppliedRow(asset, getLegId(asset, all, 'collateral'), legs),
          )}
        />
        <Assets
          title="Borrowed"
          kind="debt"
          rows={position.borrowedAssets.map((asset, _, all) => borrowedRow(asset, getLegId(asset, all, 'debt'), legs))}
        />
      </div>
      <WhatIf legs={legs} target={target} borrowLimit={borrowLimit} note={whatIfNote} />
      {children}
    </article>
  )
}

/** Returns the id of an asset's leg; undefined if the leg stands for several assets. */
function getLegId({ address }: { address?: string }, side: readonly unknown[], whole: string) {
  return address ?? (side.length === 1 ? whole : undefined)
}

function suppliedRow(
  asset: LendingPosition['suppliedAssets'][number],
  id: string | undefined,
  legs: Legs | undefined,
): Asset {
  const { symbol, amount, amountSuppliedUSD: usd, supplyAPY: apy, isCollateral, priceUSD } = asset
  const edge =
    isCollateral && id !== undefined
      ? computeLiquidationPrice(legs, { id, isOwed: false }, multiplyPrice(priceUSD))
      : undefined
  return {
    symbol,
    amount,
    usd,
    apy,
    note: isCollateral ? '' : 'not collateral',
    edge,
    withdrawal: formatWithdrawal(asset),
  }
}

function borrowedRow(
  { symbol, amount, amountBorrowedUSD: usd, borrowAPY: apy, priceUSD }: LendingPosition['borrowedAssets'][number],
  id: string | undefined,
  legs: Legs | undefined,
): Asset {
  const edge =
    id === undefined ? undefined : computeLiquidationPrice(legs, { id, isOwed: true }, multiplyPrice(priceUSD))
  return { symbol, amount, usd, apy, note: '', edge }
}
