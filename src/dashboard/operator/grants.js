import { withQuery } from '../lib/account.js'
import { formatThousands } from '../lib/decimal.js'
import { useAnswer } from '../lib/hooks.js'
import { formatMoment } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { Field, Form } from '../part/field.js'
import { EmptyState } from '../part/notice.js'
import { PagedTable, textColumn } from '../part/table.js'

/**
 * Grants of credits, and a form for a new one.
 * @param {{ path: string, onDone: () => void }} props
 */
export function Grants({ path, onDone }) {
  const [page, setPage] = useState(1)
  const request = useAnswer(withQuery(path, { page, limit: 10 }))
  const done = () => {
    request.again()
    onDone()
  }
  return html`
    <${GrantForm} path=${path} onDone=${done} />
    <${PagedTable} label="Grants" columns=${['When', 'Credits', textColumn('Reason')]} request=${request} waiting="Reading the grants" empty=${html`<${EmptyState} title="Nothing granted yet" />`} noun="grant" onPage=${setPage}>
      ${(/** @type {import('../lib/shapes.d.ts').Grant} */ row) => html`<tr><td>${formatMoment(row.granted_at)}</td><td>${formatThousands(row.credits)}</td><td class="words">${row.reason}</td></tr>`}
    <//>`
}

/** @param {{ path: string, onDone: () => void }} props */
function GrantForm({ path, onDone }) {
  const [credits, setCredits] = useState('')
  const [reason, setReason] = useState('')
  const body = { credits: Number(credits), reason: reason.trim() }
  const done = () => {
    setCredits('')
    setReason('')
    onDone()
  }
  return html`<${Form} request=${{ path, method: 'POST', body }} onDone=${done} refused="Nothing was granted">
    <${Field} label="Credits" place="narrow" type="number" step="1" value=${credits} required onValue=${setCredits} />
    <${Field} label="Reason" value=${reason} required maxlength="200" onValue=${setReason} />
    <button type="submit">Grant</button>
    <p class="soft full">A number below zero takes credits back; the balance never falls below zero.</p>
  <//>`
}
