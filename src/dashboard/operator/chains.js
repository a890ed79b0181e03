import { useAnswer } from '../lib/hooks.js'
import { pluralize } from '../lib/time.js'
import { classes, html } from '../lib/view.js'
import { EmptyState, LoadedAnswer } from '../part/notice.js'
import { Table } from '../part/table.js'
import { BASE } from './base.js'

const LOOK_MS = 5_000

/**
 * @typedef {import('../lib/shapes.d.ts').Chain} Chain
 * @typedef {Chain['endpoints'][number]} Endpoint
 */

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
  return html`<${LoadedAnswer} asked=${asked} waiting="Asking the chains">${drawn}<//>`
}

/** @param {{ data: readonly Chain[] }} body */
function drawn({ data: rows }) {
  return html`<section class="family" aria-label="Chains">
    <h2>Chains</h2>
    <p class="soft">As this process sees them, looked at every ${LOOK_MS / 1000} seconds. Endpoints are named by their place in the configuration; errors are counted since the start; how far back one keeps state is asked once an hour.</p>
    <div class="card">
      ${
        rows.length === 0
          ? html`<${EmptyState} title="No chain is configured">Set RPC_URL_1 and the like.<//>`
          : html`<${Table} label="Chains" columns=${['Chain', 'Endpoint', 'State', 'Answers in', 'Head', 'Behind', 'Errors', 'State kept']}>
            ${rows.map((row) => [chainRow(row), ...row.endpoints.map(endpointRow)])}
          <//>`
      }
    </div>
  </section>`
}

/** @param {Chain} row */
function chainRow({ name, chain_id: id, ready }) {
  return html`<tr>
    <th scope="row">${name} <span class="soft">${id}</span></th>
    <td></td>
    <td><span class=${classes('badge', ready ? 'good' : 'bad')}>${ready ? 'answers' : 'does not answer'}</span></td>
    <td colspan="5"></td>
  </tr>`
}

/** @param {Endpoint} each @param {number} index */
function endpointRow(each, index) {
  const [tone, state] = STATES[each.state] ?? ['', each.state]
  const head =
    each.head_block === null
      ? '–'
      : html`${each.head_block.toLocaleString('en')} <span class="soft">${each.head_age_sec} s old</span>`
  const lag = each.behind ? 'far' : each.lag_blocks === null ? '–' : pluralize(each.lag_blocks, 'block')
  return html`<tr>
    <td></td>
    <td>${index + 1}</td>
    <td><span class=${tone}>${state}</span></td>
    <td>${each.latency_ms === null ? '–' : `${each.latency_ms} ms`}</td>
    <td>${head}</td>
    <td>${lag}</td>
    <td>${each.errors.toLocaleString('en')}</td>
    <td>${depthText(each.state_depth)}</td>
  </tr>`
}

/** @param {Endpoint['state_depth']} depth */
function depthText(depth) {
  if (depth === null) return '–'
  if (depth === 'all') return 'of every block'
  return depth === 0 ? 'none' : `${pluralize(depth, 'block')} or more`
}
