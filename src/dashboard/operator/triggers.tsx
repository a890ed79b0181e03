import { useAnswer } from '../lib/hooks.ts'
import type { TriggerReport } from '../lib/shapes.ts'
import { formatMoment, pluralize } from '../lib/time.ts'
import { classes } from '../lib/view.ts'
import { DefinitionList } from '../part/figure.tsx'
import { EmptyState, LoadedAnswer } from '../part/notice.tsx'
import { Table, textColumn } from '../part/table.tsx'
import { BASE } from './base.ts'

const LOOK_MS = 5_000
const COLUMNS = ['Chain', 'Finality', 'State', 'Block', 'Evaluated', textColumn('By')]

/** Evaluation state of triggers and pending messages, of all processes. */
export function Triggers() {
  const request = useAnswer<{ data: TriggerReport }>(`${BASE}/triggers`, LOOK_MS)
  if (request.answer?.ok === false && request.answer.status === 404)
    return (
      <section class="family" aria-label="Triggers">
        <EmptyState title="Triggers are off">TRIGGERS=off is set in the configuration.</EmptyState>
      </section>
    )
  return (
    <LoadedAnswer request={request} waiting="Loading triggers">
      {draw}
    </LoadedAnswer>
  )
}

function draw({ data: { lines, messages_due: due, oldest_due_sec: oldestSec } }: { data: TriggerReport }) {
  return (
    <section class="family" aria-label="Triggers">
      <h2>Triggers</h2>
      <p class="soft">
        State of all processes, refreshed every {LOOK_MS / 1000} seconds. The limit of an organization is on its own
        page.
      </p>
      <div class="card">
        <DefinitionList
          rows={[
            ['Messages due', due.toLocaleString('en')],
            [
              'The oldest is due for',
              <span class={classes(oldestSec > 60 && 'bad')}>{pluralize(oldestSec, 'second')}</span>,
            ],
          ]}
        />
        {lines.length === 0 ? (
          <EmptyState title="No trigger to evaluate">
            Organizations create them in Explore or with POST /v1/triggers.
          </EmptyState>
        ) : (
          <Table label="Triggers" columns={COLUMNS}>
            {lines.map(drawRow)}
          </Table>
        )}
      </div>
    </section>
  )
}

function drawRow({ chain_id, finality, holder, block, age_sec, blind_since }: TriggerReport['lines'][number]) {
  const [kind, state] =
    blind_since !== null
      ? ['bad', `blind since ${formatMoment(blind_since)}`]
      : holder === null
        ? ['warn', 'by no process']
        : ['good', 'evaluated']
  return (
    <tr>
      <th scope="row">{chain_id}</th>
      <td>{finality}</td>
      <td>
        <span class={classes('badge', kind)}>{state}</span>
      </td>
      <td>{block === null ? 'none' : block.toLocaleString('en')}</td>
      <td>{age_sec === null ? 'never' : `${pluralize(age_sec, 'second')} ago`}</td>
      <td class="words mono">{holder ?? 'none'}</td>
    </tr>
  )
}
