import { chainName } from '../../lib/catalog.js'
import { formatDollars, isPositive } from '../../lib/decimal.js'
import { formatDay, parseMoment, pluralize } from '../../lib/time.js'
import { html } from '../../lib/view.js'
import { Chart } from '../../part/chart/chart.js'
import { axisDollars } from '../../part/chart/scale.js'
import { Disclosure } from '../../part/disclosure.js'
import { EmptyState } from '../../part/notice.js'
import { Table } from '../../part/table.js'
import { Offer, usePress } from '../requests/offer.js'
import { formatQuery } from '../requests/plan.js'
import { PolledAnswer, usePolledAnswer } from '../requests/polling.js'

/** Days of the chart, up to yesterday or the moment of the view, and the limit of the service. */
const DAYS = 90
const DAYS_MAX = 366
const DAY_SEC = 86_400

/** @typedef {import('../../lib/shapes.d.ts').PortfolioSnapshots} Snapshots */

/**
 * Net worth of the wallet on one chain at each midnight up to the moment of the view. Read on a click, because it costs credits.
 * @param {{ chainId: number, atSec: number, context: import('../page.js').Context }} props
 */
export function Days({ chainId, atSec, context }) {
  const { catalog, view, key } = context
  const until = parseMoment(view.asOf)
  const daysAgo = Math.max(0, Math.ceil((atSec - until) / DAY_SEC))
  const max_snapshots = Math.min(DAYS + daysAgo, DAYS_MAX)
  const query = formatQuery({ wallet: view.wallet, chain_id: chainId, max_snapshots })
  const path = `v1/portfolio/snapshots?${query}`
  const { isPressed, press } = usePress(context, [path])
  const request = usePolledAnswer(isPressed ? path : undefined, key, context)
  const name = chainName(catalog, chainId)
  if (!isPressed)
    return html`<p class="more"><${Offer} price=${pluralize(catalog.credits.days, 'credit')} onPress=${press}>Day by day on ${name}<//></p>`
  return html`<article class="card history" aria-label=${`Day by day on ${name}`}>
    <h3>Day by day on ${name}</h3>
    <${PolledAnswer} request=${request} what="The daily series" context=${context} render=${(/** @type {import('../../lib/api.js').Answer<Snapshots>} */ { body, since }) => html`<${Series} rows=${body.data.filter(({ timestamp }) => timestamp <= until)} since=${since} name=${name} />`} />
  </article>`
}

/** @param {{ rows: Snapshots['data'], since: string | undefined, name: string }} props */
function Series({ rows, since, name }) {
  if (rows.length === 0) {
    return html`<${EmptyState} title="No day to show">The series has one entry for each UTC midnight since the wallet first had anything, and goes back ${DAYS_MAX} days at most.<//>`
  }
  const getValues = (/** @type {'net_worth_usd' | 'assets_usd' | 'debt_usd' | 'liquidity_usd'} */ figure) =>
    rows.map((row) => row[figure])
  return html`
    <${Chart} title=${`Net worth, assets and debt on ${name}`} times=${rows.map(({ timestamp }) => timestamp)} format=${formatDollars} axis=${axisDollars} series=${[
      { name: 'Net worth', kind: 'net', values: getValues('net_worth_usd') },
      { name: 'Assets', kind: 'supply', values: getValues('assets_usd') },
      { name: 'Debt', kind: 'debt', values: getValues('debt_usd') },
      ...(rows.some(({ liquidity_usd: usd }) => isPositive(usd))
        ? [{ name: 'Liquidity', kind: 'liquidity', values: getValues('liquidity_usd') }]
        : []),
    ]} />
    ${since && html`<p class="soft">The series begins on ${since}: this chain's endpoints keep no older state.</p>`}
    <${Disclosure} class="as-table" title=${`${pluralize(rows.length, 'day')} as a table`}>
      <${Table} label=${`Daily series on ${name}`} columns=${['Midnight (UTC)', 'Net worth', 'In the wallet', 'Liquidity', 'Supplied', 'Borrowed', 'Unpriced']}>
        ${rows.toReversed().map((row) => html`<tr><th scope="row">${formatDay(row.timestamp)}</th><td>${row.net_worth_usd === null ? 'unknown' : formatDollars(row.net_worth_usd)}</td><td>${formatDollars(row.wallet_usd)}</td><td>${formatDollars(row.liquidity_usd)}</td><td>${formatDollars(row.supplied_usd)}</td><td>${formatDollars(row.borrowed_usd)}</td><td>${row.unpriced}</td></tr>`)}
      <//>
    <//>`
}
