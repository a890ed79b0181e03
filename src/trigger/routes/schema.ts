import * as v from 'valibot'
import { dataOutput, isoTimestamp, listOutput } from '../../http/request/schema.ts'
import type { Reply } from '../../http/route/route.ts'
import { named, nonNegativeInteger, withWords } from '../../lib/text/text_format.ts'
import { MESSAGE_TYPES } from '../message.ts'
import { type Delivery, type StoredTrigger, TRIGGER_STATES } from '../stored.ts'
import { clauseSchema, FINALITY_LEVELS } from '../trigger.ts'

/* Schemas of answers about triggers. */

const webhookEntries = {
  id: withWords('Id of the webhook', v.string()),
  url: withWords('Where messages are posted', v.string()),
  name: withWords('Label of the webhook', v.string()),
  public_key: withWords('Verifies the signatures `v1a` of its messages', v.string()),
  status: withWords(
    'active; failing: its last message did not arrive; stopped: nothing is posted until it is made active',
    v.picklist(['active', 'failing', 'stopped']),
  ),
  failing_since: withWords('When it began to fail; null if it does not', v.nullable(isoTimestamp)),
  overlap_until: withWords(
    'Until when messages are also signed with the secret before; null if they are not',
    v.nullable(isoTimestamp),
  ),
  created_at: withWords('When it was made', isoTimestamp),
}
const webhook = named('Webhook', 'An address that messages are posted to', v.strictObject(webhookEntries))
export const webhookOutput = dataOutput(webhook)
export const webhooksOutput = v.strictObject({ data: v.array(webhook) })
export const secretOutput = dataOutput(
  named(
    'WebhookWithSecret',
    'A webhook and its new secret',
    v.strictObject({
      ...webhookEntries,
      secret: withWords('Signs its messages (Standard Webhooks); shown this once', v.string()),
    }),
  ),
)
export const idOutput = dataOutput(v.strictObject({ id: withWords('Id of what was changed or sent', v.string()) }))
export const redeliveredOutput = dataOutput(
  v.strictObject({
    redelivered: withWords('Messages that will be posted again', nonNegativeInteger),
    more: withWords('True if others need another request', v.boolean()),
    after: withWords('The message to begin after then; null if there are no others', v.nullable(v.string())),
  }),
)

const triggerSchema = named(
  'Trigger',
  'What is watched, and how it stands',
  v.strictObject({
    id: withWords('Id of the trigger', v.string()),
    name: withWords('Its label; null without one', v.nullable(v.string())),
    chain_id: withWords('Id of the chain (EIP-155); 101 is Solana', nonNegativeInteger),
    family: withWords('Protocol of what it watches', v.string()),
    subject: withWords('The position that it watches, by the fields of its family', v.record(v.string(), v.string())),
    when: withWords('What fires it', clauseSchema),
    clear: withWords('Level of the figure at which it arms again; null where it needs none', v.nullable(v.string())),
    for_blocks: withWords('Blocks in a row for which the condition must hold', nonNegativeInteger),
    finality: withWords('Which blocks count', v.picklist(FINALITY_LEVELS)),
    webhook_id: withWords('Webhook that gets its messages; null: the feed alone', v.nullable(v.string())),
    state: withWords('How it stands now', v.picklist(TRIGGER_STATES)),
    paused_for: withWords(
      'Whether its owner paused it or credits ran out; null if it is not paused',
      v.nullable(v.picklist(['owner', 'credits'])),
    ),
    value: withWords('Its figure at the last change; null before the first', v.nullable(v.string())),
    changes: withWords('How often it fired or armed again', nonNegativeInteger),
    since_block: withWords('Block at which its state began; null before the first', v.nullable(nonNegativeInteger)),
    expires_at: withWords('When it ends by itself; null: never', v.nullable(isoTimestamp)),
    created_at: withWords('When it was made', isoTimestamp),
  }),
)
export const triggerOutput = dataOutput(triggerSchema)
export const triggersOutput = listOutput(triggerSchema)

