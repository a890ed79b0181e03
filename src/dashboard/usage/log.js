import { act, withQuery } from '../lib/account.js'
import { useLoaded } from '../lib/hooks.js'
import { classes, html, useEffect, useId, useState } from '../lib/view.js'
import { Empty, Trouble, Waiting } from '../part/notice.js'
import { Pager } from '../part/pager.js'

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
const EMPTY = { range: '24h', errors: 'all', status_code: '', path: '', api_key_id: '' }

/**
 * The log of requests with its filters; the first page follows what happens.
 * @param {{ path: string }} props
 */
export function Log({ path }) {
  const [filter, setFilter] = useState(EMPTY)
  const [page, setPage] = useState(1)
  const [live, setLive] = useState(true)
  const { value: answer, again } = useLoaded(
    (signal) => act(withQuery(path, { ...filter, page, limit: 25 }), { signal }),
    [path, page, ...Object.values(filter)],
  )
  useEffect(() => {
    if (!live || page !== 1) return undefined
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again()
    }, LIVE_MS)
    return () => clearInterval(timer)
  }, [live, page, ...Object.values(filter)])
  const change = (/** @type {string} */ name) => (/** @type {any} */ event) => {
    setPage(1)
    setFilter({ ...filter, [name]: event.target.value.trim() })
  }
  return html`<div class="card">
    <${Filters} filter=${filter} change=${change} live=${live} onLive=${() => setLive(!live)} />
    ${answer === undefined && html`<${Waiting}>Reading the log<//>`}
    ${answer?.ok === false && html`<${Trouble} failure=${answer} onRetry=${again} />`}
    ${answer?.ok && answer.body.data.length === 0 && html`<${Empty} title="No request fits">${filter === EMPTY ? 'Calls with a key of this organization appear here as they are made.' : 'Widen the range or drop a filter.'}<//>`}
    ${
      answer?.ok &&
      answer.body.data.length > 0 &&
      html`<${Rows} rows=${answer.body.data} onKey=${(/** @type {string} */ id) => change('api_key_id')({ target: { value: id } })} />
      <${Pager} pagination=${answer.body.pagination} noun="request" onPage=${setPage} />`
    }
  </div>`
}

/** @param {{ filter: typeof EMPTY, change: (name: string) => (event: any) => void, live: boolean, onLive: () => void }} props */
function Filters({ filter, change, live, onLive }) {
  const id = useId()
  return html`<div class="fields inline">
    <p><label for=${`${id}r`}>Over</label><select id=${`${id}r`} value=${filter.range} onChange=${change('range')}>${['5m', '1h', '24h', '7d', '30d'].map((each) => html`<option>${each}</option>`)}</select></p>
    <p><label for=${`${id}e`}>Outcome</label><select id=${`${id}e`} value=${filter.errors} onChange=${change('errors')}><option value="all">all</option><option value="success">successes</option><option value="errors">errors</option></select></p>
    <p><label for=${`${id}s`}>Status</label><input id=${`${id}s`} size="4" inputmode="numeric" value=${filter.status_code} onChange=${change('status_code')} placeholder="any" /></p>
    <p class="grow"><label for=${`${id}p`}>Path</label><input id=${`${id}p`} class="mono" value=${filter.path} onChange=${change('path')} placeholder="any" /></p>
    <p><label for=${`${id}k`}>Key id</label><input id=${`${id}k`} class="mono" size="14" value=${filter.api_key_id} onChange=${change('api_key_id')} placeholder="any" /></p>
    <button type="button" class=${classes('live', live && 'on')} aria-pressed=${live} onClick=${onLive}>Live</button>
  </div>`
}

/** @param {{ rows: readonly any[], onKey: (id: string) => void }} props */
function Rows({ rows, onKey }) {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Requests"><table class="log">
    <thead><tr><th scope="col">When (UTC)</th><th scope="col">Status</th><th scope="col">Path</th><th scope="col">Key</th><th scope="col">Took</th><th scope="col">Credits</th></tr></thead>
    <tbody>${rows.map(
      (row) => html`<tr>
        <td>${CLOCK.format(Date.parse(row.requested_at))}</td>
        <td><b class=${row.status_code < 400 ? 'good' : row.status_code < 500 ? 'warn' : 'bad'}>${row.status_code}</b></td>
        <td class="mono">${row.method} ${row.path}</td>
        <td><button type="button" class="small quiet" onClick=${() => onKey(row.api_key_id)} aria-label=${`${row.api_key_name}: only this key`}>${row.api_key_name}</button></td>
        <td>${row.latency_ms.toLocaleString('en')} ms</td>
        <td>${row.credits_charged.toLocaleString('en')}</td>
      </tr>`,
    )}</tbody>
  </table></div>`
}
