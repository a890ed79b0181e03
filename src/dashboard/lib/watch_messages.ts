import type { Answer, Failure } from './api.ts'
import type { MessageList } from './shapes.ts'
import { delay } from './time.ts'

type Message = MessageList['data'][number]

/** The most that the service waits for a message, and the most messages of an answer. */
const WAIT_SEC = 25
const LIMIT = 100
/** Answers that are read of what was said before: what is older than these stays in the feed. */
const PAGES_MAX = 10
const RETRY_MS = 15_000

interface WatchMessagesOptions {
  /** Sends `path`; `waits`: the service may hold it until there is a message. */
  readonly read: (path: string, waits: boolean) => Promise<Answer<MessageList> | Failure>
  /** Messages in order; `areNew`: said since the watch began. */
  readonly onMessages: (messages: readonly Message[], areNew: boolean) => void
  /** Why nothing is heard now; undefined once it is heard again. */
  readonly onFailure: (failure: Failure | undefined) => void
  readonly signal: AbortSignal
  readonly wait?: typeof delay
}

/**
 * Reads what triggers have said, oldest first, then waits for each further message until `signal` fires. Ends at a refusal, and
 * tries again after an outage. Rejects only when `signal` fires.
 */
export async function watchMessages({ read, onMessages, onFailure, signal, wait = delay }: WatchMessagesOptions) {
  let after = ''
  let isCaughtUp = false
  for (let pages = 0; !signal.aborted; ) {
    const waits = isCaughtUp ? `&wait=${WAIT_SEC}` : ''
    const answer = await read(`v1/events?limit=${LIMIT}${after === '' ? '' : `&after=${after}`}${waits}`, isCaughtUp)
    signal.throwIfAborted()
    onFailure(answer.ok ? undefined : answer)
    if (!answer.ok) {
      if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) return
      await wait(RETRY_MS, signal)
      continue
    }
    const { data } = answer.body
    after = data.at(-1)?.id ?? after
    if (data.length > 0) onMessages(data, isCaughtUp)
    if (!isCaughtUp && data.length === LIMIT && ++pages < PAGES_MAX) continue
    isCaughtUp = true
  }
}

/** Puts messages, oldest first, before a list of newest first. A watch that begins anew reads the same ones again. */
export function addMessages(list: readonly Message[], messages: readonly Message[]): readonly Message[] {
  const ids = new Set(messages.map(({ id }) => id))
  return [...messages.toReversed(), ...list.filter(({ id }) => !ids.has(id))]
}
