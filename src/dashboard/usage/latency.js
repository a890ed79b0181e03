import { withQuery } from '../lib/account.js'
import { useAnswer } from '../lib/hooks.js'
import { html } from '../lib/view.js'
import { EmptyState, LoadedAnswer } from '../part/notice.js'
import { Table } from '../part/table.js'

/**
 * Latency of requests by route.
 * @param {{ path: string, range: string }} props
 */
export function Latency({ path, range }) {
  const request = useAnswer(withQuery(path, { range }))
  return html`<${LoadedAnswer} request=${request} waiting="Measuring">
    ${(/** @type {{ data: readonly import('../lib/shapes.d.ts').Latency[] }} */ { data }) => (data.length === 0 ? html`<${EmptyState} title=${`No latency to show in ${range}`} />` : html`<${Rows} rows=${data} />`)}
  <//>`
}

/** @param {{ rows: readonly import('../lib/shapes.d.ts').Latency[] }} props */
function Rows({ rows }) {
  const maxMs = Math.max(...rows.map((row) => row.p99_ms), 1)
  return html`<h3>Latency</h3>
    <${Table} label="Latency" class="latency" columns=${['Route', 'Requests', 'p50', 'p90', 'p99', 'Longest', html`<td></td>`]}>
      ${rows.map(
        (row) => html`<tr>
          <th scope="row" class="mono">${row.path || 'requests without a route'}</th>
          <td>${row.requests.toLocaleString('en')}</td><td>${row.p50_ms} ms</td><td>${row.p90_ms} ms</td><td>${row.p99_ms} ms</td><td>${row.max_ms} ms</td>
          <td class="span-cell"><svg class="span" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect class="p99" width=${(row.p99_ms / maxMs) * 100} y="2" height="4" /><rect class="p50" width=${(row.p50_ms / maxMs) * 100} y="2" height="4" />
          </svg></td>
        </tr>`,
      )}
    <//>`
}
