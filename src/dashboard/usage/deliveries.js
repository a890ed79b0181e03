import { requestPlane, withQuery } from '../lib/account.js'
import { useAnswer, useSubmission } from '../lib/hooks.js'
import { formatMoment } from '../lib/time.js'
import { classes, html, useState } from '../lib/view.js'
import { EmptyState, ErrorNotice } from '../part/notice.js'
import { ACTIONS_COLUMN, PagedTable, textColumn } from '../part/table.js'

/** @typedef {import('../lib/shapes.d.ts').Delivery} Delivery */
/** @typedef {import('../lib/shapes.d.ts').DeadLetter} DeadLetter */

const LOOK_MS = 10_000
const COLUMNS = ['When', textColumn('What'), 'State', textColumn('Tries')]
const DEAD_COLUMNS = ['When', textColumn('What'), textColumn('Tries'), ACTIONS_COLUMN]

/** Colour and words of what became of a message. @type {Record<Delivery['status'], readonly [string, string]>} */
const STATUSES = {
  due: ['warn', 'is tried'],
  delivered: ['good', 'delivered'],
  dead: ['bad', 'dead'],
  feed: ['closed', 'in the feed'],
}

/** Messages about a trigger with their tries. @param {{ path: string, name: string, onClose: () => void }} props */
export function Deliveries({ path, name, onClose }) {
  const [page, setPage] = useState(1)
  const listed = useAnswer(withQuery(path, { page, limit: 10 }), LOOK_MS)
  return html`<h3>Messages of ${name}</h3>
    <${PagedTable} label=${`Messages of ${name}`} columns=${COLUMNS} asked=${listed} waiting="Reading the messages" empty=${html`<${EmptyState} title="Nothing was told yet" />`} noun="message" onPage=${setPage}>
      ${(/** @type {Delivery} */ each) => html`<tr key=${each.id}>
        <th scope="row">${formatMoment(each.created_at)}</th>
        <td class="words">${whatOf(each)}</td>
        <td><span class=${classes('badge', STATUSES[each.status][0])}>${STATUSES[each.status][1]}</span>${each.next_try_at !== null && each.tries.length > 0 && html` <span class="soft">next ${formatMoment(each.next_try_at)}</span>`}</td>
        <td class="words">${triesText(each.tries)}</td>
      </tr>`}
    <//>
    <p class="more"><button type="button" class="small" onClick=${onClose}>Close</button></p>`
}

/** Messages whose tries are over without success, and the way to post them again. @param {{ base: string }} props */
export function DeadLetters({ base }) {
  const [page, setPage] = useState(1)
  const { failure, wait } = useSubmission()
  const listed = useAnswer(withQuery(`${base}/dead-letters`, { page, limit: 10 }), LOOK_MS)
  const redeliver = (/** @type {DeadLetter} */ { id, webhook_id: webhookId }) =>
    wait(requestPlane(`${base}/webhooks/${webhookId}/redeliver`, { method: 'POST', body: { ids: [id] } }), listed.again)
  return html`<${PagedTable} label="Dead letters" columns=${DEAD_COLUMNS} asked=${listed} waiting="Reading what did not arrive" empty=${html`<${EmptyState} title="Everything arrived">Messages whose tries are over without success stay here for 30 days.<//>`} noun="message" onPage=${setPage}>
      ${(/** @type {DeadLetter} */ each) => html`<tr key=${each.id}>
        <th scope="row">${formatMoment(each.created_at)}</th>
        <td class="words">${whatOf(each)} <span class="soft">${each.trigger_id}</span></td>
        <td class="words">${triesText(each.tries)}</td>
        <td><button type="button" class="small" onClick=${() => redeliver(each)} aria-label=${`Post again: ${whatOf(each)}, ${formatMoment(each.created_at)}`}>Post again</button></td>
      </tr>`}
    <//>
    ${failure && html`<${ErrorNotice} failure=${failure} title="It is not posted again" />`}`
}

/** `fired, change 3`. @param {Pick<Delivery, 'type' | 'change'>} message */
function whatOf({ type, change }) {
  const what = type.split('.')[1] ?? type
  return change === null ? what : `${what}, change ${change}`
}

/** How each try ended. @param {Delivery['tries']} tries */
function triesText(tries) {
  if (tries.length === 0) return 'none'
  return tries.map(({ status_code: status, failure, latency_ms: ms }) => `${status ?? failure} in ${ms} ms`).join(', ')
}
