import { withQuery } from '../lib/account.js'
import { formatThousands } from '../lib/decimal.js'
import { useAnswer } from '../lib/hooks.js'
import { formatDay } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { UsageChart } from '../part/chart/usage.js'
import { EmptyState } from '../part/notice.js'
import { PagedTable } from '../part/table.js'
import { BASE } from './base.js'
import { LimitsForm } from './limits_form.js'

const COLUMNS = ['Name', 'Credits left', 'Granted', 'Rate limit', 'Since', 'State']

/** All organizations, their requests, and a form for a new one. */
export function Organizations() {
  const [page, setPage] = useState(1)
  const [range, setRange] = useState('24h')
  /** @type {import('../lib/hooks.js').RequestState<{ data: readonly import('../lib/shapes.d.ts').OrganizationRow[] }>} */
  const request = useAnswer(withQuery(`${BASE}/organizations`, { page, limit: 25 }))
  const names = new Map(request.answer?.ok ? request.answer.body.data.map(({ id, name }) => [id, name]) : [])
  const empty = html`<${EmptyState} title="No organization yet">Keys and credits belong to organizations: create the first one above.<//>`
  return html`
    <section class="family" aria-label="Organizations">
      <h2>Organizations</h2>
      <div class="card">
        <${LimitsForm} path=${`${BASE}/organizations`} method="POST" label="Name of a new organization" verb="Create" refused="It was not created" onDone=${(/** @type {import('../lib/api.js').Answer<{ data: import('../lib/shapes.d.ts').OrganizationRow }>} */ { body }) => (location.hash = `organizations/${body.data.id}`)} />
        <${PagedTable} label="Organizations" columns=${COLUMNS} request=${request} waiting="Reading the organizations" empty=${empty} noun="organization" isOldestFirst onPage=${setPage}>
          ${(/** @type {import('../lib/shapes.d.ts').OrganizationRow} */ row) => html`<tr>
            <th scope="row"><a href=${`#organizations/${row.id}`}>${row.name}</a></th>
            <td>${formatThousands(row.balance)}</td><td>${formatThousands(row.granted)}</td><td>${row.rate_limit.toLocaleString('en')}/s</td>
            <td>${formatDay(row.created_at)}</td>
            <td>${row.suspended_at ? html`<span class="badge warn">suspended</span>` : html`<span class="badge good">active</span>`}</td>
          </tr>`}
        <//>
      </div>
    </section>
    <section class="family" aria-label="Requests of all"><h2>Requests of all</h2>
      <div class="card"><${UsageChart} path=${`${BASE}/usage`} range=${range} onRange=${setRange} names=${names} choices=${[['organization', 'organization'], ['path', 'route'], ['status', 'status']]} /></div>
    </section>`
}
