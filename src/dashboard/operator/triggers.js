import { useAnswer } from '../lib/hooks.js'
import { formatMoment, pluralize } from '../lib/time.js'
import { classes, html } from '../lib/view.js'
import { DefinitionList } from '../part/figure.js'
import { EmptyState, LoadedAnswer } from '../part/notice.js'
import { Table, textColumn } from '../part/table.js'
import { BASE } from './base.js'

const LOOK_MS = 5_000
const COLUMNS = ['Chain', 'Finality', 'State', 'Block', 'Evaluated', textColumn('By')]

/** How far triggers are evaluated, and what waits to be posted, of all processes. */
export function Triggers() {
  const asked = useAnswer(`${BASE}/triggers`, LOOK_MS)
  if (asked.answer?.ok === false && asked.answer.status === 404)
    return html`<section class="family" aria-label="Triggers"><${EmptyState} title="Triggers are off">TRIGGERS=off in the configuration says so.<//></section>`
  return html`<${LoadedAnswer} asked=${asked} waiting="Asking how triggers do">${drawn}<//>`
}

/** @param {{ data: import('../lib/shapes.d.ts').TriggerReport }} body */
function drawn({ data: { lines, messages_due: due, oldest_due_sec: oldestSec } }) {
  return html`<section class="family" aria-label="Triggers">
    <h2>Triggers</h2>
    <p class="soft">Of all processes, looked at every ${LOOK_MS / 1000} seconds. How many an organization may have is on its own page.</p>
    <div class="card">
      <${DefinitionList} rows=${[
        ['Messages due', due.toLocaleString('en')],
        [
          'The oldest is due for',
          html`<span class=${classes(oldestSec > 60 && 'bad')}>${pluralize(oldestSec, 'second')}</span>`,
        ],
      ]} />
      ${
        lines.length === 0
          ? html`<${EmptyState} title="No trigger to evaluate">Organizations make them in Explore or with POST /v1/triggers.<//>`
          : html`<${Table} label="Triggers" columns=${COLUMNS}>${lines.map(row)}<//>`
      }
    </div>
  </section>`
}

/** @param {import('../lib/shapes.d.ts').TriggerReport['lines'][number]} line */
function row({ chain_id, finality, holder, block, age_sec, blind_since }) {
  const [kind, state] =
    blind_since !== null
      ? ['bad', `blind since ${formatMoment(blind_since)}`]
      : holder === null
        ? ['warn', 'by no process']
        : ['good', 'evaluated']
  return html`<tr>
    <th scope="row">${chain_id}</th>
    <td>${finality}</td>
    <td><span class=${classes('badge', kind)}>${state}</span></td>
    <td>${block === null ? 'none' : block.toLocaleString('en')}</td>
    <td>${age_sec === null ? 'never' : `${pluralize(age_sec, 'second')} ago`}</td>
    <td class="words mono">${holder ?? 'none'}</td>
  </tr>`
}
