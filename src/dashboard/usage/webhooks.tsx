import type { Answer } from '../lib/api.ts'
import { useAnswer, useSubmission } from '../lib/hooks.ts'
import type { Webhook, WebhookList, WebhookWithSecret } from '../lib/shapes.ts'
import type { ChangeRequest } from '../lib/submission.ts'
import { formatMoment } from '../lib/time.ts'
import { unsavedSecrets } from '../lib/unsaved.ts'
import { classes, useState } from '../lib/view.ts'
import { Confirm } from '../part/confirm.tsx'
import { Field, Form } from '../part/field.tsx'
import { ChangeError, EmptyState, LoadedAnswer } from '../part/notice.tsx'
import { ACTIONS_COLUMN, Table, textColumn } from '../part/table.tsx'

const LOOK_MS = 10_000
const COLUMNS = [textColumn('Where'), 'State', ACTIONS_COLUMN]

const KINDS: Record<Webhook['status'], string> = { active: 'good', failing: 'warn', stopped: 'bad' }

/** Webhooks of an organization, and a form for a new one. */
export function Webhooks({ base }: { base: string }) {
  const listed = useAnswer<WebhookList>(base, LOOK_MS)
  const [deleted, setDeleted] = useState<Webhook | undefined>(undefined)
  const { failure, submit } = useSubmission()
  const [message, setMessage] = useState('')
  const run = (request: ChangeRequest, done: string) => {
    setMessage('')
    return submit(request, () => {
      setMessage(done)
      listed.again()
    })
  }
  const test = ({ id, url }: Webhook) =>
    run({ path: `${base}/${id}/test`, method: 'POST' }, `A test message is posted to ${url}.`)
  const start = ({ id, url }: Webhook) =>
    run({ path: `${base}/${id}`, method: 'PATCH', body: { status: 'active' } }, `Messages are posted to ${url} again.`)
  return (
    <>
      <CreateWebhook
        base={base}
        onCreated={({ body }: Answer<{ data: WebhookWithSecret }>) => {
          const { url, secret } = body.data
          unsavedSecrets.add({ title: `The secret of ${url}`, secret, label: 'Copy the secret' })
          listed.again()
        }}
      />
      <LoadedAnswer request={listed} waiting="Reading the webhooks">
        {draw}
      </LoadedAnswer>
      {failure && <ChangeError failure={failure} refused="The webhook was not changed" />}
      {deleted && (
        <Confirm
          title={`Delete "${deleted.name || deleted.url}"?`}
          verb="Delete it"
          onClose={() => setDeleted(undefined)}
          request={{ path: `${base}/${deleted.id}`, method: 'DELETE' }}
          onDone={() => {
            setDeleted(undefined)
            setMessage(`${deleted.url} is deleted.`)
            listed.again()
          }}
        >
          <p>Nothing is posted to {deleted.url} any more, not even what is due.</p>
        </Confirm>
      )}
      <p class="soft" role="status">
        {message}
      </p>
    </>
  )

  function draw({ data }: WebhookList) {
    if (data.length === 0)
      return <EmptyState title="No webhook yet">Messages are in the feed, GET /v1/events, anyway.</EmptyState>
    return (
      <Table label="Webhooks" columns={COLUMNS}>
        {data.map((each) => (
          <tr key={each.id}>
            <th scope="row" class="words">
              {each.name || each.url} {each.name && <span class="soft">{each.url}</span>}
            </th>
            <td>
              <span class={classes('badge', KINDS[each.status])}>{each.status}</span>
              {each.failing_since !== null && (
                <>
                  {' '}
                  <span class="soft">since {formatMoment(each.failing_since)}</span>
                </>
              )}
            </td>
            <td>
              {each.status === 'stopped' && (
                <button type="button" class="small" onClick={() => start(each)} aria-label={`Start again: ${each.url}`}>
                  Start again
                </button>
              )}
              <button type="button" class="small" onClick={() => test(each)} aria-label={`Test ${each.url}`}>
                Test
              </button>
              <button
                type="button"
                class="small danger"
                onClick={() => setDeleted(each)}
                aria-label={`Delete ${each.url}`}
              >
                Delete
              </button>
            </td>
          </tr>
        ))}
      </Table>
    )
  }
}

function CreateWebhook({
  base,
  onCreated,
}: {
  base: string
  onCreated: (answer: Answer<{ data: WebhookWithSecret }>) => void
}) {
  const [url, setUrl] = useState('')
  const [name, setName] = useState('')
  const body = { url: url.trim(), ...(name.trim() === '' ? {} : { name: name.trim() }) }
  const done = (answer: Answer<{ data: WebhookWithSecret }>) => {
    setUrl('')
    setName('')
    onCreated(answer)
  }
  return (
    <Form request={{ path: base, method: 'POST', body }} onDone={done} refused="The webhook was not created">
      <Field label="URL of a new webhook" type="url" value={url} required onValue={setUrl} />
      <Field label="Its name" place="narrow" value={name} maxlength={100} onValue={setName} />
      <button type="submit">Create webhook</button>
    </Form>
  )
}
