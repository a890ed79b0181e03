import { messageClaimDue, messageMark } from '../../../sql/functions.ts'
import { messageDueFind, messageRelease } from '../../../sql/queries.ts'
import { type Database, SqlError } from '../../db/database.ts'
import { halve } from '../../lib/async/halves.ts'
import type { PostResult } from './post.ts'
import type { SecretName } from './sign.ts'

/** A message that this process must send now. */
export interface DueMessage {
  readonly organizationId: string
  /** Position among all messages of the organization. */
  readonly no: string
  /** UUID, the same in every attempt. */
  readonly id: string
  /** Posted JSON. */
  readonly body: string
  /** Number of attempts since the message was last queued. */
  readonly attempts: number
  readonly url: string
  /** The webhook's valid secrets, the current one first. */
  readonly secrets: readonly SecretName[]
  /** When it was claimed, milliseconds of the database's clock. */
  readonly claimedAtMs: number
  /** When the receiver last answered any process before, to the minute, milliseconds of the database's clock; 0: never. */
  readonly answeredAtMs: number
}

/** The outcome of a delivery attempt. */
export interface DeliveryAttempt {
  readonly message: DueMessage
  readonly result: Pick<PostResult, 'statusCode' | 'failure' | 'latencyMs'>
  /** Pause until the next attempt, milliseconds; undefined if none follows. */
  readonly pauseMs: number | undefined
}

/** The state of the delivery queue. */
export interface QueueReport {
  /** Number of due messages, counted up to `DUE_COUNT_MAX`. */
  readonly due: number
  /** How long the oldest due message has been due, seconds; 0 without any. */
  readonly oldestSec: number
}

/** Maximum messages of one webhook under way at the same time. */
const WEBHOOK_POSTS_MAX = 16
const DUE_COUNT_MAX = 100_000
/** A webhook is stopped after failing this long while something was due, seconds. */
const STOP_SEC = 5 * 86_400

/** Claims due messages under a lease, alternating webhooks. */
export async function claimMessages(
  db: Database,
  { messagesMax, leaseSec }: { readonly messagesMax: number; readonly leaseSec: number },
): Promise<readonly DueMessage[]> {
  const rows = await messageClaimDue(db, { most: messagesMax, each: WEBHOOK_POSTS_MAX, leaseSec })
  return rows.map(
    ({ organization_id, no, id, body, tries, webhook_id, url, generations, claimed_ms, answered_ms }) => ({
      organizationId: organization_id,
      no,
      id,
      body,
      attempts: tries,
      url,
      secrets: generations.map((generation) => ({ webhookId: webhook_id, generation })),
      claimedAtMs: Number(claimed_ms),
      answeredAtMs: Number(answered_ms),
    }),
  )
}

/**
 * Records the outcomes of attempts, and when the next attempts are due. Those that the database refuses are halved until
 * only the attempt that it cannot record is left; the result has its error in its place. Throws `UnavailableError`.
 */
export async function recordAttempts(
  db: Database,
  attempts: readonly DeliveryAttempt[],
): Promise<readonly (SqlError | undefined)[]> {
  try {
    await markMessages(db, attempts)
    return attempts.map(() => undefined)
  } catch (error) {
    if (!(error instanceof SqlError)) throw error
    if (attempts.length === 1) return [error]
    const [first, second] = halve(attempts)
    return [...(await recordAttempts(db, first)), ...(await recordAttempts(db, second))]
  }
}

async function markMessages(db: Database, attempts: readonly DeliveryAttempt[]): Promise<void> {
  await messageMark(db, {
    organizations: attempts.map(({ message }) => message.organizationId),
    nos: attempts.map(({ message }) => message.no),
    tries: attempts.map(({ message }) => message.attempts + 1),
    statuses: attempts.map(({ result }) => result.statusCode ?? 0),
    failures: attempts.map(({ result }) => result.failure ?? ''),
    latenciesMs: attempts.map(({ result }) => result.latencyMs),
    pausesMs: attempts.map(({ pauseMs }) => pauseMs ?? -1),
    stopSec: STOP_SEC,
  })
}

/** Releases claimed messages that were not sent, so that another process may send them at once. */
export async function releaseMessages(db: Database, messages: readonly DueMessage[]): Promise<void> {
  await messageRelease(db, {
    organizations: messages.map(({ organizationId }) => organizationId),
    nos: messages.map(({ no }) => no),
  })
}

/** Counts due messages, for metrics and the operator. */
export async function countDueMessages(db: Database): Promise<QueueReport> {
  const [row] = await messageDueFind(db, { most: DUE_COUNT_MAX })
  return { due: row?.due ?? 0, oldestSec: row?.oldest_sec ?? 0 }
}
