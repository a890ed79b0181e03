import { withQuery } from '../lib/account.ts'
import type { Answer } from '../lib/api.ts'
import { formatThousands } from '../lib/decimal.ts'
import { useAnswer } from '../lib/hooks.ts'
import type { OrganizationList, OrganizationRow } from '../lib/shapes.ts'
import { formatDay } from '../lib/time.ts'
import { useState } from '../lib/view.ts'
import { UsageChart } from '../part/chart/usage.tsx'
import { EmptyState } from '../part/notice.tsx'
import { PagedTable } from '../part/table.tsx'
import { BASE } from './base.ts'
import { LimitsForm } from './limits_form.tsx'

const COLUMNS = ['Name', 'Credits left', 'Granted', 'Rate limit', 'Since', 'State']

/** All organizations, their requests, and a form for a new one. */
export function Organizations() {
  const [page, setPage] = useState(1)
  const [range, setRange] = useState('24h')
  const request = useAnswer<OrganizationList>(withQuery(`${BASE}/organizations`, { page, limit: 25 }))
  const names = new Map(request.answer?.ok ? request.answer.body.data.map(({ id, name }) => [id, name]) : [])
  const empty = (
    <EmptyState title="No organization yet">
      Keys and credits belong to organizations: create the first one above.
    </EmptyState>
  )
  return (
    <>
      <section class="family" aria-label="Organizations">
        <h2>Organizations</h2>
        <div class="card">
          <LimitsForm
            path={`${BASE}/organizations`}
            method="POST"
            label="Name of a new organization"
            verb="Create"
            refused="It was not created"
            onDone={({ body }: Answer<{ data: OrganizationRow }>) => (location.hash = `organizations/${body.data.id}`)}
          />
          <PagedTable
            label="Organizations"
            columns={COLUMNS}
            request={request}
            waiting="Reading the organizations"
            empty={empty}
            noun="organization"
            isOldestFirst
            onPage={setPage}
          >
            {(row: OrganizationRow) => (
              <tr>
                <th scope="row">
                  <a href={`#organizations/${row.id}`}>{row.name}</a>
                </th>
                <td>{formatThousands(row.balance)}</td>
                <td>{formatThousands(row.granted)}</td>
                <td>{row.rate_limit.toLocaleString('en')}/s</td>
                <td>{formatDay(row.created_at)}</td>
                <td>
                  {row.suspended_at ? (
                    <span class="badge warn">suspended</span>
                  ) : (
                    <span class="badge good">active</span>
                  )}
                </td>
              </tr>
            )}
          </PagedTable>
        </div>
      </section>
      <section class="family" aria-label="Requests of all">
        <h2>Requests of all</h2>
        <div class="card">
          <UsageChart
            path={`${BASE}/usage`}
            range={range}
            onRange={setRange}
            names={names}
            choices={[
              ['organization', 'organization'],
              ['path', 'route'],
              ['status', 'status'],
            ]}
          />
        </div>
      </section>
    </>
  )
}
