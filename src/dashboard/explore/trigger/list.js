import { requestApi } from '../../lib/api.js'
import { useLoaded, useSubmission } from '../../lib/hooks.js'
import { formatClause, listDestinations, STATE_KINDS } from '../../lib/trigger.js'
import { classes, html } from '../../lib/view.js'
import { ChangeError, ErrorNotice, LoadingNotice } from '../../part/notice.js'
import { formatQuery } from '../requests/plan.js'
import { TriggerForm } from './form.js'

/** @typedef {import('../../lib/shapes.d.ts').Trigger} Trigger */

const PAGE_SIZE = 25
/** Fields of a subject by which the service can filter the list. */
const FILTERS = ['wallet', 'token_id', 'obligation_address']

/**
 * Triggers on a figure, and a form for another.
 * @param {{ watched: import('./bell.js').Watched, context: import('../page.js').Context }} props
 */
export function TriggerPanel({ watched, context }) {
  const { key } = context
  const { failure, submit } = useSubmission((path, options) => requestApi(path, { ...options, key }))
  const { value: loaded, again } = useLoaded((signal) => readAll(watched, { key, signal }), [])
  if (loaded === undefined) return html`<${LoadingNotice}>Loading triggers<//>`
  if ('ok' in loaded) return html`<${ErrorNotice} failure=${loaded} onRetry=${again} />`
  const { triggers, webhooks } = loaded
  const destinations = listDestinations(webhooks)
  const remove = (/** @type {Trigger} */ { id }) => submit({ path: `v1/triggers/${id}`, method: 'DELETE' }, again)
  return html`<p class="soft">${watched.name}</p>
    ${
      triggers.length > 0 &&
      html`<ul class="watching" aria-label="Triggers">
        ${triggers.map(
          (each) => html`<li key=${each.id}>
            <span>${formatClause(each.when)} <span class="soft">to ${destinations.find(([id]) => id === (each.webhook_id ?? ''))?.[1]}</span></span>
            <span class=${classes('badge', STATE_KINDS[each.state])}>${each.state}</span>
            <button type="button" class="small danger" onClick=${() => remove(each)} aria-label=${`Delete ${formatClause(each.when)}`}>Delete</button>
          </li>`,
        )}
      </ul>`
    }
    ${failure && html`<${ChangeError} failure=${failure} refused="It was not deleted" />`}
    <${TriggerForm} watched=${watched} destinations=${destinations} apiKey=${key} credits=${context.catalog.credits.trigger} onCreated=${again} />`
}

/**
 * Reads the organization's webhooks and its triggers on the subject.
 * @param {import('./bell.js').Watched} watched
 * @param {{ key: string, signal: AbortSignal }} options
 */
async function readAll({ chainId, family, subject }, options) {
  /** @type {Trigger[]} */
  const triggers = []
  /** @type {Record<string, string | number>} */
  const query = { chain_id: chainId, family, limit: PAGE_SIZE }
  for (const name of FILTERS) if (subject[name]) query[name] = subject[name]
  for (let page = 1; ; page++) {
    /** @type {import('../../lib/api.js').Answer<import('../../lib/shapes.d.ts').TriggerList> | import('../../lib/api.js').Failure} */
    const answer = await requestApi(`v1/triggers?${formatQuery({ ...query, page })}`, options)
    if (!answer.ok) return answer
    triggers.push(...answer.body.data.filter((each) => matchesSubject(each, subject)))
    if (answer.body.pagination.next_page === null) break
  }
  /** @type {import('../../lib/api.js').Answer<import('../../lib/shapes.d.ts').WebhookList> | import('../../lib/api.js').Failure} */
  const answer = await requestApi('v1/webhooks', options)
  return answer.ok ? { triggers, webhooks: answer.body.data } : answer
}

/**
 * Compares subjects. Hexadecimal digits have no case; the characters of a Solana address do.
 * @param {Pick<Trigger, 'subject'>} trigger
 * @param {Readonly<Record<string, string>>} subject
 */
export function matchesSubject(trigger, subject) {
  const toId = (/** @type {string} */ text) => (/^0x/i.test(text) ? text.toLowerCase() : text)
  return Object.entries(subject).every(
    ([name, value]) => trigger.subject[name] === undefined || toId(trigger.subject[name]) === toId(value),
  )
}
