import { formatDollars } from '../../lib/decimal.js'
import { formatDay, parseMoment, pluralize } from '../../lib/time.js'
import { html } from '../../lib/view.js'
import { Chart } from '../../part/chart/chart.js'
import { axisDollars, axisNumber } from '../../part/chart/scale.js'
import { Disclosure } from '../../part/disclosure.js'
import { EmptyState } from '../../part/notice.js'
import { Table } from '../../part/table.js'
import { Offer, usePress } from '../requests/offer.js'
import { formatQuery } from '../requests/plan.js'
import { PolledAnswer, usePolledAnswer } from '../requests/polling.js'
import { Events, formatEvent, toEventPagePath, useEvents } from './events.js'

/**
 * Daily series and events of a wallet in one market up to the moment of the view. Both are read on a click, because they
 * cost credits.
 * @param {{ chainId: number, marketId: string, context: import('../page.js').Context }} props
 */
export function MarketHistory({ chainId, marketId, context }) {
  const { catalog, view } = context
  const base = `v1/lending/aave-v3/position/${chainId}`
  const query = formatQuery({ wallet: view.wallet, market_id: marketId })
  const snapshotsPath = catalog.snapshots ? `${base}/snapshots?${query}` : undefined
  const eventsPath = catalog.events ? `${base}/events?${query}` : undefined
  const { isPressed, press } = usePress(context, [
    ...(snapshotsPath === undefined ? [] : [snapshotsPath]),
    ...(eventsPath === undefined ? [] : [toEventPagePath(eventsPath, 1)]),
  ])
  const snapshots = usePolledAnswer(isPressed ? snapshotsPath : undefined, context.key, context)
  const events = useEvents(isPressed ? eventsPath : undefined, context)
  if (snapshotsPath === undefined && eventsPath === undefined) return null
  const credits = (catalog.snapshots ? catalog.credits.snapshots : 0) + (catalog.events ? catalog.credits.events : 0)
  if (!isPressed)
    return html`<p class="more"><${Offer} price=${pluralize(credits, 'credit')} onPress=${press}>${snapshotsPath === undefined ? 'Events' : eventsPath === undefined ? 'Day by day' : 'Day by day, and events'}<//></p>`
  const until = parseMoment(view.asOf)
  return html`<div class="history">
    <h5>History</h5>
    ${catalog.snapshots && html`<${PolledAnswer} request=${snapshots} what="The daily series" render=${(/** @type {import('../../lib/api.js').Answer<import('../../lib/shapes.d.ts').Snapshots>} */ { body, since }) => html`<${Series} rows=${body.data.filter(({ timestamp }) => timestamp <= until)} since=${since} events=${events.rows} isPast=${view.asOf !== ''} />`} context=${context} />`}
    ${catalog.events && html`<${PolledAnswer} request=${events} what="The events" render=${() => html`<${Events} events=${events} chainId=${chainId} catalog=${catalog} />`} context=${context} />`}
  </div>`
}

/** @param {{ rows: readonly import('../../lib/shapes.d.ts').Snapshot[], since: string | undefined, events: readonly import('../../lib/shapes.d.ts').LendingEvent[], isPast: boolean }} props */
function Series({ rows, since, events, isPast }) {
  if (rows.length === 0) {
    return html`<${EmptyState} title=${isPast ? 'No day was over by then' : 'No day is over yet'}>The series has one entry for each UTC midnight since the wallet first moved a token in this market.<//>`
  }
  const times = rows.map(({ timestamp }) => timestamp)
  const marks = events
    .toReversed()
    .map((event) => ({ time: event.timestamp, kind: event.type, text: formatEvent(event) }))
  const getValues = (/** @type {'net_worth_usd' | 'collateral_usd' | 'debt_usd' | 'health_factor'} */ name) =>
    rows.map((row) => row[name])
  return html`
    <${Chart} title="Net worth, collateral and debt" times=${times} marks=${marks} format=${formatDollars} axis=${axisDollars} series=${[
      { name: 'Net worth', kind: 'net', values: getValues('net_worth_usd') },
      { name: 'Collateral', kind: 'supply', values: getValues('collateral_usd') },
      { name: 'Debt', kind: 'debt', values: getValues('debt_usd') },
    ]} />
    <${Chart} title="Health factor" times=${times} height=${110} floor=${1} format=${(/** @type {string} */ text) => text} axis=${axisNumber} series=${[
      {
        name: 'Health factor',
        kind: 'health',
        values: getValues('health_factor').map((text) => (/^\d/.test(text) ? text : null)),
      },
    ]} />
    ${since && html`<p class="soft">The series begins on ${since}: this chain's endpoints keep no older state.</p>`}
    <${Disclosure} class="as-table" title=${`${pluralize(rows.length, 'day')} as a table`}>
      <${Table} label="Daily series" columns=${['Midnight (UTC)', 'Net worth', 'Collateral', 'Debt', 'Health']}>
        ${rows.toReversed().map((row) => html`<tr><th scope="row">${formatDay(row.timestamp)}</th><td>${formatDollars(row.net_worth_usd)}</td><td>${formatDollars(row.collateral_usd)}</td><td>${formatDollars(row.debt_usd)}</td><td>${row.health_factor}</td></tr>`)}
      <//>
    <//>`
}
