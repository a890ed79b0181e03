import { useAnswer, useSubmission } from '../lib/hooks.ts'
import type { Settings, Switch } from '../lib/shapes.ts'
import { formatMoment } from '../lib/time.ts'
import { classes } from '../lib/view.ts'
import { ChangeError, LoadedAnswer } from '../part/notice.tsx'
import { BASE } from './base.ts'

const FEATURES: Record<string, string> = {
  snapshots: 'Daily snapshots',
  mcp: 'MCP, for agents',
  history: 'Histories: events, profit and loss',
  triggers: 'Triggers: webhooks and the feed',
}

/** Features and endpoints with their switches. */
export function Switches() {
  const request = useAnswer<Settings>(`${BASE}/settings`)
  return (
    <LoadedAnswer request={request} waiting="Reading the switches">
      {draw}
    </LoadedAnswer>
  )

  function draw({ data: { switches } }: Settings) {
    const list = (kind: string) => <List rows={switches.filter((each) => each.kind === kind)} onDone={request.again} />
    return (
      <section class="family" aria-label="Switches">
        <h2>Switches</h2>
        <p class="soft">
          Changes apply to the next request in every process. What is off answers 403 FEATURE_DISABLED or
          ENDPOINT_DISABLED, and costs nothing.
        </p>
        <div class="card">
          <h3>Features</h3>
          {list('feature')}
        </div>
        <div class="card">
          <h3>Endpoints</h3>
          {list('endpoint')}
        </div>
      </section>
    )
  }
}

function List({ rows, onDone }: { rows: readonly Switch[]; onDone: () => void }) {
  const { failure, submit } = useSubmission()
  const toggle = ({ name, on }: Switch) =>
    submit({ path: `${BASE}/settings/switches`, method: 'PUT', body: { name, on: !on } }).then(onDone)
  return (
    <>
      {failure && <ChangeError failure={failure} refused="It was not switched" />}
      <ul class="switches">
        {rows.map((row) => (
          <li>
            <span class={classes(row.kind === 'endpoint' && 'mono')}>
              {FEATURES[row.name] ?? row.name}
              {!row.on && (
                <span class="soft">
                  {' '}
                  {row.off_by === 'environment'
                    ? 'off by the environment'
                    : `off since ${row.off_at ? formatMoment(row.off_at) : 'now'}`}
                </span>
              )}
            </span>
            <button
              type="button"
              role="switch"
              aria-checked={row.on}
              aria-label={FEATURES[row.name] ?? row.name}
              disabled={row.off_by === 'environment'}
              onClick={() => toggle(row)}
            >
              <span aria-hidden="true">{row.on ? 'on' : 'off'}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}
