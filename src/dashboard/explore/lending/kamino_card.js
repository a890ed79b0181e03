import { shortenAddress } from '../../lib/address.js'
import { html } from '../../lib/view.js'
import { Copy } from '../../part/copy.js'
import { Change, DefinitionList, Multiple, Percent, Rate, Usd } from '../../part/figure.js'
import { EmptyState, LoadingNotice } from '../../part/notice.js'
import { AnswerSource } from '../receipt.js'
import { TriggerBell } from '../trigger/bell.js'
import { Gauge, safeRows } from './gauge.js'

/** Card of an added position, with a button that removes it. @param {{ family: string, place: string, kind: string, id: string, onRemove: () => void, children: unknown }} props */
function Card({ family, place, kind, id, onRemove, children }) {
  return html`<article class="card market" aria-label=${`${family}, ${kind} ${id}`}>
    <header>
      <h3>${family} <span class="soft">${place}</span></h3>
      <p class="soft"><code title=${id}>${shortenAddress(id)}</code><${Copy} text=${id} label="Copy the whole id" /></p>
      <button type="button" class="small remove" onClick=${onRemove}>Remove</button>
    </header>
    ${children}
  </article>`
}

/** @param {{ data: import('../../lib/shapes.d.ts').KaminoYield }} props yield figures */
function Yield({ data }) {
  return html`<${DefinitionList} rows=${[
    ['Net yield a year', html`<${Rate} value=${data.net_apy} />`],
    ['Leverage', html`<${Multiple} value=${data.position_leverage} />`],
    ['Supply, weighted', html`<${Rate} value=${data.weighted_supply_apy} />`],
    ['Borrow, weighted', html`<${Rate} value=${data.weighted_borrow_apy} />`],
  ]} />
    <${DefinitionList} rows=${[
      ['Earned a day', html`<${Change} value=${data.daily_supply_interest_usd} />`],
      ['Paid a day', html`<${Usd} value=${data.daily_borrow_interest_usd} />`],
      ['Net in a week', html`<${Change} value=${data.projected_earnings.weekly} />`],
      ['Net in a month', html`<${Change} value=${data.projected_earnings.monthly} />`],
      ['Net in a year', html`<${Change} value=${data.projected_earnings.yearly} />`],
    ]} />
    ${data.incomplete.map(({ what, amount, why }) => html`<p class="edge soft">Without ${what}${amount && `, of ${amount}`}: ${why}</p>`)}`
}

/** @typedef {{ parts: readonly import('../requests/answers.js').RequestedPart[], context: import('../page.js').Context, onRemove: () => void }} Props */

/** @param {import('../../lib/shapes.d.ts').KaminoRisk} risk @returns {import('../trigger/bell.js').Watched} */
function toWatched({ chain_id, wallet, obligation_address, market_address, health_factor }) {
  return {
    chainId: chain_id,
    family: 'kamino',
    subject: { wallet, obligation_address, market_address },
    name: `Kamino, obligation ${shortenAddress(obligation_address)}`,
    figure: 'health_factor',
    value: health_factor,
  }
}

/** Card of a Kamino obligation, from two answers: risk and yield. @param {Props} props */
export function KaminoCard({ parts, context, onRemove }) {
  const [risk, earned] = parts
  const id = risk?.id ?? ''
  const failed = parts.find(({ answer }) => answer?.ok === false)
  /** @type {import('../../lib/shapes.d.ts').KaminoRisk | undefined} */
  const data = risk?.answer?.ok ? getData(risk.answer) : undefined
  return html`<${Card} family="Kamino" place="Solana" kind="obligation" id=${id} onRemove=${onRemove}>
    ${failed === undefined && parts.some(({ answer }) => answer === undefined) && html`<${LoadingNotice}>Reading Solana<//>`}
    ${failed?.answer?.ok === false && html`<${Problem} failure=${failed.answer} />`}
    <div class="market-body">
      ${
        data &&
        html`<${Gauge} healthFactor=${data.health_factor} target=${data.target_health_factor} due=${data} bell=${html`<${TriggerBell} watched=${toWatched(data)} context=${context} />`} />
          <${DefinitionList} rows=${[
            ['Loan to value', html`<${Percent} value=${data.current_ltv_percentage} />`],
            ['Liquidation at', html`<${Rate} value=${data.risk_metrics.liquidationThreshold} />`],
            ['Borrowing limit', html`<${Usd} value=${data.risk_metrics.maxBorrowCapacityUSD} />`],
            ['Borrowing limit used', html`<${Rate} value=${data.risk_metrics.borrowUtilization} />`],
          ]} />
          <${DefinitionList} rows=${safeRows(data.target_health_factor, { borrow: data.safe_borrow_amount_usd, withdraw: data.safe_withdraw_amount_usd })} />`
      }
    </div>
    ${earned?.answer?.ok && html`<div class="market-body two"><${Yield} data=${getData(earned.answer)} /></div>`}
    ${parts.map(({ answer }) => answer?.ok && html`<${AnswerSource} answer=${answer} context=${context} />`)}
  <//>`
}

/**
 * @template Data
 * @param {import('../../lib/api.js').Answer} answer
 */
function getData({ body }) {
  return /** @type {{ data: Data }} */ (body).data
}

/**
 * An empty result is not an error: the address may belong to another chain, or the position may be closed. `Notices` lists
 * the errors.
 * @param {{ failure: import('../../lib/api.js').Failure }} props */
function Problem({ failure }) {
  if (failure.code !== 'NOT_FOUND') return html`<p class="soft">Not read.</p>`
  return html`<${EmptyState} title="Nothing here">${failure.message}.<//>`
}
