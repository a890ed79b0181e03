import { announce } from '../../lib/announce.ts'
import type { Failure } from '../../lib/api.ts'
import { requestApi } from '../../lib/api.ts'
import { closeNotifications, readPermission, showNotification } from '../../lib/notifications.ts'
import type { Message, MessageList } from '../../lib/shapes.ts'
import { formatMoment, pluralize } from '../../lib/time.ts'
import { useEffect, useState } from '../../lib/view.ts'
import { addMessages, watchMessages } from '../../lib/watch_messages.ts'
import { ErrorNotice } from '../../part/notice.tsx'
import { Offer } from '../requests/offer.tsx'

/** The latest messages, which stay on the page. */
const SHOWN = 50

/** What the triggers of the organization say, once the reader asked for it. */
export interface Messages {
  readonly isWatching: boolean
  /** Newest first. */
  readonly list: readonly Message[]
  readonly failure: Failure | undefined
  readonly start: () => void
}

/** Listens to messages from a press of a button on, as long as the page has this key. */
export function useMessages(key: string | undefined): Messages {
  const [isWatching, setWatching] = useState(false)
  const [list, setList] = useState<readonly Message[]>([])
  const [failure, setFailure] = useState<Failure | undefined>(undefined)
  useEffect(() => {
    setWatching(false)
    setList([])
    setFailure(undefined)
    return closeNotifications
  }, [key])
  useEffect(() => {
    if (!isWatching || key === undefined) return undefined
    const controller = new AbortController()
    const { signal } = controller
    watchMessages({
      read: (path, waits) => requestApi<MessageList>(path, { key, signal, keeps: !waits }),
      onMessages(messages, areNew) {
        setList((before) => addMessages(before, messages).slice(0, SHOWN))
        if (areNew) for (const message of messages) tell(message)
      },
      onFailure: setFailure,
      signal,
    })
      .catch((error) => {
        if (!signal.aborted) throw error
      })
      // A refusal ends it: another press tries again.
      .finally(() => !signal.aborted && setWatching(false))
    return () => controller.abort()
  }, [key, isWatching])
  return { isWatching, list, failure, start: () => setWatching(true) }
}

/** Says a new message to readers of the screen, and beside the page if the reader asked for that. */
function tell({ id, text }: Message) {
  announce(text)
  showNotification(id, text)
}

interface MessageListProps {
  readonly messages: Messages
  /** Of an answer with messages. */
  readonly credits: number
}

/** Messages of triggers in this tab, and buttons that ask for them and for notifications. Nothing is asked without a press. */
export function MessagesPanel({ messages: { isWatching, list, failure, start }, credits }: MessageListProps) {
  return (
    <section class="family messages" aria-label="Messages">
      <div class="family-head">
        <h2>Messages of triggers</h2>
        {!isWatching && (
          <Offer price={`${pluralize(credits, 'credit')} a time if there are any`} onPress={start}>
            Show them, and wait for more
          </Offer>
        )}
        {isWatching && <Permission />}
      </div>
      {failure && <ErrorNotice failure={failure} title="Messages cannot be read now" onRetry={start} />}
      {isWatching && list.length === 0 && !failure && <p class="soft">None yet. What a trigger says comes here.</p>}
      {list.length > 0 && (
        <ol class="message-list">
          {list.map(({ id, text, timestamp }) => (
            <li key={id}>
              <time class="soft" datetime={timestamp}>
                {formatMoment(timestamp)}
              </time>{' '}
              {text}
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}

/** Button that has the browser ask whether messages may be shown beside the page. */
function Permission() {
  const [permission, setPermission] = useState(readPermission())
  if (permission === undefined) return null
  if (permission === 'granted')
    return <p class="soft">New ones are shown as notifications too, as long as this tab is open.</p>
  if (permission === 'denied') return <p class="soft">This browser shows no notifications of this page.</p>
  return (
    <button type="button" class="small" onClick={() => Notification.requestPermission().then(setPermission)}>
      Notify me in this browser
    </button>
  )
}
