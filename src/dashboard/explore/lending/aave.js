import { chainName } from '../../lib/catalog.js'
import { percentOfRatio } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Change, Facts, Percent, Rate, Times, Usd } from '../../part/figure.js'
import { Proof } from '../../part/proof.js'
import { Gauge, safeRows } from './gauge.js'
import { MarketHistory } from './history.js'

/**
 * The markets of Aave V3 on one chain.
 * @param {{ part: import('../asking.js').AskedPart, context: import('../page.js').Context }} props
 */
export function AavePart({ part, context }) {
  const { answer, chainId } = part
  if (answer === undefined || answer.ok === false) return null
  const { data } = /** @type {import('../../lib/shapes.d.ts').AaveList} */ (answer.body)
  return html`<div class="part">
    <h3>${chainName(context.catalog, chainId)}</h3>
    <div class="stack">
      ${data.map((result) =>
        result.positions.map(
          (position, index) =>
            html`<${MarketCard} key=${position.marketId} chainId=${chainId} position=${position} figures=${result.calculations[index]} context=${context} />`,
        ),
      )}
    </div>
    <${Proof} answer=${answer} catalog=${context.catalog} />
  </div>`
}

/** @param {{ chainId: number, position: import('../../lib/shapes.d.ts').AavePosition, figures: import('../../lib/shapes.d.ts').AaveFigures, context: import('../page.js').Context }} props */
function MarketCard({ chainId, position, figures, context }) {
  const target = String(figures.targetHealthFactor)
  return html`<article class="card market" aria-label=${`Aave V3, market ${position.marketId}`}>
    <header>
      <h4>Aave V3 <span class="soft">${position.marketId}</span></h4>
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
    <${MarketHistory} chainId=${chainId} marketId=${position.marketId} context=${context} />
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
