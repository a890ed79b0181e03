import { withQuery } from '../lib/account.ts'
import { useAnswer } from '../lib/hooks.ts'
import type { AuditList, Change } from '../lib/shapes.ts'
import { formatMoment } from '../lib/time.ts'
import { useState } from '../lib/view.ts'
import { EmptyState } from '../part/notice.tsx'
import { PagedTable, textColumn } from '../part/table.tsx'
import { BASE } from './base.ts'

const COLUMNS = ['When', ...['Who', 'What', 'Of what', 'Details'].map(textColumn)]

/** Audit list: who changed what and when; of one organization if `organizationId` is set. */
export function Audit({ organizationId }: { organizationId?: string }) {
  const [page, setPage] = useState(1)
  const request = useAnswer<AuditList>(withQuery(`${BASE}/audit`, { organization_id: organizationId, page, limit: 25 }))
  return (
    <section class="family" aria-label="Audit list">
      <h2>Audit list</h2>
      <div class="card">
        <PagedTable
          label="Changes"
          columns={COLUMNS}
          request={request}
          waiting="Reading the audit list"
          empty={<EmptyState title="Nothing was changed yet" />}
          noun="change"
          onPage={setPage}
        >
          {(row: Change) => (
            <tr>
              <td>{formatMoment(row.at)}</td>
              <td class="words">{formatActor(row)}</td>
              <td class="words">{row.action}</td>
              <td class="words mono">{row.subject}</td>
              <td class="words mono">{formatDetails(row.detail)}</td>
            </tr>
          )}
        </PagedTable>
      </div>
    </section>
  )
}

function formatActor({ actor, account }: Change) {
  return account === null ? actor : `${actor} (${account})`
}

function formatDetails(detail: Record<string, unknown>) {
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ')
}
