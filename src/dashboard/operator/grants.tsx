import { withQuery } from '../lib/account.ts'
import { formatThousands } from '../lib/decimal.ts'
import { useAnswer } from '../lib/hooks.ts'
import type { Grant, GrantList } from '../lib/shapes.ts'
import { formatMoment } from '../lib/time.ts'
import { useState } from '../lib/view.ts'
import { Field, Form } from '../part/field.tsx'
import { EmptyState } from '../part/notice.tsx'
import { PagedTable, textColumn } from '../part/table.tsx'

/** Grants of credits, and a form for a new one. */
export function Grants({ path, onDone }: { path: string; onDone: () => void }) {
  const [page, setPage] = useState(1)
  const request = useAnswer<GrantList>(withQuery(path, { page, limit: 10 }))
  const done = () => {
    request.again()
    onDone()
  }
  return (
    <>
      <GrantForm path={path} onDone={done} />
      <PagedTable
        label="Grants"
        columns={['When', 'Credits', textColumn('Reason')]}
        request={request}
        waiting="Reading the grants"
        empty={<EmptyState title="Nothing granted yet" />}
        noun="grant"
        onPage={setPage}
      >
        {(row: Grant) => (
          <tr>
            <td>{formatMoment(row.granted_at)}</td>
            <td>{formatThousands(row.credits)}</td>
            <td class="words">{row.reason}</td>
          </tr>
        )}
      </PagedTable>
    </>
  )
}

function GrantForm({ path, onDone }: { path: string; onDone: () => void }) {
  const [credits, setCredits] = useState('')
  const [reason, setReason] = useState('')
  const body = { credits: Number(credits), reason: reason.trim() }
  const done = () => {
    setCredits('')
    setReason('')
    onDone()
  }
  return (
    <Form request={{ path, method: 'POST', body }} onDone={done} refused="Nothing was granted">
      <Field label="Credits" place="narrow" type="number" step={1} value={credits} required onValue={setCredits} />
      <Field label="Reason" value={reason} required maxlength={200} onValue={setReason} />
      <button type="submit">Grant</button>
      <p class="soft full">A number below zero takes credits back; the balance never falls below zero.</p>
    </Form>
  )
}
