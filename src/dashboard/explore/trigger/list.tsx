import type { Answer, Failure } from '../../lib/api.ts'
import { requestApi } from '../../lib/api.ts'
import { useLoaded, useSubmission } from '../../lib/hooks.ts'
import type { Trigger, TriggerList, WebhookList } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { formatClause, listDestinations, STATE_KINDS } from '../../lib/trigger.ts'
import { classes, useEffect, useState } from '../../lib/view.ts'
import type { Watchable } from '../../lib/watchable.ts'
import { ChangeError, ErrorNotice, LoadingNotice } from '../../part/notice.tsx'
import type { Context } from '../page.tsx'
import { Offer } from '../requests/offer.tsx'
import { formatQuery } from '../requests/plan.ts'
import type { Watched } from './bell.tsx'
import { TriggerForm } from './form.tsx'

/** The largest page of the service. */
const PAGE_SIZE = 25
/** Fields of a subject by which the service can filter the list. */
const FILTERS = ['wallet', 'token_id', 'obligation_address']

interface TriggerPanelProps {
  readonly watched: Watched
  readonly watchable: Watchable
  readonly context: Context
}

/**
 * Triggers on a figure, and a form for another. Each page is paid for once while the panel is open: what is created or
 * deleted here changes the list without another reading. Only after a deletion, which moves a trigger of the next page onto
 * the last one, "Look for more" reads all pages again, and says so in its price.
 */
export function TriggerPanel({ watched, watchable, context }: TriggerPanelProps) {
  const { key, paid, catalog, messages } = context
  const [pages, setPages] = useState(1)
  const [changes, setChanges] = useState<{ created: readonly Trigger[]; deleted: readonly string[] }>({
    created: [],
    deleted: [],
  })
  const [isMoved, setMoved] = useState(false)
  const { failure, submit } = useSubmission((path, options) => requestApi(path, { ...options, key }))
  const { value: loaded, again } = useLoaded(
    (signal) => readAll(watched, { pages, key, paid, signal }).then((read) => ({ read, pages })),
    [pages],
  )
  // Another opening reads the triggers anew.
  useEffect(() => () => forgetPages(watched, paid), [])
  if (loaded === undefined) return <LoadingNotice>Loading triggers</LoadingNotice>
  const { read } = loaded
  if ('ok' in read) return <ErrorNotice failure={read} onRetry={again} />
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
  const remove = ({ id }: Trigger) =>
    submit({ path: `v1/triggers/${id}`, method: 'DELETE' }, () => {
      setMoved(true)
      setChanges(({ created, deleted }) => ({ created, deleted: [...deleted, id] }))
    })
  const add = ({ body: { data } }: Answer<{ data: Trigger }>) => {
    messages.start()
    setChanges(({ created, deleted }) => ({ created: [data, ...created], deleted }))
  }
  return (
    <>
      <p class="soft">{watched.name}</p>
      {triggers.length > 0 && (
        <ul class="watching" aria-label="Triggers">
          {triggers.map((each) => (
            <li key={each.id}>
              <span>
                {formatClause(each.when)}{' '}
                <span class="soft">to {destinations.find(([id]) => id === (each.webhook_id ?? ''))?.[1]}</span>
              </span>
              <span class={classes('badge', STATE_KINDS[each.state])}>{each.state}</span>
              <button
                type="button"
                class="small danger"
                onClick={() => remove(each)}
                aria-label={`Delete ${formatClause(each.when)}`}
              >
                Delete
              </button>
            </li>
          ))}
        </ul>
      )}
      {left > 0 && loaded.pages === pages && (
        <p class="more">
          <Offer price={pluralize(price, 'credit')} onPress={readMore}>
            Look for more among {left} others of this wallet
          </Offer>
        </p>
      )}
      {failure && <ChangeError failure={failure} refused="It was not deleted" />}
      <TriggerForm
        watched={watched}
        watchable={watchable}
        destinations={destinations}
        apiKey={key}
        credits={catalog.credits.trigger}
        onCreated={add}
      />
    </>
  )
}

/** Forgets the pages that were paid for. */
function forgetPages(watched: Watched, paid: Context['paid']) {
  for (let page = 1; paid.delete(toPagePath(watched, page)); page++);
}

/** Path of a page of the triggers that may be on the subject. */
function toPagePath({ chainId, family, subject }: Watched, page: number) {
  const query: Record<string, string | number> = { chain_id: chainId, family, limit: PAGE_SIZE, page }
  for (const name of FILTERS) if (subject[name]) query[name] = subject[name]
  return `v1/triggers?${formatQuery(query)}`
}

/**
 * Reads the organization's webhooks and the first pages of its triggers, of which those on the subject are returned. `left`:
 * triggers on further pages. Answers in `paid` are not requested again.
 */
async function readAll(
  watched: Watched,
  { pages, paid, ...options }: { pages: number; signal: AbortSignal } & Pick<Context, 'key' | 'paid'>,
) {
  const read = async <Body,>(path: string): Promise<Answer<Body> | Failure> => {
    const kept = paid.get(path) as Answer<Body> | undefined
    const answer: Answer<Body> | Failure = kept ?? (await requestApi(path, options))
    if (answer.ok) paid.set(path, answer)
    return answer
  }
  const triggers: Trigger[] = []
  let left = 0
  for (let page = 1; page <= pages; page++) {
    const answer: Answer<TriggerList> | Failure = await read(toPagePath(watched, page))
    if (!answer.ok) return answer
    triggers.push(...answer.body.data.filter((each) => matchesSubject(each, watched.subject)))
    left = Math.max(0, answer.body.pagination.total - page * PAGE_SIZE)
  }
  const answer: Answer<WebhookList> | Failure = await read('v1/webhooks')
  return answer.ok ? { triggers, left, webhooks: answer.body.data } : answer
}

/** Compares subjects. Hexadecimal digits have no case; the characters of a Solana address do. */
export function matchesSubject(trigger: Pick<Trigger, 'subject'>, subject: Readonly<Record<string, string>>) {
  const toId = (text: string) => (/^0x/i.test(text) ? text.toLowerCase() : text)
  return Object.entries(subject).every(
    ([name, value]) => trigger.subject[name] === undefined || toId(trigger.subject[name]) === toId(value),
  )
}
