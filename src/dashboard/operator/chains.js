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

/** Colour and text of an endpoint's state. @type {Record<string, readonly [string, string]>} */
const STATES = {
  ready: ['good', 'answers'],
  doubtful: ['warn', 'failed lately'],
  open: ['bad', 'fails'],
  removed: ['bad', 'serves another chain'],
}

/** Chains and their endpoints. Endpoints are numbered, because their URLs may contain secrets. */
export function Chains() {
  const request = useAnswer(`${BASE}/chains`, LOOK_MS)
  return html`<${LoadedAnswer} request=${request} waiting="Loading chains">${draw}<//>`
}

/** @param {{ data: readonly Chain[] }} body */
function draw({ data: rows }) {
  return html`<section class="family" aria-label="Chains">
    <h2>Chains</h2>
    <p class="soft">State of this process, refreshed every ${LOOK_MS / 1000} seconds. Endpoints are numbered by their position in the configuration; errors count since the start; the depth of kept state is measured once an hour.</p>
    <div class="card">
      ${
        rows.length === 0
          ? html`<${EmptyState} title="No chain is configured">Set RPC_URL_1 and the like.<//>`
          : html`<${Table} label="Chains" columns=${['Chain', 'Endpoint', 'State', 'Answers in', 'Head', 'Behind', 'Errors', 'State kept']}>
            ${rows.map((row) => [drawChain(row), ...row.endpoints.map(drawEndpoint)])}
          <//>`
      }
    </div>
  </section>`
}

/** @param {Chain} row */
function drawChain({ name, chain_id: id, ready }) {
  return html`<tr>
    <th scope="row">${name} <span class="soft">${id}</span></th>
    <td></td>
    <td><span class=${classes('badge', ready ? 'good' : 'bad')}>${ready ? 'answers' : 'does not answer'}</span></td>
    <td colspan="5"></td>
  </tr>`
}

/** @param {Endpoint} each @param {number} index */
function drawEndpoint(each, index) {
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
    <td>${formatDepth(each.state_depth)}</td>
  </tr>`
}

/** @param {Endpoint['state_depth']} depth */
function formatDepth(depth) {
  if (depth === null) return '–'
  if (depth === 'all') return 'all blocks'
  return depth === 0 ? 'none' : `${pluralize(depth, 'block')} or more`
}
