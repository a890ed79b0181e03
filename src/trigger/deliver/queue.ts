import { messageClaim, messageMark } from '../../../sql/functions.ts'
import { messageDueFind, messageRelease } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import type { PostResult } from './post.ts'
import type { SecretName } from './sign.ts'

/** A message that this process is to try now. */
export interface DueMessage {
  readonly organizationId: string
  /** Its place among all messages of the organization. */
  readonly no: string
  /** UUID, the same in every try. */
  readonly id: string
  /** JSON as it is posted. */
  readonly body: string
  /** How often it was tried since it was last due anew. */
  readonly tries: number
  readonly url: string
  /** The webhook's secrets that are valid: the present one first. */
  readonly secrets: readonly SecretName[]
}

/** How a try ended. */
export interface DeliveryAttempt {
  readonly message: DueMessage
  readonly posted: Pick<PostResult, 'statusCode' | 'failure' | 'latencyMs'>
  /** Until the next try, milliseconds; undefined if none follows. */
  readonly pauseMs: number | undefined
}

/** What waits. */
export interface QueueReport {
  /** Messages that are due, counted up to `DUE_COUNT_MAX`. */
  readonly due: number
  /** How long the first of them has been, seconds; 0 without any. */
  readonly oldestSec: number
}

/** Messages of one webhook under way at the same time. */
const WEBHOOK_POSTS_MAX = 16
const DUE_COUNT_MAX = 100_000
/** A webhook that nothing reaches for so long is stopped. */
const STOP_SEC = 5 * 86_400

/** Takes messages that are due, of each webhook in turn. */
export async function claimMessages(
  db: Database,
  { most, leaseSec }: { readonly most: number; readonly leaseSec: number },
): Promise<readonly DueMessage[]> {
  const rows = await messageClaim(db, { most, each: WEBHOOK_POSTS_MAX, leaseSec })
  return rows.map(({ organization_id, no, id, body, tries, webhook_id, url, generation, is_overlapping }) => ({
    organizationId: organization_id,
    no,
    id,
    body,
    tries,
    url,
    secrets: [generation, ...(is_overlapping ? [generation - 1] : [])].map((each) => ({
      webhookId: webhook_id,
      generation: each,
    })),
  }))
}

/** Notes how tries ended, and when the next ones are due. */
export async function recordAttempts(db: Database, tried: readonly DeliveryAttempt[]): Promise<void> {
  await messageMark(db, {
    organizations: tried.map(({ message }) => message.organizationId),
    nos: tried.map(({ message }) => message.no),
    tries: tried.map(({ message }) => message.tries + 1),
    statuses: tried.map(({ posted }) => posted.statusCode ?? 0),
    failures: tried.map(({ posted }) => posted.failure ?? ''),
    latenciesMs: tried.map(({ posted }) => posted.latencyMs),
    pausesMs: tried.map(({ pauseMs }) => pauseMs ?? -1),
    stopSec: STOP_SEC,
  })
}

/** Gives back what was taken and not tried, so that another process may begin at once. */
export async function releaseMessages(db: Database, messages: readonly DueMessage[]): Promise<void> {
  await messageRelease(db, {
    organizations: messages.map(({ organizationId }) => organizationId),
    nos: messages.map(({ no }) => no),
  })
}

/** How much waits, for metrics and the operator. */
export async function countDueMessages(db: Database): Promise<QueueReport> {
  const [row] = await messageDueFind(db, { most: DUE_COUNT_MAX })
  return { due: row?.due ?? 0, oldestSec: row?.oldest_sec ?? 0 }
}
