import { messageListDead, messageListWatch, watchList } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import type { WatchSubject } from '../family/watch.ts'
import type { Change } from '../http/route/change.ts'
import { CodedError } from '../lib/error.ts'
import { randomBase62 } from '../lib/text/base62.ts'
import { type Clause, type FinalityLevel, PACES, type Pace, type Trigger } from './trigger.ts'

/** States of triggers on the wire. */
export const TRIGGER_STATES = ['armed', 'pending', 'fired', 'paused', 'blind', 'expired'] as const

/** The settings of a trigger, besides its subject. */
interface TriggerSettings extends Pick<Trigger, 'clause' | 'clear' | 'forBlocks' | 'finality' | 'name'> {
  readonly webhookId: string | null
  readonly expiresAt: Date | null
}

/** A trigger with its state as the database's function `watch_shown` has it, in JSON. */
export interface TriggerRow {
  readonly id: string
  readonly chain_id: number
  readonly family: string
  readonly subject: WatchSubject
  readonly clause: Clause
  readonly clear: string | null
  readonly for_blocks: number
  readonly finality: FinalityLevel
  readonly webhook_id: string | null
  readonly name: string | null
  readonly paused_for: string | null
  readonly expires_at: string | null
  readonly created_at: string
  readonly value: string | null
  readonly changes: string
  readonly since_block: number | null
  readonly state: string
}

/** A stored trigger with its state. */
export interface StoredTrigger extends Omit<TriggerRow, 'expires_at' | 'created_at'> {
  readonly expires_at: Date | null
  readonly created_at: Date
}

/** A change of settings; undefined settings stay. */
type TriggerChange = { readonly [Name in keyof TriggerSettings]?: TriggerSettings[Name] | undefined } & {
  /** False resumes a trigger that its owner paused. */
  readonly pauses?: boolean | undefined
}

interface TriggerKey {
  readonly organizationId: string
  readonly id: string
}

/** A filter of an organization's triggers; undefined fields do not restrict it. */
interface TriggerFilter {
  readonly chainId?: number | undefined
  readonly family?: string | undefined
  /** Fields that the subjects must contain. */
  readonly subject?: WatchSubject
  readonly state?: (typeof TRIGGER_STATES)[number] | undefined
  readonly page: number
  readonly limit: number
}

const RANDOM_LENGTH = 20

/** A page of an organization's triggers, newest first. */
export async function listTriggers(
  db: Database,
  organizationId: string,
  filter: TriggerFilter,
): Promise<{ readonly triggers: readonly StoredTrigger[]; readonly total: number }> {
  const { chainId = null, family = null, state = null } = filter
  const subject = filter.subject === undefined ? null : JSON.stringify(filter.subject)
  const { rows, total } = await readCountedPage(filter, (part) =>
    watchList(db, { organizationId, id: null, chainId, family, subject, state, ...part }),
  )
  return { triggers: rows.map(({ row }) => parseTrigger(JSON.parse(row))), total }
}

/** Finds a trigger. Throws `CodedError` NOT_FOUND. */
export async function findTrigger(db: Database, { organizationId, id }: TriggerKey): Promise<StoredTrigger> {
  const [row] = await watchList(db, {
    organizationId,
    id,
    chainId: null,
    family: null,
    subject: null,
    state: null,
    max: 1,
    skip: 0,
  })
  if (row === undefined) throw notFoundError(id)
  return parseTrigger(JSON.parse(row.row))
}

/** Prepares a new trigger. Its refusals: the organization has too many, or no such webhook. */
export function prepareTrigger(
  trigger: TriggerSettings &
    Pick<Trigger, 'family' | 'subject'> & {
      readonly chainId: number
      readonly apiKeyId: string
      readonly pace: Pace
    },
): Change {
  const { chainId, family, subject, apiKeyId, pace } = trigger
  const id = `trg_${randomBase62(RANDOM_LENGTH)}`
  const { shard, hourCredits: hour_credits } = PACES[pace]
  const details = { id, chain_id: chainId, family, subject, api_key_id: apiKeyId, shard, hour_credits }
  return {
    kind: 'trigger_create',
    details: { ...details, ...toDetails(trigger) },
    refuse: (reason) => refusedError(reason, id),
  }
}

/**
 * Prepares a change of the defined settings. Changing a firing condition re-arms the trigger. Its refusals: NOT_FOUND, and
 * as for a new one.
 */
export function prepareTriggerUpdate(id: string, change: TriggerChange): Change {
  const details = { id, ...toDetails(change), pauses: change.pauses }
  return { kind: 'trigger_update', details, refuse: (reason) => refusedError(reason, id) }
}

/** Prepares the deletion of a trigger. Its refusal: NOT_FOUND. */
export function prepareTriggerDeletion(id: string): Change {
  return { kind: 'trigger_delete', details: { id }, refuse: (reason) => refusedError(reason, id) }
}

/** Settings as `change_apply` reads them; JSON leaves undefined ones out. */
function toDetails({ clause, clear, forBlocks, finality, webhookId, name, expiresAt }: TriggerChange) {
  const expiresMs = expiresAt === null ? null : expiresAt?.getTime()
  return { clause, clear, for_blocks: forBlocks, finality, webhook_id: webhookId, name, expires_ms: expiresMs }
}

function refusedError(reason: string, id: string): CodedError {
  if (reason === 'limit') {
    return new CodedError('INVALID_REQUEST', 'Cannot create the trigger: the organization has reached its limit')
  }
  return reason === 'webhook' ? noWebhookError() : notFoundError(id)
}

function notFoundError(id: string): CodedError {
  return new CodedError('NOT_FOUND', `Cannot find trigger "${id}"`)
}

function noWebhookError(): CodedError {
  return new CodedError(
    'INVALID_PARAMETER',
    'Cannot read parameter "webhook_id": expected the id of a webhook, or null',
  )
}

/** Parses a trigger as the database shows it, in JSON. */
export function parseTrigger(row: TriggerRow): StoredTrigger {
  const expiresAt = row.expires_at === null ? null : new Date(row.expires_at)
  return { ...row, created_at: new Date(row.created_at), expires_at: expiresAt }
}

/** The number and size of a page. */
interface Page {
  readonly page: number
  readonly limit: number
}

/**
 * Reads the rows of a page and the total of the list. Each row carries the total; for a page past the end, the first
 * row of the list is read for it.
 */
async function readCountedPage<Row extends { readonly total: string }>(
  { page, limit }: Page,
  read: (part: { readonly max: number; readonly skip: number }) => Promise<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly total: number }> {
  const rows = await read({ max: limit, skip: (page - 1) * limit })
  const [row] = rows.length > 0 || page === 1 ? rows : await read({ max: 1, skip: 0 })
  return { rows, total: Number(row?.total ?? 0) }
}

/** A message about a trigger, with its attempts as JSON. Of the receiver's response only the status is stored. */
export type Delivery = Awaited<ReturnType<typeof messageListWatch>>[number]

/** A page of the messages about a trigger, newest first. */
export function listDeliveries(
  db: Database,
  page: { readonly organizationId: string; readonly triggerId: string; readonly page: number; readonly limit: number },
) {
  const { organizationId, triggerId: watchId } = page
  return readCountedPage(page, (part) => messageListWatch(db, { organizationId, watchId, ...part }))
}

/** A page of the messages of an organization that could not be delivered, newest first. */
export function listDeadLetters(
  db: Database,
  page: { readonly organizationId: string; readonly page: number; readonly limit: number },
) {
  const { organizationId } = page
  return readCountedPage(page, (part) => messageListDead(db, { organizationId, ...part }))
}
