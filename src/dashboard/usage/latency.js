import { act, withQuery } from '../lib/account.js'
import { useLoaded } from '../lib/hooks.js'
import { html } from '../lib/view.js'
import { Empty, Trouble, Waiting } from '../part/notice.js'

/**
 * How long requests took, by route.
 * @param {{ path: string, range: string }} props
 */
export function Latency({ path, range }) {
  const { value: answer, again } = useLoaded((signal) => act(withQuery(path, { range }), { signal }), [path, range])
  if (answer === undefined) return html`<${Waiting}>Measuring<//>`
  if (!answer.ok) return html`<${Trouble} failure=${answer} onRetry=${again} />`
  const rows = answer.body.data
  if (rows.length === 0) return html`<${Empty} title=${`No latency to show in ${range}`} />`
  const most = Math.max(...rows.map((/** @type {any} */ row) => row.p99_ms), 1)
  return html`<h3>Latency</h3>
    <div class="scroll" tabindex="0" role="group" aria-label="Latency"><table class="latency">
      <thead><tr><th scope="col">Route</th><th scope="col">Requests</th><th scope="col">p50</th><th scope="col">p90</th><th scope="col">p99</th><th scope="col">Longest</th><td></td></tr></thead>
      <tbody>${rows.map(
        (/** @type {any} */ row) => html`<tr>
          <th scope="row" class="mono">${row.path || 'paths that lead nowhere'}</th>
          <td>${row.requests.toLocaleString('en')}</td><td>${row.p50_ms} ms</td><td>${row.p90_ms} ms</td><td>${row.p99_ms} ms</td><td>${row.max_ms} ms</td>
          <td class="span-cell"><svg class="span" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect class="p99" width=${(row.p99_ms / most) * 100} y="2" height="4" /><rect class="p50" width=${(row.p50_ms / most) * 100} y="2" height="4" />
          </svg></td>
        </tr>`,
      )}</tbody>
    </table></div>`
}
