import { withQuery } from '../lib/account.js'
import { useAnswer, useSubmission } from '../lib/hooks.js'
import { formatMoment } from '../lib/time.js'
import { classes, html, useState } from '../lib/view.js'
import { ChangeError, EmptyState } from '../part/notice.js'
import { ACTIONS_COLUMN, PagedTable, textColumn } from '../part/table.js'

/** @typedef {import('../lib/shapes.d.ts').Delivery} Delivery */
/** @typedef {import('../lib/shapes.d.ts').DeadLetter} DeadLetter */

const LOOK_MS = 10_000
const COLUMNS = ['When', textColumn('What'), 'State', textColumn('Attempts')]
const DEAD_COLUMNS = ['When', textColumn('What'), textColumn('Attempts'), ACTIONS_COLUMN]

/** Colour and text of a message's status. @type {Record<Delivery['status'], readonly [string, string]>} */
const STATUSES = {
  due: ['warn', 'pending'],
  delivered: ['good', 'delivered'],
  dead: ['bad', 'dead'],
  feed: ['closed', 'in the feed'],
}

/** Messages of a trigger with their delivery attempts. @param {{ path: string, name: string, onClose: () => void }} props */
export function Deliveries({ path, name, onClose }) {
  const [page, setPage] = useState(1)
  const listed = useAnswer(withQuery(path, { page, limit: 10 }), LOOK_MS)
  return html`<h3>Messages of ${name}</h3>
    <${PagedTable} label=${`Messages of ${name}`} columns=${COLUMNS} request=${listed} waiting="Reading the messages" empty=${html`<${EmptyState} title="No message yet" />`} noun="message" onPage=${setPage}>
      ${(/** @type {Delivery} */ each) => html`<tr key=${each.id}>
        <th scope="row">${formatMoment(each.created_at)}</th>
        <td class="words">${formatMessage(each)}</td>
        <td><span class=${classes('badge', STATUSES[each.status][0])}>${STATUSES[each.status][1]}</span>${each.next_try_at !== null && each.tries.length > 0 && html` <span class="soft">next ${formatMoment(each.next_try_at)}</span>`}</td>
        <td class="words">${formatAttempts(each.tries)}</td>
      </tr>`}
    <//>
    <p class="more"><button type="button" class="small" onClick=${onClose}>Close</button></p>`
}

/** Messages that could not be delivered, with buttons to post them again. @param {{ base: string }} props */
export function DeadLetters({ base }) {
  const [page, setPage] = useState(1)
  const { failure, submit } = useSubmission()
  const listed = useAnswer(withQuery(`${base}/dead-letters`, { page, limit: 10 }), LOOK_MS)
  const redeliver = (/** @type {DeadLetter} */ { id, webhook_id: webhookId }) =>
    submit({ path: `${base}/webhooks/${webhookId}/redeliver`, method: 'POST', body: { ids: [id] } }, listed.again)
  return html`<${PagedTable} label="Dead letters" columns=${DEAD_COLUMNS} request=${listed} waiting="Loading failed deliveries" empty=${html`<${EmptyState} title="Everything arrived">Undelivered messages are kept for 30 days.<//>`} noun="message" onPage=${setPage}>
      ${(/** @type {DeadLetter} */ each) => html`<tr key=${each.id}>
        <th scope="row">${formatMoment(each.created_at)}</th>
        <td class="words">${formatMessage(each)} <span class="soft">${each.trigger_id}</span></td>
        <td class="words">${formatAttempts(each.tries)}</td>
        <td><button type="button" class="small" onClick=${() => redeliver(each)} aria-label=${`Post again: ${formatMessage(each)}, ${formatMoment(each.created_at)}`}>Post again</button></td>
      </tr>`}
    <//>
    ${failure && html`<${ChangeError} failure=${failure} refused="It is not posted again" />`}`
}

/** Formats a message: `fired, change 3`. @param {Pick<Delivery, 'type' | 'change'>} message */
function formatMessage({ type, change }) {
  const what = type.split('.')[1] ?? type
  return change === null ? what : `${what}, change ${change}`
}

/** Formats the outcome of each delivery attempt. @param {Delivery['tries']} tries */
function formatAttempts(tries) {
  if (tries.length === 0) return 'none'
  return tries.map(({ status_code: status, failure, latency_ms: ms }) => `${status ?? failure} in ${ms} ms`).join(', ')
}
