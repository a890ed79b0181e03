import { act, withQuery } from '../lib/account.js'
import { grouped } from '../lib/decimal.js'
import { useLoaded } from '../lib/hooks.js'
import { momentText } from '../lib/time.js'
import { html, useId, useState } from '../lib/view.js'
import { Empty, Trouble, Waiting } from '../part/notice.js'
import { Pager } from '../part/pager.js'

/**
 * Credits given and taken back, and how to.
 * @param {{ path: string, onDone: () => void }} props
 */
export function Grants({ path, onDone }) {
  const [page, setPage] = useState(1)
  const { value: answer, again } = useLoaded(
    (signal) => act(withQuery(path, { page, limit: 10 }), { signal }),
    [path, page],
  )
  const done = () => {
    again()
    onDone()
  }
  return html`
    <${Give} path=${path} onDone=${done} />
    ${answer === undefined && html`<${Waiting}>Reading the grants<//>`}
    ${answer?.ok === false && html`<${Trouble} failure=${answer} onRetry=${again} />`}
    ${answer?.ok && answer.body.data.length === 0 && html`<${Empty} title="Nothing granted yet" />`}
    ${
      answer?.ok &&
      answer.body.data.length > 0 &&
      html`<div class="scroll" tabindex="0" role="group" aria-label="Grants"><table>
        <thead><tr><th scope="col">When</th><th scope="col">Credits</th><th scope="col" class="words">Reason</th></tr></thead>
        <tbody>${answer.body.data.map((/** @type {any} */ row) => html`<tr><td>${momentText(row.granted_at)}</td><td>${grouped(row.credits)}</td><td class="words">${row.reason}</td></tr>`)}</tbody>
      </table></div>
      <${Pager} pagination=${answer.body.pagination} noun="grant" onPage=${setPage} />`
    }`
}

/** @param {{ path: string, onDone: () => void }} props */
function Give({ path, onDone }) {
  const [credits, setCredits] = useState('')
  const [reason, setReason] = useState('')
  const [failure, setFailure] = useState(/** @type {import('../lib/api.js').Failure | undefined} */ (undefined))
  const id = useId()
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    const answer = await act(path, { method: 'POST', body: { credits: Number(credits), reason: reason.trim() } })
    setFailure(answer.ok ? undefined : answer)
    if (!answer.ok) return
    setCredits('')
    setReason('')
    onDone()
  }
  return html`<form class="fields" onSubmit=${submit}>
    <p class="narrow"><label for=${`${id}c`}>Credits</label><input id=${`${id}c`} type="number" step="1" value=${credits} required onInput=${(/** @type {any} */ event) => setCredits(event.target.value)} /></p>
    <p><label for=${`${id}r`}>Reason</label><input id=${`${id}r`} value=${reason} required maxlength="200" onInput=${(/** @type {any} */ event) => setReason(event.target.value)} /></p>
    <button type="submit">Grant</button>
    <p class="soft full">A number below zero takes credits back; the balance never falls below zero.</p>
    ${failure && html`<div class="full"><${Trouble} failure=${failure} title="Nothing was granted" /></div>`}
  </form>`
}
