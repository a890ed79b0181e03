import { withQuery } from '../lib/account.ts'
import { useAnswer, useSubmission } from '../lib/hooks.ts'
import type { DeadLetter, DeadLetterList, Delivery, DeliveryList } from '../lib/shapes.ts'
import { formatMoment } from '../lib/time.ts'
import { classes, useState } from '../lib/view.ts'
import { ChangeError, EmptyState } from '../part/notice.tsx'
import { ACTIONS_COLUMN, PagedTable, textColumn } from '../part/table.tsx'

const LOOK_MS = 10_000
const COLUMNS = ['When', textColumn('What'), 'State', textColumn('Attempts')]
const DEAD_COLUMNS = ['When', textColumn('What'), textColumn('Attempts'), ACTIONS_COLUMN]

/** Colour and text of a message's status. */
const STATUSES: Record<Delivery['status'], readonly [string, string]> = {
  due: ['warn', 'pending'],
  delivered: ['good', 'delivered'],
  dead: ['bad', 'dead'],
  feed: ['closed', 'in the feed'],
}

/** Messages of a trigger with their delivery attempts. */
export function Deliveries({ path, name, onClose }: { path: string; name: string; onClose: () => void }) {
  const [page, setPage] = useState(1)
  const listed = useAnswer<DeliveryList>(withQuery(path, { page, limit: 10 }), LOOK_MS)
  return (
    <>
      <h3>Messages of {name}</h3>
      <PagedTable
        label={`Messages of ${name}`}
        columns={COLUMNS}
        request={listed}
        waiting="Reading the messages"
        empty={<EmptyState title="No message yet" />}
        noun="message"
        onPage={setPage}
      >
        {(each: Delivery) => (
          <tr key={each.id}>
            <th scope="row">{formatMoment(each.created_at)}</th>
            <td class="words">{formatMessage(each)}</td>
            <td>
              <span class={classes('badge', STATUSES[each.status][0])}>{STATUSES[each.status][1]}</span>
              {each.next_try_at !== null && each.tries.length > 0 && (
                <>
                  {' '}
                  <span class="soft">next {formatMoment(each.next_try_at)}</span>
                </>
              )}
            </td>
            <td class="words">{formatAttempts(each.tries)}</td>
          </tr>
        )}
      </PagedTable>
      <p class="more">
        <button type="button" class="small" onClick={onClose}>
          Close
        </button>
      </p>
    </>
  )
}

/** Messages that could not be delivered, with buttons to post them again. */
export function DeadLetters({ base }: { base: string }) {
  const [page, setPage] = useState(1)
  const { failure, submit } = useSubmission()
  const listed = useAnswer<DeadLetterList>(withQuery(`${base}/dead-letters`, { page, limit: 10 }), LOOK_MS)
  const redeliver = ({ id, webhook_id: webhookId }: DeadLetter) =>
    submit({ path: `${base}/webhooks/${webhookId}/redeliver`, method: 'POST', body: { ids: [id] } }, listed.again)
  return (
    <>
      <PagedTable
        label="Dead letters"
        columns={DEAD_COLUMNS}
        request={listed}
        waiting="Loading failed deliveries"
        empty={<EmptyState title="Everything arrived">Undelivered messages are kept for 30 days.</EmptyState>}
        noun="message"
        onPage={setPage}
      >
        {(each: DeadLetter) => (
          <tr key={each.id}>
            <th scope="row">{formatMoment(each.created_at)}</th>
            <td class="words">
              {formatMessage(each)} <span class="soft">{each.trigger_id}</span>
            </td>
            <td class="words">{formatAttempts(each.tries)}</td>
            <td>
              <button
                type="button"
                class="small"
                onClick={() => redeliver(each)}
                aria-label={`Post again: ${formatMessage(each)}, ${formatMoment(each.created_at)}`}
              >
                Post again
              </button>
            </td>
          </tr>
        )}
      </PagedTable>
      {failure && <ChangeError failure={failure} refused="It is not posted again" />}
    </>
  )
}

/** Formats a message: `fired, change 3`. */
function formatMessage({ type, change }: Pick<Delivery, 'type' | 'change'>) {
  const what = type.split('.')[1] ?? type
  return change === null ? what : `${what}, change ${change}`
}

/** Formats the outcome of each delivery attempt. */
function formatAttempts(tries: Delivery['tries']) {
  if (tries.length === 0) return 'none'
  return tries.map(({ status_code: status, failure, latency_ms: ms }) => `${status ?? failure} in ${ms} ms`).join(', ')
}
