import { useAnswer, useSubmission } from '../lib/hooks.js'
import { formatMoment } from '../lib/time.js'
import { classes, html } from '../lib/view.js'
import { ChangeError, LoadedAnswer } from '../part/notice.js'
import { BASE } from './base.js'

/** @type {Record<string, string>} */
const FEATURES = {
  snapshots: 'Daily snapshots',
  mcp: 'MCP, for agents',
  history: 'Histories: events, profit and loss',
  triggers: 'Triggers: webhooks and the feed',
}

/** Features and endpoints with their switches. */
export function Switches() {
  const request = useAnswer(`${BASE}/settings`)
  return html`<${LoadedAnswer} request=${request} waiting="Reading the switches">${draw}<//>`

  /** @param {{ data: { switches: readonly import('../lib/shapes.d.ts').Switch[] } }} body */
  function draw({ data: { switches } }) {
    const list = (/** @type {string} */ kind) =>
      html`<${List} rows=${switches.filter((each) => each.kind === kind)} onDone=${request.again} />`
    return html`<section class="family" aria-label="Switches">
      <h2>Switches</h2>
      <p class="soft">Changes apply to the next request in every process. What is off answers 403 FEATURE_DISABLED or ENDPOINT_DISABLED, and costs nothing.</p>
      <div class="card"><h3>Features</h3>${list('feature')}</div>
      <div class="card"><h3>Endpoints</h3>${list('endpoint')}</div>
    </section>`
  }
}

/** @param {{ rows: readonly import('../lib/shapes.d.ts').Switch[], onDone: () => void }} props */
function List({ rows, onDone }) {
  const { failure, submit } = useSubmission()
  const toggle = (/** @type {import('../lib/shapes.d.ts').Switch} */ { name, on }) =>
    submit({ path: `${BASE}/settings/switches`, method: 'PUT', body: { name, on: !on } }).then(onDone)
  return html`${failure && html`<${ChangeError} failure=${failure} refused="It was not switched" />`}
    <ul class="switches">${rows.map(
      (row) => html`<li>
        <span class=${classes(row.kind === 'endpoint' && 'mono')}>${FEATURES[row.name] ?? row.name}
          ${!row.on && html`<span class="soft"> ${row.off_by === 'environment' ? 'off by the environment' : `off since ${row.off_at ? formatMoment(row.off_at) : 'now'}`}</span>`}</span>
        <button type="button" role="switch" aria-checked=${row.on} aria-label=${FEATURES[row.name] ?? row.name} disabled=${row.off_by === 'environment'} onClick=${() => toggle(row)}><span aria-hidden="true">${row.on ? 'on' : 'off'}</span></button>
      </li>`,
    )}</ul>`
}
