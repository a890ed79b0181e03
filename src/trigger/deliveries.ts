import deadSql from '../../sql/queries/message_list_dead.sql' with { type: 'text' }
import listSql from '../../sql/queries/message_list_watch.sql' with { type: 'text' }
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { countedPage } from './counted_page.ts'

const list = query(listSql, 'read')
const listDead = query(deadSql, 'read')

/** A message about a trigger, with its tries as JSON. What the receiver said besides its status is kept nowhere. */
export type Delivery = Awaited<ReturnType<typeof list>>[number]

/** A page of the messages about a trigger, newest first. */
export function listDeliveries(
  db: Database,
  page: { readonly organizationId: string; readonly triggerId: string; readonly page: number; readonly limit: number },
) {
  return countedPage(page, (...part) => list(db, [page.organizationId, page.triggerId, ...part]))
}

/** A page of the messages of an organization whose tries are over without success, newest first. */
export function listDeadLetters(
  db: Database,
  page: { readonly organizationId: string; readonly page: number; readonly limit: number },
) {
  return countedPage(page, (...part) => listDead(db, [page.organizationId, ...part]))
}
