import { requestApi } from '../../lib/api.js'
import { useLoaded, useSubmission } from '../../lib/hooks.js'
import { pluralize } from '../../lib/time.js'
import { formatClause, listDestinations, STATE_KINDS } from '../../lib/trigger.js'
import { classes, html, useEffect, useState } from '../../lib/view.js'
import { ChangeError, ErrorNotice, LoadingNotice } from '../../part/notice.js'
import { Offer } from '../requests/offer.js'
import { formatQuery } from '../requests/plan.js'
import { TriggerForm } from './form.js'

/** @typedef {import('../../lib/shapes.d.ts').Trigger} Trigger */

/** The largest page of the service. */
const PAGE_SIZE = 25
/** Fields of a subject by which the service can filter the list. */
const FILTERS = ['wallet', 'token_id', 'obligation_address']

/**
 * Triggers on a figure, and a form for another. Each page is paid for once while the panel is open: what is created or
 * deleted here changes the list without another reading. Only after a deletion, which moves a trigger of the next page onto
 * the last one, "Look for more" reads all pages again, and says so in its price.
 * @param {{ watched: import('./bell.js').Watched, context: import('../page.js').Context }} props
 */
export function TriggerPanel({ watched, context }) {
  const { key, paid, catalog } = context
  const [pages, setPages] = useState(1)
  const [changes, setChanges] = useState(
    /** @type {{ created: readonly Trigger[], deleted: readonly string[] }} */ ({ created: [], deleted: [] }),
  )
  const [isMoved, setMoved] = useState(false)
  const { failure, submit } = useSubmission((path, options) => requestApi(path, { ...options, key }))
  const { value: loaded, again } = useLoaded(
    (signal) => readAll(watched, { pages, key, paid, signal }).then((read) => ({ read, pages })),
    [pages],
  )
  // Another opening reads the triggers anew.
  useEffect(() => () => forgetPages(watched, paid), [])
  if (loaded === undefined) return html`<${LoadingNotice}>Loading triggers<//>`
  const { read } = loaded
  if ('ok' in read) return html`<${ErrorNotice} failure=${read} onRetry=${again} />`
  const { webhooks, left } = read
  // Of a page that was read after a trigger was made, the trigger or one of the page before comes again.
  const known = new Map([...changes.created, ...read.triggers].map((each) => [each.id, each]))
  const triggers = [...known.values()].filter(({ id }) => !changes.deleted.includes(id))
  const destinations = listDestinations(webhooks)
  const price = catalog.credits.triggers * (isMoved ? pages + 1 : 1)
  const readMore = () => {
    if (isMoved) forgetPages(watched, paid)
    setMoved(false)
    setPages(pages + 1)
  }
  const remove = (/** @type {Trigger} */ { id }) =>
    submit({ path: `v1/triggers/${id}`, method: 'DELETE' }, () => {
      setMoved(true)
      setChanges(({ created, deleted }) => ({ created, deleted: [...deleted, id] }))
    })
  const add = (/** @type {import('../../lib/api.js').Answer<{ data: Trigger }>} */ { body: { data } }) =>
    setChanges(({ created, deleted }) => ({ created: [data, ...created], deleted }))
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
    ${left > 0 && loaded.pages === pages && html`<p class="more"><${Offer} price=${pluralize(price, 'credit')} onPress=${readMore}>Look for more among ${left} others of this wallet<//></p>`}
    ${failure && html`<${ChangeError} failure=${failure} refused="It was not deleted" />`}
    <${TriggerForm} watched=${watched} destinations=${destinations} apiKey=${key} credits=${catalog.credits.trigger} onCreated=${add} />`
}

/**
 * Forgets the pages that were paid for.
 * @param {import('./bell.js').Watched} watched
 * @param {import('../page.js').Context['paid']} paid
 */
function forgetPages(watched, paid) {
  for (let page = 1; paid.delete(toPagePath(watched, page)); page++);
}

/**
 * Path of a page of the triggers that may be on the subject.
 * @param {import('./bell.js').Watched} watched
 * @param {number} page
 */
function toPagePath({ chainId, family, subject }, page) {
  /** @type {Record<string, string | number>} */
  const query = { chain_id: chainId, family, limit: PAGE_SIZE, page }
  for (const name of FILTERS) if (subject[name]) query[name] = subject[name]
  return `v1/triggers?${formatQuery(query)}`
}

/**
 * Reads the organization's webhooks and the first pages of its triggers, of which those on the subject are returned. `left`:
 * triggers on further pages. Answers in `paid` are not requested again.
 * @param {import('./bell.js').Watched} watched
 * @param {{ pages: number, signal: AbortSignal } & Pick<import('../page.js').Context, 'key' | 'paid'>} options
 */
async function readAll(watched, { pages, paid, ...options }) {
  /**
   * @template Body
   * @param {string} path
   * @returns {Promise<import('../../lib/api.js').Answer<Body> | import('../../lib/api.js').Failure>}
   */
  const read = async (path) => {
    const kept = /** @type {import('../../lib/api.js').Answer<Body> | undefined} */ (paid.get(path))
    /** @type {import('../../lib/api.js').Answer<Body> | import('../../lib/api.js').Failure} */
    const answer = kept ?? (await requestApi(path, options))
    if (answer.ok) paid.set(path, answer)
    return answer
  }
  /** @type {Trigger[]} */
  const triggers = []
  let left = 0
  for (let page = 1; page <= pages; page++) {
    /** @type {import('../../lib/api.js').Answer<import('../../lib/shapes.d.ts').TriggerList> | import('../../lib/api.js').Failure} */
    const answer = await read(toPagePath(watched, page))
    if (!answer.ok) return answer
    triggers.push(...answer.body.data.filter((each) => matchesSubject(each, watched.subject)))
    left = Math.max(0, answer.body.pagination.total - page * PAGE_SIZE)
  }
  /** @type {import('../../lib/api.js').Answer<import('../../lib/shapes.d.ts').WebhookList> | import('../../lib/api.js').Failure} */
  const answer = await read('v1/webhooks')
  return answer.ok ? { triggers, left, webhooks: answer.body.data } : answer
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
