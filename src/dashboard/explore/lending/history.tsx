import { formatDollars } from '../../lib/decimal.ts'
import type { LendingEvent, LendingSnapshot, LendingSnapshots } from '../../lib/shapes.ts'
import { formatDay, parseMoment, pluralize } from '../../lib/time.ts'
import { Chart } from '../../part/chart/chart.tsx'
import { axisDollars, axisNumber } from '../../part/chart/scale.ts'
import { Disclosure } from '../../part/disclosure.tsx'
import { EmptyState } from '../../part/notice.tsx'
import { Table } from '../../part/table.tsx'
import type { Context } from '../page.tsx'
import { Offer, usePress } from '../requests/offer.tsx'
import { formatQuery } from '../requests/plan.ts'
import { PolledAnswer, usePolledAnswer } from '../requests/polling.tsx'
import { Events, formatEvent, toEventPagePath, useEvents } from './events.tsx'

interface MarketHistoryProps {
  readonly chainId: number
  readonly marketId: string
  readonly context: Context
}

/**
 * Daily series and events of a wallet in one market up to the moment of the view. Both are read on a click, because they
 * cost credits.
 */
export function MarketHistory({ chainId, marketId, context }: MarketHistoryProps) {
  const { catalog, view } = context
  const base = `v1/lending/aave-v3/position/${chainId}`
  const query = formatQuery({ wallet: view.wallet, market_id: marketId })
  const snapshotsPath = catalog.snapshots ? `${base}/snapshots?${query}` : undefined
  const eventsPath = catalog.events ? `${base}/events?${query}` : undefined
  const { isPressed, press } = usePress(context, [
    ...(snapshotsPath === undefined ? [] : [snapshotsPath]),
    ...(eventsPath === undefined ? [] : [toEventPagePath(eventsPath, 1)]),
  ])
  const snapshots = usePolledAnswer<LendingSnapshots>(isPressed ? snapshotsPath : undefined, context.key, context)
  const events = useEvents(isPressed ? eventsPath : undefined, context)
  if (snapshotsPath === undefined && eventsPath === undefined) return null
  const credits = (catalog.snapshots ? catalog.credits.snapshots : 0) + (catalog.events ? catalog.credits.events : 0)
  if (!isPressed)
    return (
      <p class="more">
        <Offer price={pluralize(credits, 'credit')} onPress={press}>
          {snapshotsPath === undefined ? 'Events' : eventsPath === undefined ? 'Day by day' : 'Day by day, and events'}
        </Offer>
      </p>
    )
  const until = parseMoment(view.asOf)
  return (
    <div class="history">
      <h5>History</h5>
      {catalog.snapshots && (
        <PolledAnswer
          request={snapshots}
          what="The daily series"
          render={({ body, since }) => (
            <Series
              rows={body.data.filter(({ timestamp }) => timestamp <= until)}
              since={since}
              events={events.rows}
              isPast={view.asOf !== ''}
            />
          )}
          context={context}
        />
      )}
      {catalog.events && (
        <PolledAnswer
          request={events}
          what="The events"
          render={() => <Events events={events} chainId={chainId} catalog={catalog} />}
          context={context}
        />
      )}
    </div>
  )
}

interface SeriesProps {
  readonly rows: readonly LendingSnapshot[]
  readonly since: string | undefined
  readonly events: readonly LendingEvent[]
  readonly isPast: boolean
}

function Series({ rows, since, events, isPast }: SeriesProps) {
  if (rows.length === 0) {
    return (
      <EmptyState title={isPast ? 'No day was over by then' : 'No day is over yet'}>
        The series has one entry for each UTC midnight since the wallet first moved a token in this market.
      </EmptyState>
    )
  }
  const times = rows.map(({ timestamp }) => timestamp)
  const marks = events
    .toReversed()
    .map((event) => ({ time: event.timestamp, kind: event.type, text: formatEvent(event) }))
  const getValues = (name: 'net_worth_usd' | 'collateral_usd' | 'debt_usd' | 'health_factor') =>
    rows.map((row) => row[name])
  return (
    <>
      <Chart
        title="Net worth, collateral and debt"
        times={times}
        marks={marks}
        format={formatDollars}
        axis={axisDollars}
        series={[
          { name: 'Net worth', kind: 'net', values: getValues('net_worth_usd') },
          { name: 'Collateral', kind: 'supply', values: getValues('collateral_usd') },
          { name: 'Debt', kind: 'debt', values: getValues('debt_usd') },
        ]}
      />
      <Chart
        title="Health factor"
        times={times}
        height={110}
        floor={1}
        format={(text: string) => text}
        axis={axisNumber}
        series={[
          {
            name: 'Health factor',
            kind: 'health',
            values: getValues('health_factor').map((text) => (/^\d/.test(text) ? text : null)),
          },
        ]}
      />
      {since && <p class="soft">The series begins on {since}: this chain's endpoints keep no older state.</p>}
      <Disclosure class="as-table" title={`${pluralize(rows.length, 'day')} as a table`}>
        <Table label="Daily series" columns={['Midnight (UTC)', 'Net worth', 'Collateral', 'Debt', 'Health']}>
          {rows.toReversed().map((row) => (
            <tr>
              <th scope="row">{formatDay(row.timestamp)}</th>
              <td>{formatDollars(row.net_worth_usd)}</td>
              <td>{formatDollars(row.collateral_usd)}</td>
              <td>{formatDollars(row.debt_usd)}</td>
              <td>{row.health_factor}</td>
            </tr>
          ))}
        </Table>
      </Disclosure>
    </>
  )
}
