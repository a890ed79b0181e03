import type { ComponentChildren } from 'preact'
import {
  formatDollars,
  formatPercent,
  formatRatioAsPercent,
  formatSignedDollars,
  formatSignificant,
  isNegative,
  isPositive,
} from '../lib/decimal.ts'
import { classes } from '../lib/view.ts'
import { useCopy } from './copy.tsx'

interface FigureProps {
  readonly exact: string
  readonly unit?: string
  readonly children: ComponentChildren
  readonly class?: string
}

/** Rounded figure. Hover and focus show all digits; a click copies them. */
function Figure({ exact, unit = '', children, ...rest }: FigureProps) {
  const [state, copy] = useCopy(exact)
  const all = state === 'done' ? 'Copied' : state === 'failed' ? 'Cannot copy here' : `${exact}${unit}`
  return (
    <button type="button" class={classes('figure', rest.class)} onClick={copy}>
      {children}
      <span class="figure-all">{all}</span>
    </button>
  )
}

/** US dollars; null if a price is missing. */
export function Usd({ value }: { value: string | null }) {
  if (value === null || value === undefined) return <span class="absent">no price</span>
  return (
    <Figure exact={value} unit=" USD">
      {formatDollars(value)}
    </Figure>
  )
}

/** Signed US dollars. */
export function Change({ value }: { value: string }) {
  const mood = isPositive(value) ? 'good' : isNegative(value) ? 'bad' : ''
  return (
    <Figure exact={value} unit=" USD" class={mood}>
      {formatSignedDollars(value)}
    </Figure>
  )
}

/** Whole tokens. */
export function Amount({ value, symbol }: { value: string; symbol: string }) {
  return (
    <Figure exact={value} unit={` ${symbol}`}>
      {formatSignificant(value)}
    </Figure>
  )
}

/** Symbol of a token, of any length: it breaks where its place ends. */
export function TokenSymbol({ symbol }: { symbol: string }) {
  return <span class="symbol">{symbol}</span>
}

/** Ratio as percent. */
export function Rate({ value }: { value: string }) {
  return <Figure exact={value}>{formatRatioAsPercent(value)}</Figure>
}

/** Percent. */
export function Percent({ value }: { value: string }) {
  return (
    <Figure exact={value} unit=" %">
      {formatPercent(value)}
    </Figure>
  )
}

/** Multiple, such as leverage. */
export function Multiple({ value }: { value: string }) {
  return (
    <Figure exact={value} unit="×">
      {/^\d/.test(value) ? `${formatSignificant(value, 3)}×` : 'no equity left'}
    </Figure>
  )
}

/** Name and value. */
export type Definition = readonly [ComponentChildren, ComponentChildren]

/** List of names and values. */
export function DefinitionList({ rows }: { rows: readonly Definition[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div>
          <dt class="soft">{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
