import { useAnswer, useSubmission } from '../lib/hooks.js'
import { formatMoment } from '../lib/time.js'
import { unsavedSecrets } from '../lib/unsaved.js'
import { classes, html, useState } from '../lib/view.js'
import { Confirm } from '../part/confirm.js'
import { Field, Form } from '../part/field.js'
import { ChangeError, EmptyState, LoadedAnswer } from '../part/notice.js'
import { ACTIONS_COLUMN, Table, textColumn } from '../part/table.js'

/** @typedef {import('../lib/shapes.d.ts').Webhook} Webhook */

const LOOK_MS = 10_000
const COLUMNS = [textColumn('Where'), 'State', ACTIONS_COLUMN]

/** @type {Record<Webhook['status'], string>} */
const KINDS = { active: 'good', failing: 'warn', stopped: 'bad' }

/** Webhooks of an organization, and a form for a new one. @param {{ base: string }} props */
export function Webhooks({ base }) {
  const listed = useAnswer(base, LOOK_MS)
  const [deleted, setDeleted] = useState(/** @type {Webhook | undefined} */ (undefined))
  const { failure, submit } = useSubmission()
  const [message, setMessage] = useState('')
  /** @param {import('../lib/submission.js').ChangeRequest} request @param {string} done */
  const run = (request, done) => {
    setMessage('')
    return submit(request, () => {
      setMessage(done)
      listed.again()
    })
  }
  const test = ({ id, url }) =>
    run({ path: `${base}/${id}/test`, method: 'POST' }, `A test message is posted to ${url}.`)
  const start = ({ id, url }) =>
    run({ path: `${base}/${id}`, method: 'PATCH', body: { status: 'active' } }, `Messages are posted to ${url} again.`)
  return html`
    <${CreateWebhook} base=${base} onCreated=${(
      /** @type {import('../lib/api.js').Answer<{ data: import('../lib/shapes.d.ts').NewWebhook }>} */ { body },
    ) => {
      const { url, secret } = body.data
      unsavedSecrets.add({ title: `The secret of ${url}`, secret, label: 'Copy the secret' })
      listed.again()
    }} />
    <${LoadedAnswer} request=${listed} waiting="Reading the webhooks">${draw}<//>
    ${failure && html`<${ChangeError} failure=${failure} refused="The webhook was not changed" />`}
    ${
      deleted &&
      html`<${Confirm} title=${`Delete "${deleted.name || deleted.url}"?`} verb="Delete it" onClose=${() => setDeleted(undefined)} request=${{ path: `${base}/${deleted.id}`, method: 'DELETE' }} onDone=${() => {
        setDeleted(undefined)
        setMessage(`${deleted.url} is deleted.`)
        listed.again()
      }}>
        <p>Nothing is posted to ${deleted.url} any more, not even what is due.</p>
      <//>`
    }
    <p class="soft" role="status">${message}</p>`

  /** @param {{ data: readonly Webhook[] }} body */
  function draw({ data }) {
    if (data.length === 0)
      return html`<${EmptyState} title="No webhook yet">Messages are in the feed, GET /v1/events, anyway.<//>`
    return html`<${Table} label="Webhooks" columns=${COLUMNS}>${data.map(
      (each) => html`<tr key=${each.id}>
        <th scope="row" class="words">${each.name || each.url} ${each.name && html`<span class="soft">${each.url}</span>`}</th>
        <td><span class=${classes('badge', KINDS[each.status])}>${each.status}</span>${each.failing_since !== null && html` <span class="soft">since ${formatMoment(each.failing_since)}</span>`}</td>
        <td>
          ${each.status === 'stopped' && html`<button type="button" class="small" onClick=${() => start(each)} aria-label=${`Start again: ${each.url}`}>Start again</button>`}
          <button type="button" class="small" onClick=${() => test(each)} aria-label=${`Test ${each.url}`}>Test</button>
          <button type="button" class="small danger" onClick=${() => setDeleted(each)} aria-label=${`Delete ${each.url}`}>Delete</button>
        </td>
      </tr>`,
    )}<//>`
  }
}

/** @param {{ base: string, onCreated: (answer: import('../lib/api.js').Answer) => void }} props */
function CreateWebhook({ base, onCreated }) {
  const [url, setUrl] = useState('')
  const [name, setName] = useState('')
  const body = { url: url.trim(), ...(name.trim() === '' ? {} : { name: name.trim() }) }
  const done = (/** @type {import('../lib/api.js').Answer} */ answer) => {
    setUrl('')
    setName('')
    onCreated(answer)
  }
  return html`<${Form} request=${{ path: base, method: 'POST', body }} onDone=${done} refused="The webhook was not created">
    <${Field} label="URL of a new webhook" type="url" value=${url} required onValue=${setUrl} />
    <${Field} label="Its name" place="narrow" value=${name} maxlength="100" onValue=${setName} />
    <button type="submit">Create webhook</button>
  <//>`
}
