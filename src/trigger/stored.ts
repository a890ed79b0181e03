import { watchCreate } from '../../sql/functions.ts'
import { watchDelete, watchList, watchUpdate } from '../../sql/queries.ts'
import { type Database, FOREIGN_KEY_VIOLATION, SqlError } from '../db/database.ts'
import type { WatchSubject } from '../family/watch.ts'
import { CodedError } from '../lib/error.ts'
import { randomBase62 } from '../lib/text/base62.ts'
import { readCountedPage } from './read_counted_page.ts'
import type { Clause, Trigger } from './trigger.ts'

/** In which state a trigger is, as callers see it. */
export const TRIGGER_STATES = ['armed', 'pending', 'fired', 'paused', 'blind', 'expired'] as const

/** What an organization may choose of a trigger, besides what it is about. */
export interface TriggerSettings extends Pick<Trigger, 'clause' | 'clear' | 'forBlocks' | 'finality' | 'name'> {
  readonly webhookId: string | null
  readonly expiresAt: Date | null
}

/** A trigger with its state, as the database has it. */
export type StoredTrigger = ReturnType<typeof storedOf>

/** What is to be changed of it; undefined: it stays. */
type TriggerChange = { readonly [Name in keyof TriggerSettings]?: TriggerSettings[Name] | undefined } & {
  /** False lets a trigger go on that its owner paused. */
  readonly pauses?: boolean | undefined
}

interface TriggerKey {
  readonly organizationId: string
  readonly id: string
}

/** Which triggers of an organization; what is undefined chooses nothing. */
export interface TriggerFilter {
  readonly chainId?: number | undefined
  readonly family?: string | undefined
  /** What their subjects have, among other things. */
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
  asked: TriggerFilter,
): Promise<{ readonly triggers: readonly StoredTrigger[]; readonly total: number }> {
  const { chainId = null, family = null, state = null } = asked
  const subject = asked.subject === undefined ? null : JSON.stringify(asked.subject)
  const { rows, total } = await readCountedPage(asked, (part) =>
    watchList(db, { organizationId, id: null, chainId, family, subject, state, ...part }),
  )
  return { triggers: rows.map(storedOf), total }
}

/** Throws `CodedError` NOT_FOUND. */
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
  if (row === undefined) throw unknown(id)
  return storedOf(row)
}

/** Makes a trigger; gives its id. Throws `CodedError` if the organization has too many, or no such webhook. */
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
    throw new CodedError('INVALID_REQUEST', 'Cannot make the trigger: the organization has as many as it may')
  }
  if (outcome === 'webhook') throw noWebhook()
  return id
}

/**
 * Changes what is defined. Whatever decides when it fires arms it anew. Throws `CodedError` NOT_FOUND, or as `createTrigger` does.
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
    if (row === undefined) throw unknown(id)
  } catch (error) {
    throw error instanceof SqlError && error.code === FOREIGN_KEY_VIOLATION ? noWebhook() : error
  }
}

/** Throws `CodedError` NOT_FOUND. */
export async function deleteTrigger(db: Database, { organizationId, id }: TriggerKey): Promise<void> {
  const [row] = await watchDelete(db, { organizationId, id })
  if (row === undefined) throw unknown(id)
}

function unknown(id: string): CodedError {
  return new CodedError('NOT_FOUND', `Cannot find trigger "${id}"`)
}

function noWebhook(): CodedError {
  return new CodedError(
    'INVALID_PARAMETER',
    'Cannot read parameter "webhook_id": expected the id of a webhook, or null',
  )
}

function storedOf(row: Awaited<ReturnType<typeof watchList>>[number]) {
  const subject: WatchSubject = JSON.parse(row.subject)
  const clause: Clause = JSON.parse(row.clause)
  return { ...row, subject, clause }
}
