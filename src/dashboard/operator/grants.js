import { act, withQuery } from '../lib/account.js'
import { grouped } from '../lib/decimal.js'
import { useAnswer } from '../lib/hooks.js'
import { momentText } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { Field, Form } from '../part/field.js'
import { Paged, words } from '../part/list.js'
import { Empty } from '../part/notice.js'

/**
 * Credits given and taken back, and how to.
 * @param {{ path: string, onDone: () => void }} props
 */
export function Grants({ path, onDone }) {
  const [page, setPage] = useState(1)
  const asked = useAnswer(withQuery(path, { page, limit: 10 }))
  const done = () => {
    asked.again()
    onDone()
  }
  return html`
    <${Give} path=${path} onDone=${done} />
    <${Paged} label="Grants" columns=${['When', 'Credits', words('Reason')]} asked=${asked} waiting="Reading the grants" empty=${html`<${Empty} title="Nothing granted yet" />`} noun="grant" onPage=${setPage}>
      ${(/** @type {import('../lib/shapes.d.ts').Grant} */ row) => html`<tr><td>${momentText(row.granted_at)}</td><td>${grouped(row.credits)}</td><td class="words">${row.reason}</td></tr>`}
    <//>`
}

/** @param {{ path: string, onDone: () => void }} props */
function Give({ path, onDone }) {
  const [credits, setCredits] = useState('')
  const [reason, setReason] = useState('')
  const body = { credits: Number(credits), reason: reason.trim() }
  const done = () => {
    setCredits('')
    setReason('')
    onDone()
  }
  return html`<${Form} send=${() => act(path, { method: 'POST', body })} onDone=${done} refused="Nothing was granted">
    <${Field} label="Credits" place="narrow" type="number" step="1" value=${credits} required onValue=${setCredits} />
    <${Field} label="Reason" value=${reason} required maxlength="200" onValue=${setReason} />
    <button type="submit">Grant</button>
    <p class="soft full">A number below zero takes credits back; the balance never falls below zero.</p>
  <//>`
}
