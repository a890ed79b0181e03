import { useAnswer } from '../lib/hooks.js'
import { classes, html } from '../lib/view.js'
import { Table, words } from '../part/list.js'
import { Answered, Empty } from '../part/notice.js'
import { BASE } from './base.js'

const LOOK_MS = 5_000

/** Words and colour of an endpoint's state. @type {Record<string, readonly [string, string]>} */
const STATES = {
  ready: ['good', 'answers'],
  doubtful: ['warn', 'failed lately'],
  open: ['bad', 'fails'],
  removed: ['bad', 'serves another chain'],
}

/** Chains and their endpoints by number, as an address may hold a secret. */
export function Chains() {
  const asked = useAnswer(`${BASE}/chains`, LOOK_MS)
  return html`<${Answered} asked=${asked} waiting="Asking the chains">${drawn}<//>`
}

/** @param {{ data: readonly import('../lib/shapes.d.ts').Chain[] }} body */
function drawn({ data: rows }) {
  return html`<section class="family" aria-label="Chains">
    <h2>Chains</h2>
    <p class="soft">As this process sees them, looked at every ${LOOK_MS / 1000} seconds. Endpoints are named by their place in the configuration.</p>
    <div class="card">
      ${
        rows.length === 0
          ? html`<${Empty} title="No chain is configured">Set RPC_URL_1 and the like.<//>`
          : html`<${Table} label="Chains" columns=${['Chain', 'State', words('Endpoints')]}>
            ${rows.map(
              (row) => html`<tr>
                <th scope="row">${row.name} <span class="soft">${row.chain_id}</span></th>
                <td><span class=${classes('badge', row.ready ? 'good' : 'bad')}>${row.ready ? 'answers' : 'does not answer'}</span></td>
                <td class="words">${row.endpoints.map((each, index) => html`<span class="endpoint">${index + 1} <span class=${STATES[each.state]?.[0]}>${STATES[each.state]?.[1]}</span>${each.latency_ms !== null && html`<span class="soft">${each.latency_ms} ms</span>`}</span>`)}</td>
              </tr>`,
            )}
          <//>`
      }
    </div>
  </section>`
}
