import * as v from 'valibot'
import { dataOutput, isoTimestamp, listOutput } from '../../http/request/schema.ts'
import type { Reply } from '../../http/route/route.ts'
import { nonNegativeInteger } from '../../lib/text/text_format.ts'
import { MESSAGE_TYPES } from '../message.ts'
import { type Delivery, type StoredTrigger, TRIGGER_STATES } from '../stored.ts'
import { clauseSchema, FINALITY_LEVELS } from '../trigger.ts'

/* Schemas of answers about triggers. */

const webhookEntries = {
  id: v.string(),
  url: v.string(),
  name: v.string(),
  // Verifies signatures `v1a`.
  public_key: v.string(),
  status: v.picklist(['active', 'failing', 'stopped']),
  failing_since: v.nullable(isoTimestamp),
  // Until then messages are also signed with the previous secret.
  overlap_until: v.nullable(isoTimestamp),
  created_at: isoTimestamp,
}
export const webhookOutput = dataOutput(v.strictObject(webhookEntries))
export const webhooksOutput = v.strictObject({ data: v.array(v.strictObject(webhookEntries)) })
// The secret is shown once.
export const secretOutput = dataOutput(v.strictObject({ ...webhookEntries, secret: v.string() }))
export const idOutput = dataOutput(v.strictObject({ id: v.string() }))
// More: the remaining messages need another request, after the message of that id.
export const redeliveredOutput = dataOutput(
  v.strictObject({ redelivered: nonNegativeInteger, more: v.boolean(), after: v.nullable(v.string()) }),
)

const triggerSchema = v.strictObject({
  id: v.string(),
  name: v.nullable(v.string()),
  chain_id: nonNegativeInteger,
  family: v.string(),
  subject: v.record(v.string(), v.string()),
  when: clauseSchema,
  clear: v.nullable(v.string()),
  for_blocks: nonNegativeInteger,
  finality: v.picklist(FINALITY_LEVELS),
  webhook_id: v.nullable(v.string()),
  state: v.picklist(TRIGGER_STATES),
  paused_for: v.nullable(v.picklist(['owner', 'credits'])),
  // The figure at the last change.
  value: v.nullable(v.string()),
  changes: nonNegativeInteger,
  since_block: v.nullable(nonNegativeInteger),
  expires_at: v.nullable(isoTimestamp),
  created_at: isoTimestamp,
})
export const triggerOutput = dataOutput(triggerSchema)
export const triggersOutput = listOutput(triggerSchema)

const deliveryEntries = {
  id: v.string(),
  type: v.picklist(MESSAGE_TYPES),
  change: v.nullable(nonNegativeInteger),
  created_at: isoTimestamp,
  webhook_id: v.nullable(v.string()),
  // Feed: the message was not posted.
  status: v.picklist(['due', 'delivered', 'dead', 'feed']),
  next_try_at: v.nullable(isoTimestamp),
  tries: v.array(
    v.strictObject({
      at: isoTimestamp,
      status_code: v.nullable(nonNegativeInteger),
      failure: v.nullable(v.string()),
      latency_ms: nonNegativeInteger,
    }),
  ),
}
export const deliveriesOutput = listOutput(v.strictObject(deliveryEntries))
export const deadLettersOutput = listOutput(v.strictObject({ trigger_id: v.nullable(v.string()), ...deliveryEntries }))

export const eventsOutput = v.strictObject({
  data: v.array(
    v.strictObject({
      id: v.string(),
      type: v.picklist(MESSAGE_TYPES),
      timestamp: v.string(),
      text: v.string(),
      data: v.record(v.string(), v.unknown()),
    }),
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
