import { act } from '../lib/account.js'
import { useLoaded } from '../lib/hooks.js'
import { classes, html, useEffect } from '../lib/view.js'
import { Empty, Trouble, Waiting } from '../part/notice.js'
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
  const { value: answer, again } = useLoaded((signal) => act(`${BASE}/chains`, { signal }), [])
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') again()
    }, LOOK_MS)
    return () => clearInterval(timer)
  }, [])
  if (answer === undefined) return html`<${Waiting}>Asking the chains<//>`
  if (!answer.ok) return html`<${Trouble} failure=${answer} onRetry=${again} />`
  const rows = answer.body.data
  return html`<section class="family" aria-label="Chains">
    <h2>Chains</h2>
    <p class="soft">As this process sees them, looked at every ${LOOK_MS / 1000} seconds. Endpoints are named by their place in the configuration.</p>
    <div class="card">
      ${
        rows.length === 0
          ? html`<${Empty} title="No chain is configured">Set RPC_URL_1 and the like.<//>`
          : html`<div class="scroll" tabindex="0" role="group" aria-label="Chains"><table>
            <thead><tr><th scope="col">Chain</th><th scope="col">State</th><th scope="col" class="words">Endpoints</th></tr></thead>
            <tbody>${rows.map(
              (/** @type {any} */ row) => html`<tr>
                <th scope="row">${row.name} <span class="soft">${row.chain_id}</span></th>
                <td><span class=${classes('badge', row.ready ? 'good' : 'bad')}>${row.ready ? 'answers' : 'does not answer'}</span></td>
                <td class="words">${row.endpoints.map((/** @type {any} */ each, /** @type {number} */ index) => html`<span class="endpoint">${index + 1} <span class=${STATES[each.state]?.[0]}>${STATES[each.state]?.[1]}</span>${each.latency_ms !== null && html`<span class="soft">${each.latency_ms} ms</span>`}</span>`)}</td>
              </tr>`,
            )}</tbody>
          </table></div>`
      }
    </div>
  </section>`
}
