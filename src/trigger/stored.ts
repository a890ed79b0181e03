import { watchCreate } from '../../sql/functions.ts'
import { watchDelete, watchList, watchUpdate } from '../../sql/queries.ts'
import { type Database, FOREIGN_KEY_VIOLATION, SqlError } from '../db/database.ts'
import type { WatchSubject } from '../family/watch.ts'
import { CodedError } from '../lib/error.ts'
import { randomBase62 } from '../lib/text/base62.ts'
import { readCountedPage } from './read_counted_page.ts'
import type { Clause, Trigger } from './trigger.ts'

/** States of triggers on the wire. */
export const TRIGGER_STATES = ['armed', 'pending', 'fired', 'paused', 'blind', 'expired'] as const

/** The settings of a trigger, besides its subject. */
export interface TriggerSettings extends Pick<Trigger, 'clause' | 'clear' | 'forBlocks' | 'finality' | 'name'> {
  readonly webhookId: string | null
  readonly expiresAt: Date | null
}

/** A stored trigger with its state. */
export type StoredTrigger = ReturnType<typeof toStored>

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
export interface TriggerFilter {
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
  return { triggers: rows.map(toStored), total }
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
  return toStored(row)
}

/** Creates a trigger; returns its id. Throws `CodedError` if the organization has too many, or no such webhook. */
export async function createTrigger(
  db: Database,
  trigger: TriggerSettings &
    Pick<Trigger, 'organizationId' | 'family' | 'subject'> & {
      readonly chainId: number
      readonly apiKeyId: string
    },
): Promise<string> {
  const id = `trg_${randomBase62(RANDOM_LENGTH)}`
  const outcome = await watchCreate(db, {
    organization: trigger.organizationId,
    id,
    chainId: trigger.chainId,
    family: trigger.family,
    subject: JSON.stringify(trigger.subject),
    clause: JSON.stringify(trigger.clause),
    clear: trigger.clear ?? '',
    forBlocks: trigger.forBlocks,
    finality: trigger.finality,
    webhook: trigger.webhookId ?? '',
    name: trigger.name ?? '',
    apiKey: trigger.apiKeyId,
    expiresMs: trigger.expiresAt?.getTime() ?? 0,
  })
  if (outcome === 'limit') {
    throw new CodedError('INVALID_REQUEST', 'Cannot create the trigger: the organization has reached its limit')
  }
  if (outcome === 'webhook') throw noWebhookError()
  return id
}

/**
 * Changes the defined settings. Changing a firing condition re-arms the trigger. Throws `CodedError` NOT_FOUND, and as
 * `createTrigger`.
 */
export async function updateTrigger(
  db: Database,
  { organizationId, id }: TriggerKey,
  change: TriggerChange,
): Promise<void> {
  const { clause, clear, forBlocks, finality, webhookId, name, expiresAt, pauses } = change
  const arms = [clause, clear, forBlocks, finality, pauses].some((each) => each !== undefined)
  try {
    const [row] = await watchUpdate(db, {
      organizationId,
      id,
      clause: clause === undefined ? null : JSON.stringify(clause),
      setsClear: clear !== undefined,
      clear: clear ?? null,
      forBlocks: forBlocks ?? null,
      finality: finality ?? null,
      setsWebhook: webhookId !== undefined,
      webhookId: webhookId ?? null,
      setsName: name !== undefined,
      name: name ?? null,
      setsExpiry: expiresAt !== undefined,
      expiresAt: expiresAt ?? null,
      pauses: pauses ?? null,
      arms,
    })
    if (row === undefined) throw notFoundError(id)
  } catch (error) {
    throw error instanceof SqlError && error.code === FOREIGN_KEY_VIOLATION ? noWebhookError() : error
  }
}

/** Deletes a trigger. Throws `CodedError` NOT_FOUND. */
export async function deleteTrigger(db: Database, { organizationId, id }: TriggerKey): Promise<void> {
  const [row] = await watchDelete(db, { organizationId, id })
  if (row === undefined) throw notFoundError(id)
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

function toStored(row: Awaited<ReturnType<typeof watchList>>[number]) {
  const subject: WatchSubject = JSON.parse(row.subject)
  const clause: Clause = JSON.parse(row.clause)
  return { ...row, subject, clause }
}