const deliveryEntries = {
  id: withWords('Id of the message, which its recipient gets as `webhook-id`', v.string()),
  type: withWords('What it tells', v.picklist(MESSAGE_TYPES)),
  change: withWords('Number of the trigger’s change; null if it tells none', v.nullable(nonNegativeInteger)),
  created_at: withWords('When it was written', isoTimestamp),
  webhook_id: withWords('Webhook that it is posted to; null: the feed alone', v.nullable(v.string())),
  status: withWords(
    'due: to be posted; delivered; dead: given up; feed: not posted',
    v.picklist(['due', 'delivered', 'dead', 'feed']),
  ),
  next_try_at: withWords('When it is posted next; null if it is not', v.nullable(isoTimestamp)),
  tries: withWords(
    'Every time that it was posted, the first one first',
    v.array(
      v.strictObject({
        at: withWords('When', isoTimestamp),
        status_code: withWords('Status of the answer; null without one', v.nullable(nonNegativeInteger)),
        failure: withWords('Why it did not arrive; null if it did', v.nullable(v.string())),
        latency_ms: withWords('Milliseconds until the answer or the failure', nonNegativeInteger),
      }),
    ),
  ),
}
export const deliveriesOutput = listOutput(
  named('Delivery', 'A message and how it was posted', v.strictObject(deliveryEntries)),
)
export const deadLettersOutput = listOutput(
  v.strictObject({
    trigger_id: withWords('Trigger that it is about; null for a test', v.nullable(v.string())),
    ...deliveryEntries,
  }),
)

export const eventsOutput = v.strictObject({
  data: v.array(
    named(
      'Message',
      'A message as webhooks get it',
      v.strictObject({
        id: withWords('Its id; `after` continues behind it', v.string()),
        type: withWords('What it tells', v.picklist(MESSAGE_TYPES)),
        timestamp: withWords('When it was written, ISO 8601', v.string()),
        text: withWords('The same in a sentence, for people', v.string()),
        data: withWords('The trigger, its change, the figure and the block', v.record(v.string(), v.unknown())),
      }),
    ),
  ),
})

/** ISO 8601; null for none. */
export function toIsoOrNull(date: Date | null): string | null {
  return date?.toISOString() ?? null
}

/** Counts 1 for an answer with data, 0 for an empty one, which is free of charge. */
export function countData({ data }: Reply): number {
  return Array.isArray(data) && data.length === 0 ? 0 : 1
}

/** A trigger in the form of answers. */
export function presentTrigger(trigger: StoredTrigger) {
  return {
    id: trigger.id,
    name: trigger.name,
    chain_id: Number(trigger.chain_id),
    family: trigger.family,
    subject: trigger.subject,
    when: trigger.clause,
    clear: trigger.clear,
    for_blocks: trigger.for_blocks,
    finality: trigger.finality,
    webhook_id: trigger.webhook_id,
    state: trigger.state,
    paused_for: trigger.paused_for,
    value: trigger.value,
    changes: Number(trigger.changes),
    since_block: trigger.since_block === null ? null : Number(trigger.since_block),
    expires_at: toIsoOrNull(trigger.expires_at),
    created_at: trigger.created_at.toISOString(),
  }
}

interface DeliveryTry {
  readonly at_ms: number
  /** Null if there was no answer. */
  readonly status_code: number | null
  readonly failure: string | null
  readonly latency_ms: number
}

/** A delivery in the form of answers. */
export function presentDelivery(row: Delivery) {
  const tries: readonly DeliveryTry[] = JSON.parse(row.tries)
  return {
    id: row.id,
    type: row.type,
    change: row.change === null ? null : Number(row.change),
    created_at: row.created_at.toISOString(),
    webhook_id: row.webhook_id,
    // `feed`: the message is in the feed only.
    status: row.outcome ?? (row.webhook_id === null ? 'feed' : 'due'),
    next_try_at: toIsoOrNull(row.due_at),
    tries: tries.map(({ at_ms, ...fields }) => ({ at: new Date(at_ms).toISOString(), ...fields })),
  }
}
