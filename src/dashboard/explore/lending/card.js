import { html } from '../../lib/view.js'
import { Change, DefinitionList, Multiple, Percent, Rate, Usd } from '../../part/figure.js'
import { Assets } from './assets.js'
import { Gauge, safeRows } from './gauge.js'
import { computeLiquidationPrice, multiplyPrice } from './liquidation_price.js'
import { WhatIf } from './what_if_panel.js'
import { formatWithdrawal } from './withdrawal.js'

/**
 * Card of one lending position: health factor, figures and assets.
 * @param {{ label: string, family: string, place: string, note?: unknown, bell?: unknown, position: import('../../lib/shapes.d.ts').LendingPosition, figures: import('../../lib/shapes.d.ts').LendingFigures, legs: import('./what_if.js').Legs | undefined, whatIfNote?: string, children?: unknown }} props
 */
export function LendingCard({ label, family, place, note, bell, position, figures, legs, whatIfNote, children }) {
  const target = String(figures.targetHealthFactor)
  const { borrowLimitUSD: borrowLimit } = position
  return html`<article class="card market" aria-label=${label}>
    <header>
      <h4>${family} <span class="soft">${place}</span></h4>
      ${note}
      <p class="card-value"><${Usd} value=${position.netWorthUSD} /></p>
    </header>
    <div class="market-body">
      <${Gauge} healthFactor=${position.healthFactor} target=${target} due=${position} bell=${bell} />
      <${DefinitionList} rows=${[
        ['Collateral', html`<${Usd} value=${position.totalCollateralUSD} />`],
        ['Debt', html`<${Usd} value=${position.totalDebtUSD} />`],
        ['Loan to value', html`<${Percent} value=${figures.currentLtvPercentage} />`],
        ['Borrowing limit used', html`<${Rate} value=${figures.borrowUtilizationRate} />`],
        ['Leverage', html`<${Multiple} value=${figures.positionLeverage} />`],
      ]} />
      <${DefinitionList} rows=${[
        ...safeRows(target, { borrow: figures.safeBorrowAmountUSD, withdraw: figures.safeWithdrawAmountUSD }),
        ['Net yield a year', html`<${Rate} value=${figures.netAPY} />`],
        ['Net interest a day', html`<${Change} value=${figures.netDailyInterestUSD} />`],
      ]} />
    </div>
    <div class="sides">
      <${Assets} title="Supplied" kind="supply" rows=${position.suppliedAssets.map((asset, _, all) => suppliedRow(asset, getLegId(asset, all, 'collateral'), legs))} />
      <${Assets} title="Borrowed" kind="debt" rows=${position.borrowedAssets.map((asset, _, all) => borrowedRow(asset, getLegId(asset, all, 'debt'), legs))} />
    </div>
    <${WhatIf} legs=${legs} target=${target} borrowLimit=${borrowLimit} note=${whatIfNote} />
    ${children}
  </article>`
}

/**
 * Returns the id of an asset's leg; undefined if the leg stands for several assets.
 * @param {{ address?: string }} asset
 * @param {readonly unknown[]} side
 * @param {string} whole
 */
function getLegId({ address }, side, whole) {
  return address ?? (side.length === 1 ? whole : undefined)
}

/**
 * @param {import('../../lib/shapes.d.ts').LendingPosition['suppliedAssets'][number]} asset
 * @param {string | undefined} id
 * @param {import('./what_if.js').Legs | undefined} legs
 * @returns {import('./assets.js').Asset}
 */
function suppliedRow(asset, id, legs) {
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

/**
 * @param {import('../../lib/shapes.d.ts').LendingPosition['borrowedAssets'][number]} asset
 * @param {string | undefined} id
 * @param {import('./what_if.js').Legs | undefined} legs
 * @returns {import('./assets.js').Asset}
 */
function borrowedRow({ symbol, amount, amountBorrowedUSD: usd, borrowAPY: apy, priceUSD }, id, legs) {
  const edge =
    id === undefined ? undefined : computeLiquidationPrice(legs, { id, isOwed: true }, multiplyPrice(priceUSD))
  return { symbol, amount, usd, apy, note: '', edge }
}
