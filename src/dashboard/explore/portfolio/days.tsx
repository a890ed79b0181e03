import { chainName } from '../../lib/catalog.ts'
import { formatDollars, isPositive } from '../../lib/decimal.ts'
import type { PortfolioSnapshots } from '../../lib/shapes.ts'
import { formatDay, parseMoment, pluralize } from '../../lib/time.ts'
import { Chart } from '../../part/chart/chart.tsx'
import { axisDollars } from '../../part/chart/scale.ts'
import { Disclosure } from '../../part/disclosure.tsx'
import { EmptyState } from '../../part/notice.tsx'
import { Table } from '../../part/table.tsx'
import type { Context } from '../page.tsx'
import { Offer, usePress } from '../requests/offer.tsx'
import { formatQuery } from '../requests/plan.ts'
import { PolledAnswer, usePolledAnswer } from '../requests/polling.tsx'

/** Days of the chart, up to yesterday or the moment of the view, and the limit of the service. */
const DAYS = 90
const DAYS_MAX = 366
const DAY_SEC = 86_400

/**
 * Net worth of the wallet on one chain at each midnight up to the moment of the view. Read on a click, because it costs
 * credits.
 */
export function Days({ chainId, atSec, context }: { chainId: number; atSec: number; context: Context }) {
  const { catalog, view, key } = context
  const until = parseMoment(view.asOf)
  const daysAgo = Math.max(0, Math.ceil((atSec - until) / DAY_SEC))
  const max_snapshots = Math.min(DAYS + daysAgo, DAYS_MAX)
  const query = formatQuery({ wallet: view.wallet, chain_id: chainId, max_snapshots })
  const path = `v1/portfolio/snapshots?${query}`
  const { isPressed, press } = usePress(context, [path])
  const request = usePolledAnswer<PortfolioSnapshots>(isPressed ? path : undefined, key, context)
  const name = chainName(catalog, chainId)
  if (!isPressed)
    return (
      <p class="more">
        <Offer price={pluralize(catalog.credits.days, 'credit')} onPress={press}>
          Day by day on {name}
        </Offer>
      </p>
    )
  return (
    <article class="card history" aria-label={`Day by day on ${name}`}>
      <h3>Day by day on {name}</h3>
      <PolledAnswer
        request={request}
        what="The daily series"
        context={context}
        render={({ body, since }) => (
          <Series rows={body.data.filter(({ timestamp }) => timestamp <= until)} since={since} name={name} />
        )}
      />
    </article>
  )
}

interface SeriesProps {
  readonly rows: PortfolioSnapshots['data']
  readonly since: string | undefined
  readonly name: string
}

function Series({ rows, since, name }: SeriesProps) {
  if (rows.length === 0) {
    return (
      <EmptyState title="No day to show">
        The series has one entry for each UTC midnight since the wallet first had anything, and goes back {DAYS_MAX}{' '}
        days at most.
      </EmptyState>
    )
  }
  const getValues = (figure: 'net_worth_usd' | 'assets_usd' | 'debt_usd' | 'liquidity_usd') =>
    rows.map((row) => row[figure])
  return (
    <>
      <Chart
        title={`Net worth, assets and debt on ${name}`}
        times={rows.map(({ timestamp }) => timestamp)}
        format={formatDollars}
        axis={axisDollars}
        series={[
          { name: 'Net worth', kind: 'net', values: getValues('net_worth_usd') },
          { name: 'Assets', kind: 'supply', values: getValues('assets_usd') },
          { name: 'Debt', kind: 'debt', values: getValues('debt_usd') },
          ...(rows.some(({ liquidity_usd: usd }) => isPositive(usd))
            ? [{ name: 'Liquidity', kind: 'liquidity', values: getValues('liquidity_usd') }]
            : []),
        ]}
      />
      {since && <p class="soft">The series begins on {since}: this chain's endpoints keep no older state.</p>}
      <Disclosure class="as-table" title={`${pluralize(rows.length, 'day')} as a table`}>
        <Table
          label={`Daily series on ${name}`}
          columns={['Midnight (UTC)', 'Net worth', 'In the wallet', 'Liquidity', 'Supplied', 'Borrowed', 'Unpriced']}
        >
          {rows.toReversed().map((row) => (
            <tr>
              <th scope="row">{formatDay(row.timestamp)}</th>
              <td>{row.net_worth_usd === null ? 'unknown' : formatDollars(row.net_worth_usd)}</td>
              <td>{formatDollars(row.wallet_usd)}</td>
              <td>{formatDollars(row.liquidity_usd)}</td>
              <td>{formatDollars(row.supplied_usd)}</td>
              <td>{formatDollars(row.borrowed_usd)}</td>
              <td>{row.unpriced}</td>
            </tr>
          ))}
        </Table>
      </Disclosure>
    </>
  )
}
