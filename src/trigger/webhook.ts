import { webhookList } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import type { Change } from '../http/route/change.ts'
import { CodedError } from '../lib/error.ts'
import { randomBase62 } from '../lib/text/base62.ts'

/**
 * A URL that receives an organization's messages. Until `overlap_until` the previous generation of the secret is also
 * valid, and earlier ones for as long as was promised.
 */
export type Webhook = Awaited<ReturnType<typeof webhookList>>[number]

/** A webhook in JSON, as the database returns a changed one. */
export type WebhookRow = { readonly [Name in keyof Webhook]: InJson<Webhook[Name]> }
type InJson<Value> = Value extends Date ? string : Value

const WEBHOOKS_MAX = 20
const RANDOM_LENGTH = 20

/** The webhooks of an organization, oldest first. */
export function listWebhooks(db: Database, organizationId: string): Promise<readonly Webhook[]> {
  return webhookList(db, { organizationId, id: null })
}

/** Finds a webhook. Throws `CodedError` NOT_FOUND. */
export async function findWebhook(
  db: Database,
  { organizationId, id }: { readonly organizationId: string; readonly id: string },
): Promise<Webhook> {
  const [row] = await webhookList(db, { organizationId, id })
  if (row === undefined) throw notFoundError(id)
  return row
}

/** Prepares a new webhook with a checked URL. Its refusal: the organization has too many. */
export function prepareWebhook({ url, name }: { readonly url: string; readonly name: string }): Change {
  const id = `whk_${randomBase62(RANDOM_LENGTH)}`
  return {
    kind: 'webhook_create',
    details: { id, url, name, most: WEBHOOKS_MAX },
    refuse: () =>
      new CodedError('INVALID_REQUEST', `Cannot create the webhook: the organization has ${WEBHOOKS_MAX} already`),
  }
}

/** Prepares a change of a webhook. Its refusal, as of the changes below: NOT_FOUND. */
export function prepareWebhookUpdate(
  id: string,
  change: { readonly url: string | undefined; readonly name: string | undefined; readonly starts: boolean },
): Change {
  return { kind: 'webhook_update', details: { id, ...change }, refuse: () => notFoundError(id) }
}

/** Prepares a new secret of a webhook; the previous one stays valid for `overlapSec`. */
export function prepareRotation(id: string, overlapSec: number): Change {
  return { kind: 'webhook_rotate', details: { id, overlap_sec: overlapSec }, refuse: () => notFoundError(id) }
}

/** Prepares the deletion of a webhook. A further refusal: INVALID_REQUEST if triggers still post to it. */
export function prepareWebhookDeletion(id: string): Change {
  const refuse = (reason: string) => {
    const [, triggers] = /^in_use (\d+)$/.exec(reason) ?? []
    if (triggers === undefined) return notFoundError(id)
    const users = triggers === '1' ? '1 trigger posts' : `${triggers} triggers post`
    return new CodedError(
      'INVALID_REQUEST',
      `Cannot delete webhook "${id}": ${users} to it, change or delete them first`,
    )
  }
  return { kind: 'webhook_delete', details: { id }, refuse }
}

/** A choice of messages of a webhook: by their ids, or by their time. */
export interface MessageSelection {
  readonly ids?: readonly string[] | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  /** Id of the message after which the choice begins. */
  readonly after?: string | undefined
  readonly most: number
  readonly deadlineMs: number
}

/** Prepares that failed messages of a webhook are posted again. */
export function prepareRedelivery(id: string, { deadlineMs, ...selection }: MessageSelection): Change {
  return { kind: 'webhook_redeliver', details: { id, ...selection }, refuse: () => notFoundError(id), deadlineMs }
}

function notFoundError(id: string): CodedError {
  return new CodedError('NOT_FOUND', `Cannot find webhook "${id}"`)
}

/** Parses a webhook as the database returns it, in JSON. */
export function parseWebhook(row: WebhookRow): Webhook {
  const toDate = (text: string | null) => (text === null ? null : new Date(text))
  return {
    ...row,
    created_at: new Date(row.created_at),
    overlap_until: toDate(row.overlap_until),
    failing_since: toDate(row.failing_since),
  }
}
