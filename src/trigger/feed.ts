import { messageCountList, messageFind, messageListAfter } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import { CodedError, UnavailableError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { MESSAGE_DAYS } from './deliver/retention.ts'
import type { MessageBody } from './message.ts'

/** A message with its id, in the order of all messages of its organization. */
export interface FeedMessage extends MessageBody {
  readonly id: string
}

/** What a caller asks of the feed. */
export interface FeedQuery {
  readonly organizationId: string
  /** Id of the message that it had last; undefined to begin with the oldest. */
  readonly after: string | undefined
  readonly limit: number
  /** How long it waits for a message if there is none, milliseconds. */
  readonly waitMs: number
}

/** Waits of one organization at the same time, and of all. */
const ORGANIZATION_WAITS_MAX = 16
const WAITS_MAX = 1_024
const POLL_MS = 250

interface Waiter {
  /** How many messages it knows of. */
  readonly count: bigint
  wake(): void
}

/** Reads messages in order. Who waits asks the database by one statement with all others who wait in this process. */
export function createFeed({ db, log }: { readonly db: Database; readonly log: Log }) {
  const waiters = new Map<string, Set<Waiter>>()
  let waits = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let isClosed = false

  async function poll(): Promise<void> {
    try {
      for (const { organization_id, count } of await messageCountList(db, { organizationIds: [...waiters.keys()] })) {
        for (const waiter of waiters.get(organization_id) ?? []) if (BigInt(count) > waiter.count) waiter.wake()
      }
    } catch (error) {
      // Who waits finds out by itself if that lasts.
      if (!(error instanceof UnavailableError)) log.error({ msg: 'Could not look for messages', error })
    }
    timer = undefined
    schedule()
  }

  function schedule(): void {
    if (timer !== undefined || waits === 0) return
    timer = setTimeout(() => void poll(), POLL_MS)
    timer.unref()
  }

  /** Resolves when the organization has had more messages than `count`, when the time is over, or at the end. */
  function more({ organizationId, waitMs }: FeedQuery, count: bigint, signal: AbortSignal): Promise<void> {
    const own = waiters.get(organizationId) ?? new Set()
    if (isClosed || signal.aborted) return Promise.resolve()
    if (own.size >= ORGANIZATION_WAITS_MAX || waits >= WAITS_MAX) {
      return Promise.reject(new UnavailableError('Cannot wait for messages: too many callers wait for them already'))
    }
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(limit)
        signal.removeEventListener('abort', end)
        if (!own.delete(waiter)) return
        waits--
        if (own.size === 0 && waiters.get(organizationId) === own) waiters.delete(organizationId)
        resolve()
      }
      const waiter: Waiter = { count, wake: end }
      const limit = setTimeout(end, waitMs)
      signal.addEventListener('abort', end, { once: true })
      waiters.set(organizationId, own.add(waiter))
      waits++
      schedule()
    })
  }

  return {
    /** Messages after the given one, none if none come in time. Throws `CodedError` if that one is not known any more. */
    async read(question: FeedQuery, signal: AbortSignal): Promise<readonly FeedMessage[]> {
      const { organizationId, after, limit, waitMs } = question
      // The number comes first: whatever is added after it ends the wait.
      const [start] = await messageFind(db, { organizationId, id: after ?? null })
      const { no = null, oldest = null, count = '0' } = start ?? {}
      if (after !== undefined && no === null) throw forgotten(oldest)
      const rest = { organizationId, no: no ?? '0', max: limit }
      const read = async () => (await messageListAfter(db, rest)).map(messageOf)
      const found = await read()
      if (found.length > 0 || waitMs === 0) return found
      await more(question, BigInt(count), signal)
      return isClosed ? [] : await read()
    },
    /** Answers all who wait, and lets nobody wait any more. */
    close(): void {
      isClosed = true
      clearTimeout(timer)
      for (const own of waiters.values()) for (const waiter of own) waiter.wake()
    },
  }
}

export type Feed = ReturnType<typeof createFeed>

function messageOf({ id, body }: { readonly id: string; readonly body: string }): FeedMessage {
  const parsed: MessageBody = JSON.parse(body)
  return { id, ...parsed }
}

function forgotten(oldest: string | null): CodedError {
  const known = oldest === null ? 'there are none' : `the oldest is "${oldest}"`
  const expected = `expected the id of a message of the last ${MESSAGE_DAYS} days, ${known}`
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "after": ${expected}`)
}
