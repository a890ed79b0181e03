import deadSql from '../../sql/queries/message_list_dead.sql' with { type: 'text' }
import listSql from '../../sql/queries/message_list_watch.sql' with { type: 'text' }
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { countedPage } from './counted_page.ts'

const list = query(listSql, 'read')
const listDead = query(deadSql, 'read')

/** What became of a message. `feed`: it was for the feed only. */
export type DeliveryStatus = 'due' | 'delivered' | 'dead' | 'feed'

/** A message about a trigger, with its tries. */
export interface Delivery {
  readonly id: string
  readonly type: string
  /** Null for messages about no change. */
  readonly change: number | null
  readonly createdAt: Date
  readonly webhookId: string | null
  readonly status: DeliveryStatus
  readonly nextTryAt: Date | null
  readonly tries: readonly DeliveryTry[]
}

/** One whose tries are over without success. */
interface DeadLetter extends Delivery {
  /** Null if it is about none. */
  readonly triggerId: string | null
}

/** A try. What the receiver said besides its status is kept nowhere. */
interface DeliveryTry {
  readonly at: Date
  /** Null if there was no answer. */
  readonly statusCode: number | null
  readonly failure: string | null
  readonly latencyMs: number
}

interface TryRow {
  readonly at_ms: number
  readonly status_code: number | null
  readonly failure: string | null
  readonly latency_ms: number
}

/** A page of the messages about a trigger, newest first. */
export async function listDeliveries(
  db: Database,
  page: { readonly organizationId: string; readonly triggerId: string; readonly page: number; readonly limit: number },
): Promise<{ readonly deliveries: readonly Delivery[]; readonly total: number }> {
  const { organizationId, triggerId } = page
  const { rows, total } = await countedPage(page, (...part) => list(db, [organizationId, triggerId, ...part]))
  return { deliveries: rows.map(deliveryOf), total }
}

/** A page of the messages of an organization whose tries are over without success, newest first. */
export async function listDeadLetters(
  db: Database,
  page: { readonly organizationId: string; readonly page: number; readonly limit: number },
): Promise<{ readonly deliveries: readonly DeadLetter[]; readonly total: number }> {
  const { rows, total } = await countedPage(page, (...part) => listDead(db, [page.organizationId, ...part]))
  return { deliveries: rows.map((row) => ({ ...deliveryOf(row), triggerId: row.watch_id })), total }
}

function deliveryOf(row: Awaited<ReturnType<typeof list>>[number]): Delivery {
  return {
    id: row.id,
    type: row.type,
    change: row.change === null ? null : Number(row.change),
    createdAt: row.created_at,
    webhookId: row.webhook_id,
    status: statusOf(row),
    nextTryAt: row.due_at,
    tries: (JSON.parse(row.tries) as readonly TryRow[]).map((each) => ({
      at: new Date(each.at_ms),
      statusCode: each.status_code,
      failure: each.failure,
      latencyMs: each.latency_ms,
    })),
  }
}

function statusOf(row: Awaited<ReturnType<typeof list>>[number]): DeliveryStatus {
  if (row.outcome === 'delivered' || row.outcome === 'dead') return row.outcome
  return row.webhook_id === null ? 'feed' : 'due'
}
