import { messageCountList, messageFind, messageListAfter } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError, UnavailableError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { MESSAGE_DAYS } from './deliver/retention.ts'
import type { MessageBody } from './message.ts'

/** A message with its id, in the order of all messages of its organization. */
export interface FeedMessage extends MessageBody {
  readonly id: string
}

/** A caller's query of the feed. */
export interface FeedQuery {
  readonly organizationId: string
  /** Id of the last message received; undefined to start at the oldest. */
  readonly after: string | undefined
  readonly limit: number
  /** How long the query waits if there is no message, milliseconds. */
  readonly waitMs: number
}

/** Maximum concurrent waits, per organization and in total. */
const ORGANIZATION_WAITS_MAX = 16
const WAITS_MAX = 1_024
const POLL_MS = 250

interface Waiter {
  /** Number of messages at the start of the wait. */
  readonly count: bigint
  wake(): void
}

/** Creates the feed, which reads messages in order. All waits of this process share one polling statement. */
export function createFeed({ db, clock, log }: { readonly db: Database; readonly clock: Clock; readonly log: Log }) {
  const waiters = new Map<string, Set<Waiter>>()
  let waits = 0
  let cancelPoll: (() => void) | undefined
  let isClosed = false

  async function poll(): Promise<void> {
    try {
      for (const { organization_id, count } of await messageCountList(db, { organizationIds: [...waiters.keys()] })) {
        for (const waiter of waiters.get(organization_id) ?? []) if (BigInt(count) > waiter.count) waiter.wake()
      }
    } catch (error) {
      // If the database stays unreachable, each wait ends and its read fails.
      if (!(error instanceof UnavailableError)) log.error({ msg: 'Failed to poll for messages', error })
    }
    cancelPoll = undefined
    schedule()
  }

  function schedule(): void {
    if (cancelPoll !== undefined || waits === 0) return
    cancelPoll = clock.after(POLL_MS, () => void poll(), { keepsAlive: false })
  }

  /** Resolves when the organization has more than `count` messages, after `waitMs`, on abort, or on `close()`. */
  function waitForMore({ organizationId, waitMs }: FeedQuery, count: bigint, signal: AbortSignal): Promise<void> {
    const organizationWaiters = waiters.get(organizationId) ?? new Set()
    if (isClosed || signal.aborted) return Promise.resolve()
    if (organizationWaiters.size >= ORGANIZATION_WAITS_MAX || waits >= WAITS_MAX) {
      return Promise.reject(new UnavailableError('Cannot wait for messages: too many callers wait for them already'))
    }
    return new Promise((resolve) => {
      const end = () => {
        cancelTimeout()
        signal.removeEventListener('abort', end)
        if (!organizationWaiters.delete(waiter)) return
        waits--
        if (organizationWaiters.size === 0 && waiters.get(organizationId) === organizationWaiters)
          waiters.delete(organizationId)
        resolve()
      }
      const waiter: Waiter = { count, wake: end }
      const cancelTimeout = clock.after(waitMs, end)
      signal.addEventListener('abort', end, { once: true })
      waiters.set(organizationId, organizationWaiters.add(waiter))
      waits++
      schedule()
    })
  }

  return {
    /** Messages after `after`; empty if none arrives in time. Throws `CodedError` if that message no longer exists. */
    async read(query: FeedQuery, signal: AbortSignal): Promise<readonly FeedMessage[]> {
      const { organizationId, after, limit, waitMs } = query
      // Read the count first: a message added afterwards ends the wait.
      const [start] = await messageFind(db, { organizationId, id: after ?? null })
      const { no = null, oldest = null, count = '0' } = start ?? {}
      if (after !== undefined && no === null) throw messageExpiredError(oldest)
      const page = { organizationId, no: no ?? '0', max: limit }
      const read = async () => (await messageListAfter(db, page)).map(toMessage)
      const messages = await read()
      if (messages.length > 0 || waitMs === 0) return messages
      await waitForMore(query, BigInt(count), signal)
      return isClosed ? [] : await read()
    },
    /** Ends all waits and accepts no further ones. */
    close(): void {
      isClosed = true
      cancelPoll?.()
      for (const own of waiters.values()) for (const waiter of own) waiter.wake()
    },
  }
}

export type Feed = ReturnType<typeof createFeed>

function toMessage({ id, body }: { readonly id: string; readonly body: string }): FeedMessage {
  const parsed: MessageBody = JSON.parse(body)
  return { id, ...parsed }
}

function messageExpiredError(oldest: string | null): CodedError {
  const oldestHint = oldest === null ? 'there are none' : `the oldest is "${oldest}"`
  const expected = `expected the id of a message of the last ${MESSAGE_DAYS} days, ${oldestHint}`
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "after": ${expected}`)
}
