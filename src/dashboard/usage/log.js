import { withQuery } from '../lib/account.js'
import { useAnswer } from '../lib/hooks.js'
import { classes, html, useState } from '../lib/view.js'
import { Choice, Field } from '../part/field.js'
import { EmptyState } from '../part/notice.js'
import { PagedTable } from '../part/table.js'

const LIVE_MS = 2_500
const CLOCK = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
})
const COLUMNS = ['When (UTC)', 'Status', 'Path', 'Key', 'Took', 'Credits']
const EMPTY = { range: '24h', errors: 'all', status_code: '', path: '', api_key_id: '' }

/**
 * Log of requests with its filters. The first page refreshes itself.
 * @param {{ path: string }} props
 */
export function Log({ path }) {
  const [filter, setFilter] = useState(EMPTY)
  const [page, setPage] = useState(1)
  const [live, setLive] = useState(true)
  const request = useAnswer(withQuery(path, { ...filter, page, limit: 25 }), live && page === 1 ? LIVE_MS : undefined)
  const change = (/** @type {string} */ name) => (/** @type {string} */ value) => {
    setPage(1)
    setFilter({ ...filter, [name]: value.trim() })
  }
  const isUnfiltered = Object.entries(EMPTY).every(([name, value]) => filter[name] === value)
  const empty = html`<${EmptyState} title="No request fits">${isUnfiltered ? 'Calls with a key of this organization appear here as they are made.' : 'Widen the range or drop a filter.'}<//>`
  return html`<div class="card">
    <${Filters} filter=${filter} change=${change} live=${live} onLive=${() => setLive(!live)} />
    <${PagedTable} label="Requests" class="log" columns=${COLUMNS} request=${request} waiting="Reading the log" empty=${empty} noun="request" onPage=${setPage}>
      ${(/** @type {import('../lib/shapes.d.ts').LoggedRequest} */ row) => html`<tr>
        <td>${CLOCK.format(Date.parse(row.requested_at))}</td>
        <td><b class=${row.status_code < 400 ? 'good' : row.status_code < 500 ? 'warn' : 'bad'}>${row.status_code}</b></td>
        <td class="mono">${row.method} ${row.path}</td>
        <td><button type="button" class="small quiet" onClick=${() => change('api_key_id')(row.api_key_id)} aria-label=${`${row.api_key_name}: only this key`}>${row.api_key_name}</button></td>
        <td>${row.latency_ms.toLocaleString('en')} ms</td>
        <td>${row.credits_charged.toLocaleString('en')}</td>
      </tr>`}
    <//>
  </div>`
}

/** @param {{ filter: typeof EMPTY, change: (name: string) => (value: string) => void, live: boolean, onLive: () => void }} props */
function Filters({ filter, change, live, onLive }) {
  return html`<div class="fields inline">
    <${Choice} label="Over" value=${filter.range} options=${['5m', '1h', '24h', '7d', '30d']} onValue=${change('range')} />
    <${Choice} label="Outcome" value=${filter.errors} options=${['all', ['success', 'successes'], 'errors']} onValue=${change('errors')} />
    <${Field} label="Status" size="4" inputmode="numeric" value=${filter.status_code} late onValue=${change('status_code')} placeholder="any" />
    <${Field} label="Path" place="grow" class="mono" value=${filter.path} late onValue=${change('path')} placeholder="any" />
    <${Field} label="Key id" class="mono" size="14" value=${filter.api_key_id} late onValue=${change('api_key_id')} placeholder="any" />
    <button type="button" class=${classes('live', live && 'on')} aria-pressed=${live} onClick=${onLive}>Live</button>
  </div>`
}
