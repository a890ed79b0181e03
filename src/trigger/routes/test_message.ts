import { messageTest } from '../../../sql/functions.ts'
import type { Database } from '../../db/database.ts'
import { CodedError } from '../../lib/error.ts'
import type { MessageBody } from '../message.ts'
import { findTrigger } from '../stored.ts'
import { presentTrigger } from './present.ts'

const TESTS_PER_HOUR = 10

/** Adds a test message; returns its id. Throws `CodedError` if the organization's hourly limit is reached. */
export async function sendTest(
  db: Database,
  test: {
    readonly organizationId: string
    readonly triggerId: string | null
    /** Null: the feed only. */
    readonly webhookId: string | null
    readonly atMs: number
    readonly text: string
    readonly data: MessageBody['data']
  },
): Promise<string> {
  const { organizationId, triggerId, webhookId, atMs, text, data } = test
  const body: MessageBody = { type: 'webhook.test', timestamp: new Date(atMs).toISOString(), text, data }
  const id = await messageTest(db, {
    organization: organizationId,
    watch: triggerId ?? '',
    webhook: webhookId ?? '',
    body: JSON.stringify(body),
    most: TESTS_PER_HOUR,
  })
  if (id !== '') return id
  throw new CodedError('INVALID_REQUEST', `Cannot send a test message: expected at most ${TESTS_PER_HOUR} an hour`)
}

/** Adds a test message about a trigger; returns its id. Throws `CodedError` NOT_FOUND, and as `sendTest`. */
export async function sendTriggerTest(
  db: Database,
  { organizationId, id }: { readonly organizationId: string; readonly id: string },
  atMs: number,
): Promise<string> {
  const trigger = await findTrigger(db, { organizationId, id })
  const { chain_id, family, subject, when, name } = presentTrigger(trigger)
  return await sendTest(db, {
    organizationId,
    triggerId: trigger.id,
    webhookId: trigger.webhook_id,
    atMs,
    text: `This is a test message about the trigger ${name ?? trigger.id}: nothing has happened.`,
    data: { trigger_id: trigger.id, name, chain_id, family, subject, when },
  })
}
