import { withQuery } from '../lib/account.ts'
import type { Answer } from '../lib/api.ts'
import { useAnswer } from '../lib/hooks.ts'
import type { Key, KeyList, NewKey } from '../lib/shapes.ts'
import { formatDay, formatMoment } from '../lib/time.ts'
import { unsavedSecrets } from '../lib/unsaved.ts'
import { classes, useState } from '../lib/view.ts'
import { Confirm } from './confirm.tsx'
import { Choice, Field, Form } from './field.tsx'
import { EmptyState } from './notice.tsx'
import { ACTIONS_COLUMN, PagedTable } from './table.tsx'

const GRACES: readonly (readonly [string, string])[] = [
  ['0', 'stops at once'],
  ['3600', 'works for one more hour'],
  ['86400', 'works for one more day'],
  ['604800', 'works for one more week'],
]
const COLUMNS = ['Name', 'Key', 'Created', 'State', ACTIONS_COLUMN]

/** API keys of an organization: list, create, replace and revoke. `base`: path of the keys. */
export function Keys({ base, suspended }: { base: string; suspended: boolean }) {
  const [page, setPage] = useState(1)
  const [opened, setOpened] = useState<{ kind: 'revoke' | 'reroll'; key: Key } | undefined>(undefined)
  const [grace, setGrace] = useState('86400')
  const listed = useAnswer<KeyList>(withQuery(base, { page, limit: 25 }))
  const close = () => setOpened(undefined)
  const done = ({ body }: Answer<{ data: Key | NewKey }>) => {
    close()
    if ('key' in body.data) {
      const { name, key: secret } = body.data
      unsavedSecrets.add({ title: `The key "${name}"`, secret, label: 'Copy the key' })
    }
    listed.again()
  }
  return (
    <>
      <CreateKey base={base} suspended={suspended} onCreated={done} />
      <PagedTable
        label="Keys"
        columns={COLUMNS}
        request={listed}
        waiting="Reading the keys"
        empty={<EmptyState title="No key yet">Create one above. It is shown once.</EmptyState>}
        noun="key"
        isOldestFirst
        onPage={setPage}
      >
        {(key: Key) => (
          <KeyRow
            key={key.id}
            value={key}
            atSec={listed.answer?.ok ? listed.answer.atSec : 0}
            onAsk={(kind: 'revoke' | 'reroll') => setOpened({ kind, key })}
          />
        )}
      </PagedTable>
      {opened?.kind === 'revoke' && (
        <Confirm
          title={`Revoke "${opened.key.name}"?`}
          verb="Revoke it"
          onClose={close}
          onDone={done}
          request={{ path: `${base}/${opened.key.id}`, method: 'DELETE' }}
        >
          <p>From its next request on, the key …{opened.key.last4} is refused. This cannot be taken back.</p>
        </Confirm>
      )}
      {opened?.kind === 'reroll' && (
        <Confirm
          title={`Replace "${opened.key.name}"?`}
          verb="Replace it"
          onClose={close}
          onDone={done}
          request={{ path: `${base}/${opened.key.id}/reroll`, method: 'POST', body: { grace_sec: Number(grace) } }}
        >
          <p>A new key takes its place.</p>
          <Choice label="The old one" place="field" value={grace} options={GRACES} onValue={setGrace} />
        </Confirm>
      )}
    </>
  )
}

interface KeyRowProps {
  readonly value: Key
  readonly atSec: number
  readonly onAsk: (kind: 'revoke' | 'reroll') => void
}

function KeyRow({
  value: { name, last4, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt },
  atSec,
  onAsk,
}: KeyRowProps) {
  const expired = expiresAt !== null && Date.parse(expiresAt) <= atSec * 1000
  const [kind, text] = revokedAt
    ? ['closed', `revoked ${formatDay(revokedAt)}`]
    : expired
      ? ['closed', 'expired']
      : expiresAt
        ? ['warn', `until ${formatMoment(expiresAt)}`]
        : ['good', 'works']
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="mono">…{last4}</td>
      <td>{formatDay(createdAt)}</td>
      <td>
        <span class={classes('badge', kind)}>{text}</span>
      </td>
      <td>
        {kind !== 'closed' && (
          <>
            <button type="button" class="small" onClick={() => onAsk('reroll')} aria-label={`Replace ${name}`}>
              Replace
            </button>
            <button type="button" class="small danger" onClick={() => onAsk('revoke')} aria-label={`Revoke ${name}`}>
              Revoke
            </button>
          </>
        )}
      </td>
    </tr>
  )
}

interface CreateKeyProps {
  readonly base: string
  readonly suspended: boolean
  readonly onCreated: (answer: Answer<{ data: NewKey }>) => void
}

function CreateKey({ base, suspended, onCreated }: CreateKeyProps) {
  const [name, setName] = useState('')
  const [until, setUntil] = useState('')
  const body = { name: name.trim() || 'unnamed', ...(until === '' ? {} : { expires_at: `${until}T00:00:00Z` }) }
  const note = suspended && <p class="soft full">A suspended organization cannot have another key.</p>
  const done = (answer: Answer<{ data: NewKey }>) => {
    setName('')
    onCreated(answer)
  }
  return (
    <Form request={{ path: base, method: 'POST', body }} onDone={done} refused="The key was not created" note={note}>
      <Field label="Name of a new key" value={name} maxlength={100} onValue={setName} />
      <Field label="Expires (UTC, if ever)" type="date" value={until} onValue={setUntil} />
      <button type="submit">Create key</button>
    </Form>
  )
}
