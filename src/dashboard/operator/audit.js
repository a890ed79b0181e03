import { withQuery } from '../lib/account.js'
import { useAnswer } from '../lib/hooks.js'
import { formatMoment } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { EmptyState } from '../part/notice.js'
import { PagedTable, textColumn } from '../part/table.js'
import { BASE } from './base.js'

const COLUMNS = ['When', ...['Who', 'What', 'Of what', 'Details'].map(textColumn)]

/**
 * Audit list: who changed what and when; of one organization if `organizationId` is set.
 * @param {{ organizationId?: string }} props
 */
export function Audit({ organizationId }) {
  const [page, setPage] = useState(1)
  const request = useAnswer(withQuery(`${BASE}/audit`, { organization_id: organizationId, page, limit: 25 }))
  return html`<section class="family" aria-label="Audit list">
    <h2>Audit list</h2>
    <div class="card">
      <${PagedTable} label="Changes" columns=${COLUMNS} request=${request} waiting="Reading the audit list" empty=${html`<${EmptyState} title="Nothing was changed yet" />`} noun="change" onPage=${setPage}>
        ${(/** @type {import('../lib/shapes.d.ts').Change} */ row) => html`<tr>
          <td>${formatMoment(row.at)}</td><td class="words">${formatActor(row)}</td><td class="words">${row.action}</td>
          <td class="words mono">${row.subject}</td><td class="words mono">${formatDetails(row.detail)}</td>
        </tr>`}
      <//>
    </div>
  </section>`
}

/** @param {import('../lib/shapes.d.ts').Change} change */
function formatActor({ actor, account }) {
  return account === null ? actor : `${actor} (${account})`
}

/** @param {Record<string, unknown>} detail */
function formatDetails(detail) {
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ')
}
