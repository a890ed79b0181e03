import { act, withQuery } from '../lib/account.js'
import { grouped } from '../lib/decimal.js'
import { useLoaded } from '../lib/hooks.js'
import { dayText } from '../lib/time.js'
import { html, useId, useState } from '../lib/view.js'
import { Empty, Trouble, Waiting } from '../part/notice.js'
import { Pager } from '../part/pager.js'
import { UsageChart } from '../part/usage_chart.js'
import { BASE } from './base.js'

/** All organizations, how much they ask, and a new one. */
export function Organizations() {
  const [page, setPage] = useState(1)
  const [range, setRange] = useState('24h')
  const { value: answer, again } = useLoaded(
    (signal) => act(withQuery(`${BASE}/organizations`, { page, limit: 25 }), { signal }),
    [page],
  )
  const rows = answer?.ok ? answer.body.data : []
  const names = new Map(rows.map((/** @type {any} */ row) => [row.id, row.name]))
  return html`
    <section class="family" aria-label="Organizations">
      <h2>Organizations</h2>
      <div class="card">
        <${Create} onMade=${(/** @type {string} */ id) => (location.hash = `organizations/${id}`)} />
        ${answer === undefined && html`<${Waiting}>Reading the organizations<//>`}
        ${answer?.ok === false && html`<${Trouble} failure=${answer} onRetry=${again} />`}
        ${answer?.ok && rows.length === 0 && html`<${Empty} title="No organization yet">Keys and credits belong to organizations: create the first one above.<//>`}
        ${
          rows.length > 0 &&
          html`<div class="scroll" tabindex="0" role="group" aria-label="Organizations"><table>
            <thead><tr><th scope="col">Name</th><th scope="col">Credits left</th><th scope="col">Granted</th><th scope="col">Rate limit</th><th scope="col">Since</th><th scope="col">State</th></tr></thead>
            <tbody>${rows.map(
              (/** @type {any} */ row) => html`<tr>
                <th scope="row"><a href=${`#organizations/${row.id}`}>${row.name}</a></th>
                <td>${grouped(row.balance)}</td><td>${grouped(row.granted)}</td><td>${row.rate_limit.toLocaleString('en')}/s</td>
                <td>${dayText(Date.parse(row.created_at) / 1000)}</td>
                <td>${row.suspended_at ? html`<span class="badge warn">suspended</span>` : html`<span class="badge good">active</span>`}</td>
              </tr>`,
            )}</tbody>
          </table></div>
          <${Pager} pagination=${answer?.ok && answer.body.pagination} noun="organization" onPage=${setPage} />`
        }
      </div>
    </section>
    <section class="family" aria-label="Requests of all"><h2>Requests of all</h2>
      <div class="card"><${UsageChart} path=${`${BASE}/usage`} range=${range} onRange=${setRange} names=${names} choices=${[['organization', 'organization'], ['path', 'route'], ['status', 'status']]} /></div>
    </section>`
}

/** @param {{ onMade: (id: string) => void }} props */
function Create({ onMade }) {
  const [name, setName] = useState('')
  const [limit, setLimit] = useState('5')
  const [failure, setFailure] = useState(/** @type {import('../lib/api.js').Failure | undefined} */ (undefined))
  const id = useId()
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    const answer = await act(`${BASE}/organizations`, {
      method: 'POST',
      body: { name: name.trim(), rate_limit: Number(limit) },
    })
    if (answer.ok) onMade(answer.body.data.id)
    else setFailure(answer)
  }
  return html`<form class="fields" onSubmit=${submit}>
    <p><label for=${`${id}n`}>Name of a new organization</label><input id=${`${id}n`} value=${name} required maxlength="100" onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></p>
    <p class="narrow"><label for=${`${id}l`}>Requests a second</label><input id=${`${id}l`} type="number" min="1" value=${limit} required onInput=${(/** @type {any} */ event) => setLimit(event.target.value)} /></p>
    <button type="submit">Create</button>
    ${failure && html`<div class="full"><${Trouble} failure=${failure} title="It was not created" /></div>`}
  </form>`
}
