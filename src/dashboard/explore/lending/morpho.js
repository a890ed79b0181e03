import { shortened } from '../../lib/address.js'
import { chainName } from '../../lib/catalog.js'
import { percentOfRatio } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Copy } from '../../part/copy.js'
import { Amount, Change, Facts, Rate, Times, Usd } from '../../part/figure.js'
import { Patient, usePatient } from '../patient.js'
import { queryOf } from '../plan.js'
import { Gauge, safeRows } from './gauge.js'

/** @typedef {import('../../lib/shapes.d.ts').MorphoList} MorphoList */
/** @typedef {MorphoList['data'][number]['positions'][number]} MorphoPosition */
/** @typedef {MorphoList['data'][number]['calculations'][number]} MorphoFigures */

/**
 * All markets of Morpho Blue that the wallet has something in; the first time each chain's history is waited for.
 * @param {{ context: import('../page.js').Context }} props
 */
export function Morpho({ context }) {
  return html`<section class="family" aria-label="Morpho Blue">
    <div class="family-head"><h2>Morpho Blue</h2></div>
    ${context.catalog.morphoChains.map((chainId) => html`<${MorphoChain} key=${chainId} chainId=${chainId} context=${context} />`)}
  </section>`
}

/** @param {{ chainId: number, context: import('../page.js').Context }} props */
function MorphoChain({ chainId, context: { view, catalog, key } }) {
  /** @type {Record<string, string>} */
  const past = view.asOf === '' ? {} : { at_time: view.asOf }
  const query = queryOf({ wallet: view.wallet, chain_id: chainId, target_health_factor: view.target, ...past })
  const asked = usePatient(`v1/lending/morpho-blue?${query}`, key)
  const chain = chainName(catalog, chainId)
  return html`<div class="part">
    <h3>${chain}</h3>
    <div class="stack">
      <${Patient} asked=${asked} what=${`Morpho Blue on ${chain}`} catalog=${catalog} render=${(/** @type {{ body: MorphoList }} */ { body: { data } }) => (data.length === 0 ? html`<p class="soft">Nothing supplied or borrowed.</p>` : data.map(({ positions, calculations }) => positions.map((position, index) => html`<${MarketCard} key=${position.marketId} position=${position} figures=${calculations[index] ?? null} />`)))} />
    </div>
  </div>`
}

/** @param {{ position: MorphoPosition, figures: MorphoFigures }} props */
function MarketCard({ position, figures }) {
  const { marketId, collateralSymbol, loanSymbol, lltv } = position
  const target = String(figures?.targetHealthFactor)
  return html`<article class="card market" aria-label=${`Morpho Blue, market ${marketId}`}>
    <header>
      <h4>${collateralSymbol ?? 'No collateral'} <span class="soft">for ${loanSymbol}</span></h4>
      <p class="soft"><code title=${marketId}>${shortened(marketId)}</code><${Copy} text=${marketId} label="Copy the whole id" /></p>
      <p class="card-value"><${Usd} value=${position.netWorthUSD} /></p>
    </header>
    ${position.reason !== null && html`<p class="bad">${position.reason}.</p>`}
    <div class="market-body">
      ${
        figures !== null &&
        html`<${Gauge} healthFactor=${figures.healthFactor} target=${target} />
        <${Facts} rows=${[
          ['Collateral', html`<${Usd} value=${position.totalCollateralUSD} />`],
          ['Debt', html`<${Usd} value=${position.totalDebtUSD} />`],
          ['Liquidation at', html`<${Rate} value=${lltv} />`],
          ['Leverage', html`<${Times} value=${figures.positionLeverage} />`],
        ]} />
        <${Facts} rows=${[
          ...safeRows(target, { borrow: figures.safeBorrowAmountUSD, withdraw: figures.safeWithdrawAmountUSD }),
          ['Net yield a year', html`<${Rate} value=${figures.netAPY} />`],
          ['Net interest a day', html`<${Change} value=${figures.netDailyInterestUSD} />`],
        ]} />`
      }
    </div>
    <div class="sides">
      <${Assets} title="Supplied" rows=${position.suppliedAssets.map((each) => ({ ...each, usd: each.amountSuppliedUSD, apy: each.supplyAPY, note: each.isCollateral ? 'collateral' : '' }))} />
      <${Assets} title="Borrowed" rows=${position.borrowedAssets.map((each) => ({ ...each, usd: each.amountBorrowedUSD, apy: each.borrowAPY, note: '' }))} />
    </div>
  </article>`
}

/** @param {{ title: string, rows: readonly { symbol: string, amount: string | null, usd: string | null, apy: string | null, note: string }[] }} props */
function Assets({ title, rows }) {
  return html`<div class="assets">
    <h5>${title}</h5>
    ${rows.length === 0 && html`<p class="soft">Nothing.</p>`}
    <ul>
      ${rows.map(
        ({ symbol, amount, usd, apy, note }) => html`<li>
          <span>${amount !== null && html`<${Amount} value=${amount} symbol=${symbol} /> `}${symbol}${note !== '' && html` <i>${note}</i>`}</span>
          <span><${Usd} value=${usd} /></span>
          <span class="soft">${apy !== null && `${percentOfRatio(apy)} APY`}</span>
        </li>`,
      )}
    </ul>
  </div>`
}
