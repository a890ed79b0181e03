import type { Delivery } from '../deliveries.ts'
import type { StoredTrigger } from '../stored.ts'
import { isoOf } from './schema.ts'

/** A trigger as answers have it. */
export function presentTrigger(trigger: StoredTrigger) {
  return {
    id: trigger.id,
    name: trigger.name,
    chain_id: trigger.chainId,
    family: trigger.family,
    subject: trigger.subject,
    when: trigger.clause,
    clear: trigger.clear,
    for_blocks: trigger.forBlocks,
    finality: trigger.finality,
    webhook_id: trigger.webhookId,
    state: trigger.state,
    paused_for: trigger.pausedFor,
    value: trigger.value,
    changes: trigger.changes,
    since_block: trigger.sinceBlock === null ? null : Number(trigger.sinceBlock),
    expires_at: isoOf(trigger.expiresAt),
    created_at: trigger.createdAt.toISOString(),
  }
}

/** A delivery as answers have it. */
export function presentDelivery({ id, type, change, createdAt, webhookId, status, nextTryAt, tries }: Delivery) {
  return {
    id,
    type,
    change,
    created_at: createdAt.toISOString(),
    webhook_id: webhookId,
    status,
    next_try_at: isoOf(nextTryAt),
    tries: tries.map(({ at, statusCode, failure, latencyMs }) => ({
      at: at.toISOString(),
      status_code: statusCode,
      failure,
      latency_ms: latencyMs,
    })),
  }
}
