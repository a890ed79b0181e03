import { pluralize } from '../../lib/time.js'
import { html } from '../../lib/view.js'
import { Choice } from '../../part/field.js'
import { Change, DefinitionList, Usd } from '../../part/figure.js'
import { computeTotals, sortPositions } from './order.js'

/** @type {readonly (readonly [string, string])[]} */
const BY = [
  ['listed', 'as listed'],
  ['value', 'value'],
  ['fees', 'uncollected fees'],
  ['pnl', 'profit and loss'],
]
/** @type {readonly (readonly [string, string])[]} */
const SHOW = [
  ['all', 'all'],
  ['in', 'in range'],
  ['out', 'out of range'],
  ['closed', 'closed'],
]
/** @type {readonly (readonly [string, string])[]} */
const LEAST = [
  ['0', 'nothing'],
  ['1', 'below $1'],
  ['10', 'below $10'],
  ['100', 'below $100'],
]

/**
 * Totals over all loaded positions, and controls for their order and filter.
 * @param {{ parts: readonly import('../requests/answers.js').RequestedPart[], order: import('./order.js').Order, onOrder: (order: import('./order.js').Order) => void }} props
 */
export function LiquidityBar({ parts, order, onOrder }) {
  const positions = parts.flatMap(({ answer }) =>
    answer?.ok ? /** @type {import('../../lib/shapes.d.ts').PositionList} */ (answer.body).data : [],
  )
  if (positions.length === 0) return null
  const { open, inRange, outOfRange, value, fees, pnl } = computeTotals(positions)
  const hidden = positions.length - sortPositions(positions, order).length
  const set = (/** @type {keyof typeof order} */ name) => (/** @type {string} */ chosen) =>
    onOrder(/** @type {import('./order.js').Order} */ ({ ...order, [name]: chosen }))
  const sum = (/** @type {typeof Change} */ Figure, /** @type {{ usd: string, count: number }} */ { usd, count }) =>
    count === 0 && open > 0
      ? html`<span class="absent">unknown</span>`
      : html`<${Figure} value=${usd} />${count < open && html` <span class="soft">of ${count} of ${open}</span>`}`
  return html`<div class="card liquidity-bar" role="group" aria-label="All liquidity positions">
    <${DefinitionList} rows=${[
      ['Open', pluralize(open, 'position')],
      ['In range', String(inRange)],
      ['Out of range', String(outOfRange)],
    ]} />
    <${DefinitionList} rows=${[
      ['Value', sum(Usd, value)],
      ['Uncollected fees', sum(Usd, fees)],
      ['Profit and loss', sum(Change, pnl)],
    ]} />
    <div class="choices">
      <${Choice} label="Sort by" value=${order.by} options=${BY} onValue=${set('by')} />
      <${Choice} label="Show" value=${order.show} options=${SHOW} onValue=${set('show')} />
      <${Choice} label="Hide" value=${order.least} options=${LEAST} onValue=${set('least')} />
      <p class="soft" role="status">${hidden > 0 && `${pluralize(hidden, 'position')} hidden.`}</p>
    </div>
  </div>`
}
