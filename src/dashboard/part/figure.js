import {
  formatDollars,
  formatPercent,
  formatRatioAsPercent,
  formatSignedDollars,
  formatSignificant,
  isNegative,
  isPositive,
} from '../lib/decimal.js'
import { classes, html } from '../lib/view.js'
import { useCopy } from './copy.js'
import { useRovingFocus } from './roving_focus.js'

/**
 * Rounded figure. Hover and focus show all digits; a click copies them.
 * @param {{ exact: string, unit?: string, children: unknown, class?: string }} props
 */
function Figure({ exact, unit = '', children, ...rest }) {
  const [state, copy] = useCopy(exact)
  const rove = useRovingFocus()
  const all = state === 'done' ? 'Copied' : state === 'failed' ? 'Cannot copy here' : `${exact}${unit}`
  return html`<button ...${rove} type="button" class=${classes('figure', rest.class)} onClick=${copy}>
    ${children}<span class="figure-all" role="status">${all}</span>
  </button>`
}

/** @param {{ value: string | null }} props US dollars; null if a price is missing */
export function Usd({ value }) {
  if (value === null || value === undefined) return html`<span class="absent">no price</span>`
  return html`<${Figure} exact=${value} unit=" USD">${formatDollars(value)}<//>`
}

/** Signed US dollars. @param {{ value: string }} props */
export function Change({ value }) {
  const mood = isPositive(value) ? 'good' : isNegative(value) ? 'bad' : ''
  return html`<${Figure} exact=${value} unit=" USD" class=${mood}>${formatSignedDollars(value)}<//>`
}

/** @param {{ value: string, symbol: string }} props whole tokens */
export function Amount({ value, symbol }) {
  return html`<${Figure} exact=${value} unit=${` ${symbol}`}>${formatSignificant(value)}<//>`
}

/** Symbol of a token, of any length: it breaks where its place ends. @param {{ symbol: string }} props */
export function TokenSymbol({ symbol }) {
  return html`<span class="symbol">${symbol}</span>`
}

/** Ratio as percent. @param {{ value: string }} props */
export function Rate({ value }) {
  return html`<${Figure} exact=${value}>${formatRatioAsPercent(value)}<//>`
}

/** @param {{ value: string }} props percent */
export function Percent({ value }) {
  return html`<${Figure} exact=${value} unit=" %">${formatPercent(value)}<//>`
}

/** Multiple, such as leverage. @param {{ value: string }} props */
export function Multiple({ value }) {
  return html`<${Figure} exact=${value} unit="×">${formatSignificant(value, 3)}×<//>`
}

/**
 * List of names and values.
 * @param {{ rows: readonly (readonly [unknown, unknown])[] }} props
 */
export function DefinitionList({ rows }) {
  return html`<dl class="facts">
    ${rows.map(([name, value]) => html`<div><dt class="soft">${name}</dt><dd>${value}</dd></div>`)}
  </dl>`
}
