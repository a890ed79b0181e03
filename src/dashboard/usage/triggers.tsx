import { withQuery } from '../lib/account.ts'
import { useAnswer, useSubmission } from '../lib/hooks.ts'
import type { Trigger, TriggerList } from '../lib/shapes.ts'
import { formatClause, STATE_KINDS } from '../lib/trigger.ts'
import { classes, useState } from '../lib/view.ts'
import { Confirm } from '../part/confirm.tsx'
import { ChangeError, EmptyState } from '../part/notice.tsx'
import { ACTIONS_COLUMN, PagedTable, textColumn } from '../part/table.tsx'
import { DeadLetters, Deliveries } from './deliveries.tsx'
import { Webhooks } from './webhooks.tsx'

const LOOK_MS = 10_000
const COLUMNS = [textColumn('What'), textColumn('When'), 'State', 'Changes', ACTIONS_COLUMN]

/**
 * Triggers of an organization, their messages, failed deliveries, and webhooks. Renders nothing if the service has no
 * triggers.
 */
export function Triggers({ base }: { base: string }) {
  const path = `${base}/triggers`
  const [page, setPage] = useState(1)
  const [chosen, setChosen] = useState<{ kind: 'delete' | 'look'; trigger: Trigger } | undefined>(undefined)
  const { failure, submit } = useSubmission()
  const listed = useAnswer<TriggerList>(withQuery(path, { page, limit: 25 }), LOOK_MS)
  if (listed.answer?.ok === false && listed.answer.status === 404) return null
  const close = () => setChosen(undefined)
  const pause = ({ id, state }: Trigger) =>
    submit({ path: `${path}/${id}`, method: 'PATCH', body: { paused: state !== 'paused' } }).then(listed.again)
  return (
    <>
      <section class="family" aria-label="Triggers">
        <h2>Triggers</h2>
        <div class="card">
          <PagedTable
            label="Triggers"
            columns={COLUMNS}
            request={listed}
            waiting="Reading the triggers"
            empty={
              <EmptyState title="No trigger yet">
                Create one with a bell in Explore or with POST /v1/triggers.
              </EmptyState>
            }
            noun="trigger"
            onPage={setPage}
          >
            {(trigger: Trigger) => (
              <TriggerRow
                key={trigger.id}
                value={trigger}
                onPause={() => pause(trigger)}
                onDelete={() => setChosen({ kind: 'delete', trigger })}
                onLook={() => setChosen({ kind: 'look', trigger })}
              />
            )}
          </PagedTable>
          {failure && <ChangeError failure={failure} refused="The trigger was not changed" />}
          {chosen?.kind === 'look' && (
            <Deliveries
              key={chosen.trigger.id}
              path={`${path}/${chosen.trigger.id}/deliveries`}
              name={formatName(chosen.trigger)}
              onClose={close}
            />
          )}
          {chosen?.kind === 'delete' && (
            <Confirm
              title={`Delete "${formatName(chosen.trigger)}"?`}
              verb="Delete it"
              onClose={close}
              request={{ path: `${path}/${chosen.trigger.id}`, method: 'DELETE' }}
              onDone={() => {
                close()
                listed.again()
              }}
            >
              <p>It is no longer evaluated. Past messages stay in the feed.</p>
            </Confirm>
          )}
        </div>
      </section>
      <section class="family" aria-label="Dead letters">
        <h2>Dead letters</h2>
        <div class="card">
          <DeadLetters base={base} />
        </div>
      </section>
      <section class="family" aria-label="Webhooks">
        <h2>Webhooks</h2>
        <div class="card">
          <Webhooks base={`${base}/webhooks`} />
        </div>
      </section>
    </>
  )
}

interface TriggerRowProps {
  readonly value: Trigger
  readonly onPause: () => void
  readonly onDelete: () => void
  readonly onLook: () => void
}

function TriggerRow({ value, onPause, onDelete, onLook }: TriggerRowProps) {
  const { family, subject, when, state, paused_for: pausedFor, changes } = value
  const name = formatName(value)
  const verb = state === 'paused' ? 'Resume' : 'Pause'
  return (
    <tr>
      <th scope="row" class="words">
        {name}{' '}
        <span class="soft">
          {family} {Object.values(subject).join(' ')}
        </span>
      </th>
      <td class="words">{formatClause(when)}</td>
      <td>
        <span class={classes('badge', STATE_KINDS[state])}>{state}</span>
        {pausedFor === 'credits' && (
          <>
            {' '}
            <span class="soft">no credits</span>
          </>
        )}
      </td>
      <td>{changes.toLocaleString('en')}</td>
      <td>
        <button type="button" class="small" onClick={onLook} aria-label={`Messages of ${name}`}>
          Messages
        </button>
        {pausedFor !== 'credits' && state !== 'expired' && (
          <button type="button" class="small" onClick={onPause} aria-label={`${verb} ${name}`}>
            {verb}
          </button>
        )}
        <button type="button" class="small danger" onClick={onDelete} aria-label={`Delete ${name}`}>
          Delete
        </button>
      </td>
    </tr>
  )
}

function formatName({ name, id }: Trigger) {
  return name ?? id
}
