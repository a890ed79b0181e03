import type { Database } from '../../../src/db/database.ts'
import { applyChange } from '../../../src/trigger/apply_change.ts'
import { prepareTriggerDeletion, prepareTriggerUpdate } from '../../../src/trigger/stored.ts'
import { type Clause, PACES, type Pace, type Trigger, type TriggerState } from '../../../src/trigger/trigger.ts'

export const ARMED: TriggerState = { edition: 1, phase: 'armed', heldBlocks: 0, changes: 0, value: null, since: null }

/** Inserts a trigger as a route does. */
export async function createTrigger(
  db: Database,
  of: Partial<Trigger> & {
    readonly organizationId: string
    readonly apiKeyId: string
    readonly chainId: number
    readonly webhookId?: string
    readonly createdAt?: Date
    readonly expiresAt?: Date
    /** @default {'exact'} */
    readonly pace?: Pace
  },
): Promise<Trigger> {
  const clause: Clause = of.clause ?? { figure: 'health_factor', below: '1.05' }
  const trigger: Trigger = {
    organizationId: of.organizationId,
    id: of.id ?? `trg_${crypto.randomUUID().slice(0, 8)}`,
    family: of.family ?? 'aave-v3',
    subject: of.subject ?? { wallet: '0x0000000000000000000000000000000000000001' },
    clause,
    clear: of.clear ?? ('below' in clause || 'above' in clause ? '1.071' : null),
    forBlocks: of.forBlocks ?? 1,
    finality: of.finality ?? 'latest',
    name: of.name ?? null,
  }
  await db.run(
    `with made as (
       insert into watch (organization_id, id, chain_id, family, subject, clause, clear, for_blocks, finality, webhook_id,
         name, api_key_id, created_at, active_at, paid_until, expires_at, shard, hour_credits)
       values ($1, $2, $3::bigint, $4, $5::jsonb, $6::jsonb, $7::numeric, $8::int, $9, nullif($10, ''), $11, $12,
         coalesce($13::timestamptz, now()), coalesce($13::timestamptz, now()),
         coalesce($13::timestamptz, now()) + interval '1 hour', $14::timestamptz, $15::int, $16::int)
     )
     insert into watch_state (organization_id, id) values ($1, $2)`,
    [
      trigger.organizationId,
      trigger.id,
      of.chainId,
      trigger.family,
      JSON.stringify(trigger.subject),
      JSON.stringify(trigger.clause),
      trigger.clear,
      trigger.forBlocks,
      trigger.finality,
      of.webhookId ?? '',
      trigger.name,
      of.apiKeyId,
      of.createdAt ?? null,
      of.expiresAt ?? null,
      PACES[of.pace ?? 'exact'].shard,
      PACES[of.pace ?? 'exact'].hourCredits,
    ],
  )
  return trigger
}

type TriggerKey = Pick<Trigger, 'organizationId' | 'id'>

/** Changes settings of a trigger, as a session does. */
export async function updateTrigger(
  db: Database,
  { organizationId, id }: TriggerKey,
  change: Parameters<typeof prepareTriggerUpdate>[1],
): Promise<void> {
  await applyChange(db, organizationId, prepareTriggerUpdate(id, change))
}

/** Deletes a trigger, as a session does. */
export async function deleteTrigger(db: Database, { organizationId, id }: TriggerKey): Promise<void> {
  await applyChange(db, organizationId, prepareTriggerDeletion(id))
}

/** Changes what a trigger watches, as a route does. */
export async function editTrigger(db: Database, { organizationId, id }: Trigger, below: string): Promise<void> {
  await db.run(
    `with changed as (
       update watch set clause = jsonb_set(clause, '{below}', to_jsonb($3::text)) where organization_id = $1 and id = $2
     )
     update watch_state set edition = edition + 1, phase = 'armed', held_blocks = 0, since_block = null
     where organization_id = $1 and id = $2`,
    [organizationId, id, below],
  )
}

/** Charges for triggers as at a full hour since the Unix epoch, and returns the number of organizations. */
export async function chargeHourAt(db: Database, hour: number, organizationsMax: number): Promise<number> {
  let organizations = 0
  while (organizations < organizationsMax) {
    const [row] = await db.run<{ count: number }>(
      'select trigger_hour_at(to_timestamp($1::double precision), $2::integer) as count',
      [hour * 3_600, organizationsMax],
    )
    if (row === undefined || row.count === 0) break
    organizations += row.count
  }
  return organizations
}
