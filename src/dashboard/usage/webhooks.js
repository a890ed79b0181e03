import { requestPlane } from '../lib/account.js'
import { useAnswer } from '../lib/hooks.js'
import { formatMoment } from '../lib/time.js'
import { classes, html, useState } from '../lib/view.js'
import { Confirm } from '../part/confirm.js'
import { NewSecret } from '../part/copy.js'
import { Field, Form } from '../part/field.js'
import { EmptyState, ErrorNotice, LoadedAnswer } from '../part/notice.js'
import { ACTIONS_COLUMN, Table, textColumn } from '../part/table.js'

/** @typedef {import('../lib/shapes.d.ts').Webhook} Webhook */

const LOOK_MS = 10_000
const COLUMNS = [textColumn('Where'), 'State', ACTIONS_COLUMN]

/** @type {Record<Webhook['status'], string>} */
const KINDS = { active: 'good', failing: 'warn', stopped: 'bad' }

/** Where messages are posted: what there is, and a new one. @param {{ base: string }} props */
export function Webhooks({ base }) {
  const listed = useAnswer(base, LOOK_MS)
  const [made, setMade] = useState(/** @type {import('../lib/shapes.d.ts').NewWebhook | undefined} */ (undefined))
  const [leaving, setLeaving] = useState(/** @type {Webhook | undefined} */ (undefined))
  const [failure, setFailure] = useState(/** @type {import('../lib/api.js').Failure | undefined} */ (undefined))
  const [said, setSaid] = useState('')
  /** @param {Promise<import('../lib/api.js').Answer | import('../lib/api.js').Failure>} asked @param {string} done */
  const run = async (asked, done) => {
    const answer = await asked
    setFailure(answer.ok ? undefined : answer)
    setSaid(answer.ok ? done : '')
    if (answer.ok) listed.again()
  }
  const test = ({ id, url }) =>
    run(requestPlane(`${base}/${id}/test`, { method: 'POST' }), `A test message is posted to ${url}.`)
  const start = ({ id, url }) =>
    run(
      requestPlane(`${base}/${id}`, { method: 'PATCH', body: { status: 'active' } }),
      `Messages are posted to ${url} again.`,
    )
  return html`
    ${made && html`<${NewSecret} title=${`The secret of ${made.url}`} secret=${made.secret} label="Copy the secret" onClose=${() => setMade(undefined)} />`}
    <${CreateWebhook} base=${base} onMade=${(
      /** @type {import('../lib/api.js').Answer<{ data: import('../lib/shapes.d.ts').NewWebhook }>} */ { body },
    ) => {
      setMade(body.data)
      listed.again()
    }} />
    <${LoadedAnswer} asked=${listed} waiting="Reading the webhooks">${drawn}<//>
    ${failure && html`<${ErrorNotice} failure=${failure} title="The webhook was not changed" />`}
    ${
      leaving &&
      html`<${Confirm} title=${`Delete "${leaving.name || leaving.url}"?`} verb="Delete it" onClose=${() => setLeaving(undefined)} act=${() => requestPlane(`${base}/${leaving.id}`, { method: 'DELETE' })} onDone=${() => {
        setLeaving(undefined)
        setFailure(undefined)
        setSaid(`${leaving.url} is deleted.`)
        listed.again()
      }}>
        <p>Nothing is posted to ${leaving.url} any more, not even what is due.</p>
      <//>`
    }
    <p class="soft" role="status">${said}</p>`

  /** @param {{ data: readonly Webhook[] }} body */
  function drawn({ data }) {
    if (data.length === 0)
      return html`<${EmptyState} title="No webhook yet">Messages are in the feed, GET /v1/events, anyway.<//>`
    return html`<${Table} label="Webhooks" columns=${COLUMNS}>${data.map(
      (each) => html`<tr key=${each.id}>
        <th scope="row" class="words">${each.name || each.url} ${each.name && html`<span class="soft">${each.url}</span>`}</th>
        <td><span class=${classes('badge', KINDS[each.status])}>${each.status}</span>${each.failing_since !== null && html` <span class="soft">since ${formatMoment(each.failing_since)}</span>`}</td>
        <td>
          ${each.status === 'stopped' && html`<button type="button" class="small" onClick=${() => start(each)} aria-label=${`Start again: ${each.url}`}>Start again</button>`}
          <button type="button" class="small" onClick=${() => test(each)} aria-label=${`Test ${each.url}`}>Test</button>
          <button type="button" class="small danger" onClick=${() => setLeaving(each)} aria-label=${`Delete ${each.url}`}>Delete</button>
        </td>
      </tr>`,
    )}<//>`
  }
}

/** @param {{ base: string, onMade: (answer: import('../lib/api.js').Answer) => void }} props */
function CreateWebhook({ base, onMade }) {
  const [url, setUrl] = useState('')
  const [name, setName] = useState('')
  const body = { url: url.trim(), ...(name.trim() === '' ? {} : { name: name.trim() }) }
  const done = (/** @type {import('../lib/api.js').Answer} */ answer) => {
    setUrl('')
    setName('')
    onMade(answer)
  }
  return html`<${Form} send=${() => requestPlane(base, { method: 'POST', body })} onDone=${done} refused="The webhook was not made">
    <${Field} label="URL of a new webhook" type="url" value=${url} required onValue=${setUrl} />
    <${Field} label="Its name" place="narrow" value=${name} maxlength="100" onValue=${setName} />
    <button type="submit">Create webhook</button>
  <//>`
}
