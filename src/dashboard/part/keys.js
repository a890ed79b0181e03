import { withQuery } from '../lib/account.js'
import { useAnswer } from '../lib/hooks.js'
import { formatDay, formatMoment } from '../lib/time.js'
import { unsavedSecrets } from '../lib/unsaved.js'
import { classes, html, useState } from '../lib/view.js'
import { Confirm } from './confirm.js'
import { Choice, Field, Form } from './field.js'
import { EmptyState } from './notice.js'
import { ACTIONS_COLUMN, PagedTable } from './table.js'

/** @type {readonly (readonly [string, string])[]} */
const GRACES = [
  ['0', 'stops at once'],
  ['3600', 'works for one more hour'],
  ['86400', 'works for one more day'],
  ['604800', 'works for one more week'],
]
const COLUMNS = ['Name', 'Key', 'Created', 'State', ACTIONS_COLUMN]

/**
 * API keys of an organization: list, create, replace and revoke.
 * @param {{ base: string, suspended: boolean }} props `base`: path of the keys
 */
export function Keys({ base, suspended }) {
  const [page, setPage] = useState(1)
  const [opened, setOpened] = useState(
    /** @type {{ kind: 'revoke' | 'reroll', key: import('../lib/shapes.d.ts').Key } | undefined} */ (undefined),
  )
  const [grace, setGrace] = useState('86400')
  const listed = useAnswer(withQuery(base, { page, limit: 25 }))
  const close = () => setOpened(undefined)
  const done = (
    /** @type {import('../lib/api.js').Answer<{ data: import('../lib/shapes.d.ts').Key | import('../lib/shapes.d.ts').NewKey }>} */ {
      body,
    },
  ) => {
    close()
    if ('key' in body.data) {
      const { name, key: secret } = body.data
      unsavedSecrets.add({ title: `The key "${name}"`, secret, label: 'Copy the key' })
    }
    listed.again()
  }
  return html`
    <${CreateKey} base=${base} suspended=${suspended} onCreated=${done} />
    <${PagedTable} label="Keys" columns=${COLUMNS} request=${listed} waiting="Reading the keys" empty=${html`<${EmptyState} title="No key yet">Create one above. It is shown once.<//>`} noun="key" isOldestFirst onPage=${setPage}>
      ${(/** @type {import('../lib/shapes.d.ts').Key} */ key) => html`<${KeyRow} key=${key.id} value=${key} atSec=${listed.answer?.ok ? listed.answer.atSec : 0} onAsk=${(/** @type {'revoke' | 'reroll'} */ kind) => setOpened({ kind, key })} />`}
    <//>
    ${
      opened?.kind === 'revoke' &&
      html`<${Confirm} title=${`Revoke "${opened.key.name}"?`} verb="Revoke it" onClose=${close} onDone=${done} request=${{ path: `${base}/${opened.key.id}`, method: 'DELETE' }}>
        <p>From its next request on, the key …${opened.key.last4} is refused. This cannot be taken back.</p>
      <//>`
    }
    ${
      opened?.kind === 'reroll' &&
      html`<${Confirm} title=${`Replace "${opened.key.name}"?`} verb="Replace it" onClose=${close} onDone=${done} request=${{ path: `${base}/${opened.key.id}/reroll`, method: 'POST', body: { grace_sec: Number(grace) } }}>
        <p>A new key takes its place.</p>
        <${Choice} label="The old one" place="field" value=${grace} options=${GRACES} onValue=${setGrace} />
      <//>`
    }
  `
}

/** @param {{ value: import('../lib/shapes.d.ts').Key, atSec: number, onAsk: (kind: 'revoke' | 'reroll') => void }} props */
function KeyRow({
  value: { name, last4, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt },
  atSec,
  onAsk,
}) {
  const expired = expiresAt !== null && Date.parse(expiresAt) <= atSec * 1000
  const [kind, text] = revokedAt
    ? ['closed', `revoked ${formatDay(revokedAt)}`]
    : expired
      ? ['closed', 'expired']
      : expiresAt
        ? ['warn', `until ${formatMoment(expiresAt)}`]
        : ['good', 'works']
  return html`<tr>
    <th scope="row">${name}</th>
    <td class="mono">…${last4}</td>
    <td>${formatDay(createdAt)}</td>
    <td><span class=${classes('badge', kind)}>${text}</span></td>
    <td>${
      kind !== 'closed' &&
      html`<button type="button" class="small" onClick=${() => onAsk('reroll')} aria-label=${`Replace ${name}`}>Replace</button>
        <button type="button" class="small danger" onClick=${() => onAsk('revoke')} aria-label=${`Revoke ${name}`}>Revoke</button>`
    }</td>
  </tr>`
}

/** @param {{ base: string, suspended: boolean, onCreated: (answer: import('../lib/api.js').Answer) => void }} props */
function CreateKey({ base, suspended, onCreated }) {
  const [name, setName] = useState('')
  const [until, setUntil] = useState('')
  const body = { name: name.trim() || 'unnamed', ...(until === '' ? {} : { expires_at: `${until}T00:00:00Z` }) }
  const note = suspended && html`<p class="soft full">A suspended organization cannot have another key.</p>`
  const done = (/** @type {import('../lib/api.js').Answer} */ answer) => {
    setName('')
    onCreated(answer)
  }
  return html`<${Form} request=${{ path: base, method: 'POST', body }} onDone=${done} refused="The key was not created" note=${note}>
    <${Field} label="Name of a new key" value=${name} maxlength="100" onValue=${setName} />
    <${Field} label="Expires (UTC, if ever)" type="date" value=${until} onValue=${setUntil} />
    <button type="submit">Create key</button>
  <//>`
}
