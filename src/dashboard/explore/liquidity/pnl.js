import { isNegative, sumDollars } from '../../lib/decimal.js'
import { pluralize } from '../../lib/time.js'
import { html, useEffect, useState } from '../../lib/view.js'
import { Change, DefinitionList, Percent, Usd } from '../../part/figure.js'
import { formatQuery } from '../requests/plan.js'
import { PolledAnswer, usePolledAnswer } from '../requests/polling.js'

/**
 * What an answer without profit and loss says of it. The answer waited for it, so it comes only if it is asked for.
 * @type {Record<string, { said: string, verb: string, terms: string }>}
 */
const NOT_READY = {
  pending: {
    said: "Profit and loss is still being worked out: the position's history is being read.",
    verb: 'Wait for it',
    terms: 'once it is there',
  },
  unpriced: {
    said: 'Profit and loss cannot be worked out: a price is missing.',
    verb: 'Ask again',
    terms: 'if it can',
  },
  failed: { said: 'Profit and loss could not be worked out.', verb: 'Ask why', terms: 'if it now can' },
}

/**
 * Profit and loss of a position: at once if the answer has it, else why not, and for its price.
 * @param {{ position: import('../../lib/shapes.d.ts').Position, served: import('../../lib/catalog.js').Liquidity, context: import('../page.js').Context, onFigures: (pnl: import('../../lib/shapes.d.ts').ProfitAndLoss) => void }} props `onFigures` is told figures that were asked for
 */
export function ProfitAndLoss({ position, served: { protocol, pnl, credits }, context, onFigures }) {
  const [wanted, setWanted] = useState(false)
  const { key, view } = context
  const query = formatQuery({
    chain_id: position.chain_id,
    manager_address: position.manager_address,
    ...(position.is_active ? {} : { status: 'inactive' }),
    ...(view.asOf === '' ? {} : { at_time: view.asOf }),
  })
  const path = `v1/positions/${protocol}/${position.token_id}/pnl?${query}`
  const { said, verb = 'Profit and loss', terms = '' } = NOT_READY[position.pnl_status ?? ''] ?? {}
  // A history that is read comes in a while; a price that is missing does not.
  const comes = said === undefined || position.pnl_status === 'pending'
  const asked = usePolledAnswer(wanted ? path : undefined, key, comes ? undefined : 1)
  if (position.pnl) return html`<${Figures} pnl=${position.pnl} />`
  if (!pnl) return null
  if (wanted)
    return html`<${PolledAnswer} asked=${asked} what="Profit and loss" render=${(/** @type {import('../../lib/api.js').Answer<{ data: import('../../lib/shapes.d.ts').ProfitAndLoss }>} */ { body }) => html`<${Figures} pnl=${body.data} onFigures=${onFigures} />`} context=${context} />`
  return html`<p class="more">${said && html`<span class="soft">${said}</span>`}
    <button type="button" onClick=${() => setWanted(true)}>${verb} <i>${pluralize(position.is_active ? credits.pnl : credits.pnlOfClosed, 'credit')} ${terms}</i></button></p>`
}

/** @param {{ pnl: import('../../lib/shapes.d.ts').ProfitAndLoss, onFigures?: (pnl: import('../../lib/shapes.d.ts').ProfitAndLoss) => void }} props */
function Figures({ pnl, onFigures }) {
  useEffect(() => onFigures?.(pnl), [pnl])
  const negated = (/** @type {string} */ text) => (text.startsWith('-') ? text.slice(1) : `-${text}`)
  const fees = sumDollars([pnl.net_impermanent_loss, negated(pnl.pure_impermanent_loss)])
  const made = [
    ['Prices of what was put in', pnl.market_pnl_usd_value],
    ['Fees earned', fees],
    ['Divergence loss', pnl.pure_impermanent_loss],
  ]
  return html`<div class="pnl">
    <p class="pnl-total">Profit and loss <b><${Change} value=${pnl.pnl_usd_value} /></b> <${Percent} value=${pnl.pnl_percentage} /></p>
    <${Parts} rows=${made} />
    <${DefinitionList} rows=${[
      ['Realized', html`<${Change} value=${pnl.realized_usd_value} />`],
      ['Unrealized', html`<${Change} value=${pnl.unrealized_usd_value} />`],
      ['Holding instead', html`<${Usd} value=${pnl.hodl_gross_benchmark_usd_value} />`],
      ['Against holding', html`<${Change} value=${pnl.alpha_vs_hodl_gross_usd_value} />`],
      ['Average capital', html`<${Usd} value=${pnl.time_weighted_average_capital} />`],
    ]} />
  </div>`
}

/** What a profit is made of, as bars on both sides of zero. @param {{ rows: readonly string[][] }} props */
function Parts({ rows }) {
  const widest = Math.max(...rows.map(([, value = '0']) => Math.abs(Number(value))), 1e-6)
  return html`<dl class="bars">
    ${rows.map(
      ([name, value = '0']) => html`<div>
        <dt class="soft">${name}</dt>
        <dd>
          <svg class="bar-picture" viewBox="-100 0 200 10" preserveAspectRatio="none" aria-hidden="true">
            <rect class=${isNegative(value) ? 'bad' : 'good'} x=${Math.min(0, (Number(value) / widest) * 100)} y="1" width=${Math.abs((Number(value) / widest) * 100)} height="8" />
            <line x1="0" x2="0" y1="0" y2="10" />
          </svg>
          <${Change} value=${value} />
        </dd>
      </div>`,
    )}
  </dl>`
}
