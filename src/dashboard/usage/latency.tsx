import { withQuery } from '../lib/account.ts'
import { useAnswer } from '../lib/hooks.ts'
import type { Latency } from '../lib/shapes.ts'
import { EmptyState, LoadedAnswer } from '../part/notice.tsx'
import { Table } from '../part/table.tsx'

/** Latency of requests by route. */
export function Latencies({ path, range }: { path: string; range: string }) {
  const request = useAnswer<{ data: readonly Latency[] }>(withQuery(path, { range }))
  return (
    <LoadedAnswer request={request} waiting="Measuring">
      {({ data }: { data: readonly Latency[] }) =>
        data.length === 0 ? <EmptyState title={`No latency to show in ${range}`} /> : <Rows rows={data} />
      }
    </LoadedAnswer>
  )
}

function Rows({ rows }: { rows: readonly Latency[] }) {
  const maxMs = Math.max(...rows.map((row) => row.p99_ms), 1)
  return (
    <>
      <h3>Latency</h3>
      <Table label="Latency" class="latency" columns={['Route', 'Requests', 'p50', 'p90', 'p99', 'Longest', <td />]}>
        {rows.map((row) => (
          <tr>
            <th scope="row" class="mono">
              {row.path || 'requests without a route'}
            </th>
            <td>{row.requests.toLocaleString('en')}</td>
            <td>{row.p50_ms} ms</td>
            <td>{row.p90_ms} ms</td>
            <td>{row.p99_ms} ms</td>
            <td>{row.max_ms} ms</td>
            <td class="span-cell">
              <svg class="span" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect class="p99" width={(row.p99_ms / maxMs) * 100} y="2" height="4" />
                <rect class="p50" width={(row.p50_ms / maxMs) * 100} y="2" height="4" />
              </svg>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}
