import { dollars, isNegative, isPositive, percent, percentOfRatio, signedDollars, significant } from '../lib/decimal.js'
import { classes, html } from '../lib/view.js'
import { useCopy } from './copy.js'

/**
 * A figure in few digits. All of them appear when it is pointed at or focused, and are copied when it is pressed.
 * @param {{ exact: string, unit?: string, children: unknown, class?: string }} props
 */
export function Figure({ exact, unit = '', children, ...rest }) {
  const [state, copy] = useCopy(exact)
  const all = state === 'done' ? 'Copied' : state === 'failed' ? 'Cannot copy here' : `${exact}${unit}`
  return html`<button type="button" class=${classes('figure', rest.class)} onClick=${copy}>
    ${children}<span class="figure-all" role="status">${all}</span>
  </button>`
}

/** @param {{ value: string | null, class?: string }} props US dollars; null if a price is missing */
export function Usd({ value, ...rest }) {
  if (value === null || value === undefined) return html`<span class="absent">no price</span>`
  return html`<${Figure} exact=${value} unit=" USD" class=${rest.class}>${dollars(value)}<//>`
}

/** A gain or a loss. @param {{ value: string, class?: string }} props */
export function Change({ value, ...rest }) {
  const mood = isPositive(value) ? 'gain' : isNegative(value) ? 'loss' : ''
  return html`<${Figure} exact=${value} unit=" USD" class=${classes(mood, rest.class)}>${signedDollars(value)}<//>`
}

/** @param {{ value: string, symbol: string }} props whole tokens */
export function Amount({ value, symbol }) {
  return html`<${Figure} exact=${value} unit=${` ${symbol}`}>${significant(value)}<//>`
}

/** A ratio as percent. @param {{ value: string }} props */
export function Rate({ value }) {
  return html`<${Figure} exact=${value}>${percentOfRatio(value)}<//>`
}

/** @param {{ value: string }} props percent already */
export function Percent({ value }) {
  return html`<${Figure} exact=${value} unit=" %">${percent(value)}<//>`
}

/** A plain number to `digits` significant digits. @param {{ value: string, digits?: number, unit?: string }} props */
export function Plain({ value, digits = 5, unit = '' }) {
  return html`<${Figure} exact=${value} unit=${unit}>${significant(value, digits)}${unit}<//>`
}

/**
 * Names and values below each other.
 * @param {{ rows: readonly (readonly [unknown, unknown] | false | undefined)[], class?: string }} props
 */
export function Facts({ rows, ...rest }) {
  const shown = rows.filter((row) => row !== false && row !== undefined)
  return html`<dl class=${classes('facts', rest.class)}>
    ${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`
}
