import { formatSignificant } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { Amount, DefinitionList, TokenSymbol } from '../../part/figure.js'
import { atBounds } from './bounds.js'
import { isFullRange } from './scale.js'

/**
 * Amount of the single token that a position consists of at each bound of its range, and the price there.
 * @param {{ position: import('../../lib/shapes.d.ts').FullPosition, inverse: boolean }} props
 */
export function Bounds({ position: { position_state: state, prices }, inverse }) {
  if (isFullRange(state)) return null
  const { token0, token1 } = state
  const all = atBounds(state)
  const shown = inverse ? prices.inverse : prices
  const [base, quote] = [
    { symbol: token0.symbol, amount: all.token0 },
    { symbol: token1.symbol, amount: all.token1 },
  ]
  // With inverse prices, the position is wholly the second token at the lower bound.
  const [atLower, atUpper] = inverse ? [quote, base] : [base, quote]
  return html`<${DefinitionList} rows=${[
    [
      `At ${formatSignificant(shown.lower)} and below, all`,
      html`<${Amount} value=${atLower.amount} symbol=${atLower.symbol} /> <${TokenSymbol} symbol=${atLower.symbol} />`,
    ],
    [
      `At ${formatSignificant(shown.upper)} and above, all`,
      html`<${Amount} value=${atUpper.amount} symbol=${atUpper.symbol} /> <${TokenSymbol} symbol=${atUpper.symbol} />`,
    ],
  ]} />`
}
