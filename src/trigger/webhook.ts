import { webhookCreate } from '../../sql/functions.ts'
import { webhookDelete, webhookList, webhookRotate, webhookUpdate } from '../../sql/queries.ts'
import { type Database, FOREIGN_KEY_VIOLATION, SqlError } from '../db/database.ts'
import { CodedError } from '../lib/error.ts'
import { randomBase62 } from '../lib/text/base62.ts'

/**
 * A URL that receives an organization's messages. Until `overlap_until` the previous generation of the secret is also
 * valid, and earlier ones for as long as was promised.
 */
export type Webhook = Awaited<ReturnType<typeof webhookList>>[number]

/** Identifies a webhook of an organization. */
export interface WebhookKey {
  readonly organizationId: string
  readonly id: string
}

const WEBHOOKS_MAX = 20
const RANDOM_LENGTH = 20

/** The webhooks of an organization, oldest first. */
export function listWebhooks(db: Database, organizationId: string): Promise<readonly Webhook[]> {
  return webhookList(db, { organizationId, id: null })
}

/** Finds a webhook. Throws `CodedError` NOT_FOUND. */
export async function findWebhook(db: Database, { organizationId, id }: WebhookKey): Promise<Webhook> {
  const [row] = await webhookList(db, { organizationId, id })
  if (row === undefined) throw notFoundError(id)
  return row
}

/** Creates a webhook with a checked URL; returns its id. Throws `CodedError` if the organization has too many. */
export async function createWebhook(
  db: Database,
  { organizationId, url, name }: { readonly organizationId: string; readonly url: string; readonly name: string },
): Promise<string> {
  const id = `whk_${randomBase62(RANDOM_LENGTH)}`
  const isCreated = await webhookCreate(db, { organization: organizationId, id, url, name, most: WEBHOOKS_MAX })
  if (isCreated) return id
  throw new CodedError('INVALID_REQUEST', `Cannot create the webhook: the organization has ${WEBHOOKS_MAX} already`)
}

/** Changes a webhook. Throws `CodedError` NOT_FOUND. */
export async function updateWebhook(
  db: Database,
  { organizationId, id }: WebhookKey,
  change: { readonly url: string | undefined; readonly name: string | undefined; readonly starts: boolean },
): Promise<void> {
  const { url = null, name = null, starts } = change
  const [row] = await webhookUpdate(db, { organizationId, id, url, name, starts })
  if (row === undefined) throw notFoundError(id)
}

/** Rotates a webhook's secret; the previous one stays valid for `overlapSec`. Throws `CodedError` NOT_FOUND. */
export async function rotateWebhook(
  db: Database,
  { organizationId, id, overlapSec }: WebhookKey & { readonly overlapSec: number },
): Promise<void> {
  const [row] = await webhookRotate(db, { organizationId, id, overlapSec })
  if (row === undefined) throw notFoundError(id)
}

/** Deletes a webhook. Throws `CodedError` NOT_FOUND, or INVALID_REQUEST if triggers still post to it. */
export async function deleteWebhook(db: Database, { organizationId, id }: WebhookKey): Promise<void> {
  try {
    const [row] = await webhookDelete(db, { organizationId, id })
    if (row === undefined) throw notFoundError(id)
    if (row.triggers > 0) throw inUseError(id, row.triggers === 1 ? '1 trigger posts' : `${row.triggers} triggers post`)
  } catch (error) {
    // A trigger was created after the statement started.
    throw error instanceof SqlError && error.code === FOREIGN_KEY_VIOLATION
      ? inUseError(id, 'a new trigger posts')
      : error
  }
}

function inUseError(id: string, users: string): CodedError {
  return new CodedError('INVALID_REQUEST', `Cannot delete webhook "${id}": ${users} to it, change or delete them first`)
}

function notFoundError(id: string): CodedError {
  return new CodedError('NOT_FOUND', `Cannot find webhook "${id}"`)
}
