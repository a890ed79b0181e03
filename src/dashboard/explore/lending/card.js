import { percentOfRatio } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Change, Facts, Percent, Rate, Times, Usd } from '../../part/figure.js'
import { Gauge, safeRows } from './gauge.js'

/**
 * What a wallet supplies and owes in one place: its health, its figures and its assets.
 * @param {{ label: string, family: string, place: string, note?: unknown, position: import('../../lib/shapes.d.ts').LendingPosition, figures: import('../../lib/shapes.d.ts').LendingFigures, children?: unknown }} props
 */
export function LendingCard({ label, family, place, note, position, figures, children }) {
  const target = String(figures.targetHealthFactor)
  return html`<article class="card market" aria-label=${label}>
    <header>
      <h4>${family} <span class="soft">${place}</span></h4>
      ${note}
      <p class="card-value"><${Usd} value=${position.netWorthUSD} /></p>
    </header>
    <div class="market-body">
      <${Gauge} healthFactor=${position.healthFactor} target=${target} />
      <${Facts} rows=${[
        ['Collateral', html`<${Usd} value=${position.totalCollateralUSD} />`],
        ['Debt', html`<${Usd} value=${position.totalDebtUSD} />`],
        ['Loan to value', html`<${Percent} value=${figures.currentLtvPercentage} />`],
        ['Borrowing limit used', html`<${Rate} value=${figures.borrowUtilizationRate} />`],
        ['Leverage', html`<${Times} value=${figures.positionLeverage} />`],
      ]} />
      <${Facts} rows=${[
        ...safeRows(target, { borrow: figures.safeBorrowAmountUSD, withdraw: figures.safeWithdrawAmountUSD }),
        ['Net yield a year', html`<${Rate} value=${figures.netAPY} />`],
        ['Net interest a day', html`<${Change} value=${figures.netDailyInterestUSD} />`],
      ]} />
    </div>
    <div class="sides">
      <${Assets} title="Supplied" kind="supply" rows=${position.suppliedAssets.map((each) => ({ symbol: each.symbol, usd: each.amountSuppliedUSD, apy: each.supplyAPY, note: each.isCollateral ? '' : 'not collateral' }))} />
      <${Assets} title="Borrowed" kind="debt" rows=${position.borrowedAssets.map((each) => ({ symbol: each.symbol, usd: each.amountBorrowedUSD, apy: each.borrowAPY, note: '' }))} />
    </div>
    ${children}
  </article>`
}

/** @param {{ title: string, kind: string, rows: readonly { symbol: string, usd: string, apy: string, note: string }[] }} props */
function Assets({ title, kind, rows }) {
  const most = Math.max(...rows.map(({ usd }) => Number(usd)), 1e-6)
  return html`<div class="assets">
    <h5>${title}</h5>
    ${rows.length === 0 && html`<p class="soft">Nothing.</p>`}
    <ul>
      ${rows.map(
        ({ symbol, usd, apy, note }) => html`<li>
          <span>${symbol}${note !== '' && html` <i>${note}</i>`}</span>
          <span><${Usd} value=${usd} /></span>
          <span class="soft">${percentOfRatio(apy)} APY</span>
          <svg class="share" viewBox="0 0 100 3" preserveAspectRatio="none" aria-hidden="true"><rect class=${kind} width=${(Number(usd) / most) * 100} height="3" /></svg>
        </li>`,
      )}
    </ul>
  </div>`
}
