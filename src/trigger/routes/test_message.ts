import type { Database } from '../../db/database.ts'
import type { Change } from '../../http/route/change.ts'
import { CodedError } from '../../lib/error.ts'
import { type MessageBody, UNDATED } from '../message.ts'
import { findTrigger } from '../stored.ts'
import { presentTrigger } from './schema.ts'

const TESTS_PER_HOUR = 10

/** Prepares a test message. Its refusal: the organization's hourly limit is reached. */
export function prepareTest(test: {
  readonly triggerId: string | null
  /** Null: the feed only. */
  readonly webhookId: string | null
  readonly text: string
  readonly data: MessageBody['data']
}): Change {
  const { triggerId, webhookId, text, data } = test
  const body: MessageBody = { type: 'webhook.test', timestamp: UNDATED, text, data }
  return {
    kind: 'message_test',
    details: { trigger_id: triggerId, webhook_id: webhookId, body: JSON.stringify(body), most: TESTS_PER_HOUR },
    refuse: () =>
      new CodedError('INVALID_REQUEST', `Cannot send a test message: expected at most ${TESTS_PER_HOUR} an hour`),
  }
}

/** Prepares a test message about a trigger. Throws `CodedError` NOT_FOUND. */
export async function prepareTriggerTest(
  db: Database,
  { organizationId, id }: { readonly organizationId: string; readonly id: string },
): Promise<Change> {
  const trigger = await findTrigger(db, { organizationId, id })
  const { chain_id, family, subject, when, name } = presentTrigger(trigger)
  return prepareTest({
    triggerId: trigger.id,
    webhookId: trigger.webhook_id,
    text: `This is a test message about the trigger ${name ?? trigger.id}: nothing has happened.`,
    data: { trigger_id: trigger.id, name, chain_id, family, subject, when },
  })
}
