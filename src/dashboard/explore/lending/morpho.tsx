import type { ComponentChildren } from 'preact'
import { shortenAddress } from '../../lib/address.ts'
import type { Answer } from '../../lib/api.ts'
import { formatRatioAsPercent, formatSignificant } from '../../lib/decimal.ts'
import type { MorphoCalculations, MorphoPosition } from '../../lib/shapes.ts'
import { Copy } from '../../part/copy.tsx'
import { Change, DefinitionList, Multiple, Rate, Usd } from '../../part/figure.tsx'
import type { Context } from '../page.tsx'
import { Receipt } from '../receipt.tsx'
import { formatQuery } from '../requests/plan.ts'
import type { Owner, Watched } from '../trigger/bell.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { Assets } from './assets.tsx'
import { Gauge, safeRows } from './gauge.tsx'
import { morphoLegs } from './legs.ts'
import { computeLiquidationPrice, formatPlain } from './liquidation_price.tsx'
import type { Legs } from './what_if.ts'
import { WhatIf } from './what_if_panel.tsx'
import { formatWithdrawal } from './withdrawal.ts'

interface MorphoCardProps {
  readonly position: MorphoPosition
  readonly figures: MorphoCalculations
  readonly owner: Owner
  /** The list that the position is from. */
  readonly answer: Answer
  /** What the net worth counts of it, US dollars. */
  readonly counted: string | undefined
  readonly context: Context
}

/** A market of Morpho Blue in which the wallet has a position. */
export function MorphoCard({ position, figures, owner, answer, counted, context }: MorphoCardProps) {
  return (
    <MarketCard
      position={position}
      figures={figures}
      counted={counted}
      bell={<TriggerBell watched={watchMorpho(position, { ...owner, figures })} context={context} />}
    >
      <Receipt answer={toYieldAnswer(position, { chainId: owner.chainId, answer, context })} context={context} />
    </MarketCard>
  )
}

/** Computes the price at which the market liquidates, in the loan token: debt ÷ (collateral × LLTV). */
function computeCollateralEdge(
  { suppliedAssets, borrowedAssets, collateralSymbol, loanSymbol, lltv }: MorphoPosition,
  legs: Legs | undefined,
) {
  const collateral = suppliedAssets.find(({ isCollateral }) => isCollateral)?.amount
  const owed = borrowedAssets[0]?.amount
  const price = collateral && owed ? Number(owed) / (Number(collateral) * Number(lltv)) : undefined
  const priceText =
    price === undefined ? undefined : `${formatSignificant(formatPlain(price))} ${loanSymbol} per ${collateralSymbol}`
  return computeLiquidationPrice(legs, { id: 'collateral', isOwed: false }, () => priceText)
}

interface YieldSource {
  readonly chainId: number
  readonly answer: Answer
  readonly context: Context
}

/** Returns an answer with the path of a market's yield, because the list itself has no receipt. */
function toYieldAnswer({ marketId }: MorphoPosition, { chainId, answer, context: { view, catalog } }: YieldSource) {
  const query = formatQuery({ wallet: view.wallet, market_id: marketId })
  const path = `v1/lending/morpho-blue/position/${chainId}/yield?${query}`
  return { ...answer, path, credits: catalog.credits.morphoYield }
}

interface WatchedMarket extends Owner {
  readonly figures: MorphoCalculations
}

/** What a bell at a market watches. */
export function watchMorpho({ marketId }: MorphoPosition, { chainId, wallet, figures }: WatchedMarket): Watched {
  return {
    chainId,
    family: 'morpho-blue',
    subject: { wallet, market_id: marketId },
    name: `Morpho Blue, market ${shortenAddress(marketId)}`,
    figure: 'health_factor',
    value: figures?.healthFactor ?? '',
  }
}

interface MarketCardProps {
  readonly position: MorphoPosition
  readonly figures: MorphoCalculations
  readonly counted: string | undefined
  readonly bell: ComponentChildren
  readonly children: ComponentChildren
}

function MarketCard({ position, figures, counted, bell, children }: MarketCardProps) {
  const { marketId, collateralSymbol, loanSymbol, lltv } = position
  const target = String(figures?.targetHealthFactor)
  const legs = morphoLegs(position)
  return (
    <article class="card market" aria-label={`Morpho Blue, market ${marketId}`}>
      <header>
        <h4>
          {collateralSymbol ?? 'No collateral'}{' '}
          <span class="soft">
            / {loanSymbol}, {formatRatioAsPercent(lltv, 1)}
          </span>
        </h4>
        <p class="soft">
          <code title={marketId}>{shortenAddress(marketId)}</code>
          <Copy text={marketId} label="Copy the whole id" />
        </p>
        <p class="card-value">
          <Usd value={position.netWorthUSD} />
        </p>
      </header>
      {counted !== undefined && (
        <p class="soft">
          Above by the market's oracle, which decides about liquidation. The net worth counts it by feeds, at{' '}
          <Usd value={counted} />.
        </p>
      )}
      {position.reason !== null && <p class="bad">{position.reason}.</p>}
      <div class="market-body">
        {figures !== null && (
          <>
            <Gauge healthFactor={figures.healthFactor} target={target} due={position} bell={bell} />
            <DefinitionList
              rows={[
                ['Collateral', <Usd value={position.totalCollateralUSD} />],
                ['Debt', <Usd value={position.totalDebtUSD} />],
                ['Liquidation LTV', <Rate value={lltv} />],
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
          </>
        )}
      </div>
      <div class="sides">
        <Assets
          title="Supplied"
          kind="supply"
          rows={position.suppliedAssets.map((asset) => ({
            ...asset,
            usd: asset.amountSuppliedUSD,
            apy: asset.isCollateral ? null : asset.supplyAPY,
            note: asset.isCollateral ? 'collateral' : '',
            edge: asset.isCollateral ? computeCollateralEdge(position, legs) : undefined,
            withdrawal: formatWithdrawal(asset),
          }))}
        />
        <Assets
          title="Borrowed"
          kind="debt"
          rows={position.borrowedAssets.map((each) => ({
            ...each,
            usd: each.amountBorrowedUSD,
            apy: each.borrowAPY,
            note: '',
          }))}
        />
      </div>
      <WhatIf legs={legs} target={target} note="The price is that of the market's oracle, one token in the other." />
      {children}
    </article>
  )
}
