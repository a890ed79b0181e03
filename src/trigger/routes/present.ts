import type { Delivery } from '../deliveries.ts'
import type { StoredTrigger } from '../stored.ts'
import { toIsoOrNull } from './schema.ts'

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
