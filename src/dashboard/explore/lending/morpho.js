import { shortenAddress } from '../../lib/address.js'
import { formatRatioAsPercent, formatSignificant } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Copy } from '../../part/copy.js'
import { Change, DefinitionList, Multiple, Rate, Usd } from '../../part/figure.js'
import { Receipt } from '../receipt.js'
import { formatQuery } from '../requests/plan.js'
import { LendingPart } from '../section.js'
import { TriggerBell } from '../trigger/bell.js'
import { Assets } from './assets.js'
import { Gauge, safeRows } from './gauge.js'
import { morphoLegs } from './legs.js'
import { computeLiquidationPrice, formatPlain } from './liquidation_price.js'
import { WhatIf } from './what_if_panel.js'
import { formatWithdrawal } from './withdrawal.js'

/** @typedef {import('../../lib/shapes.d.ts').MorphoList} MorphoList */
/** @typedef {import('../../lib/shapes.d.ts').MorphoPosition} MorphoPosition */
/** @typedef {MorphoList['data'][number]['calculations'][number]} MorphoFigures */

/**
 * Markets of Morpho Blue on one chain in which the wallet has a position.
 * @param {{ part: import('../requests/answers.js').RequestedPart, context: import('../page.js').Context }} props
 */
export function MorphoPart({ part, context }) {
  const { answer, chainId } = part
  if (!answer?.ok) return null
  /** @param {MorphoPosition} position @param {MorphoFigures} figures @param {string} wallet */
  const drawPosition = (position, figures, wallet) =>
    html`<${MarketCard} key=${position.marketId} position=${position} figures=${figures} bell=${html`<${TriggerBell} watched=${toWatched(position, { chainId, wallet, figures })} context=${context} />`}><${Receipt} answer=${toYieldAnswer(position, { chainId, answer, context })} context=${context} /><//>`
  return html`<${LendingPart} part=${part} context=${context}>${drawPosition}<//>`
}

/**
 * Computes the price at which the market liquidates, in the loan token: debt ÷ (collateral × LLTV).
 * @param {MorphoPosition} position
 * @param {import('./what_if.js').Legs | undefined} legs
 */
function computeCollateralEdge({ suppliedAssets, borrowedAssets, collateralSymbol, loanSymbol, lltv }, legs) {
  const collateral = suppliedAssets.find(({ isCollateral }) => isCollateral)?.amount
  const owed = borrowedAssets[0]?.amount
  const price = collateral && owed ? Number(owed) / (Number(collateral) * Number(lltv)) : undefined
  const priceText =
    price === undefined ? undefined : `${formatSignificant(formatPlain(price))} ${loanSymbol} per ${collateralSymbol}`
  return computeLiquidationPrice(legs, { id: 'collateral', isOwed: false }, () => priceText)
}

/**
 * Returns an answer with the path of a market's yield, because the list itself has no receipt.
 * @param {MorphoPosition} position
 * @param {{ chainId: number, answer: import('../../lib/api.js').Answer, context: import('../page.js').Context }} list
 */
function toYieldAnswer({ marketId }, { chainId, answer, context: { view, catalog } }) {
  const query = formatQuery({ wallet: view.wallet, market_id: marketId })
  const path = `v1/lending/morpho-blue/position/${chainId}/yield?${query}`
  return { ...answer, path, credits: catalog.credits.morphoYield }
}

/**
 * @param {MorphoPosition} position
 * @param {{ chainId: number, wallet: string, figures: MorphoFigures }} options
 * @returns {import('../trigger/bell.js').Watched}
 */
function toWatched({ marketId }, { chainId, wallet, figures }) {
  return {
    chainId,
    family: 'morpho-blue',
    subject: { wallet, market_id: marketId },
    name: `Morpho Blue, market ${shortenAddress(marketId)}`,
    figure: 'health_factor',
    value: figures?.healthFactor ?? '',
  }
}

/** @param {{ position: MorphoPosition, figures: MorphoFigures, bell: unknown, children: unknown }} props */
function MarketCard({ position, figures, bell, children }) {
  const { marketId, collateralSymbol, loanSymbol, lltv } = position
  const target = String(figures?.targetHealthFactor)
  const legs = morphoLegs(position)
  return html`<article class="card market" aria-label=${`Morpho Blue, market ${marketId}`}>
    <header>
      <h4>${collateralSymbol ?? 'No collateral'} <span class="soft">/ ${loanSymbol}, ${formatRatioAsPercent(lltv, 1)}</span></h4>
      <p class="soft"><code title=${marketId}>${shortenAddress(marketId)}</code><${Copy} text=${marketId} label="Copy the whole id" /></p>
      <p class="card-value"><${Usd} value=${position.netWorthUSD} /></p>
    </header>
    ${position.reason !== null && html`<p class="bad">${position.reason}.</p>`}
    <div class="market-body">
      ${
        figures !== null &&
        html`<${Gauge} healthFactor=${figures.healthFactor} target=${target} due=${position} bell=${bell} />
        <${DefinitionList} rows=${[
          ['Collateral', html`<${Usd} value=${position.totalCollateralUSD} />`],
          ['Debt', html`<${Usd} value=${position.totalDebtUSD} />`],
          ['Liquidation at', html`<${Rate} value=${lltv} />`],
          ['Leverage', html`<${Multiple} value=${figures.positionLeverage} />`],
        ]} />
        <${DefinitionList} rows=${[
          ...safeRows(target, { borrow: figures.safeBorrowAmountUSD, withdraw: figures.safeWithdrawAmountUSD }),
          ['Net yield a year', html`<${Rate} value=${figures.netAPY} />`],
          ['Net interest a day', html`<${Change} value=${figures.netDailyInterestUSD} />`],
        ]} />`
      }
    </div>
    <div class="sides">
      <${Assets} title="Supplied" kind="supply" rows=${position.suppliedAssets.map((asset) => ({ ...asset, usd: asset.amountSuppliedUSD, apy: asset.isCollateral ? null : asset.supplyAPY, note: asset.isCollateral ? 'collateral' : '', edge: asset.isCollateral ? computeCollateralEdge(position, legs) : undefined, withdrawal: formatWithdrawal(asset) }))} />
      <${Assets} title="Borrowed" kind="debt" rows=${position.borrowedAssets.map((each) => ({ ...each, usd: each.amountBorrowedUSD, apy: each.borrowAPY, note: '' }))} />
    </div>
    <${WhatIf} legs=${legs} target=${target} note="The price is that of the market's oracle, one token in the other." />
    ${children}
  </article>`
}
