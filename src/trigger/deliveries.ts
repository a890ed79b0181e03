import { messageListDead, messageListWatch } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import { readCountedPage } from './read_counted_page.ts'

/** A message about a trigger, with its attempts as JSON. Of the receiver's response only the status is stored. */
export type Delivery = Awaited<ReturnType<typeof messageListWatch>>[number]

/** A page of the messages about a trigger, newest first. */
export function listDeliveries(
  db: Database,
  page: { readonly organizationId: string; readonly triggerId: string; readonly page: number; readonly limit: number },
) {
  const { organizationId, triggerId: watchId } = page
  return readCountedPage(page, (part) => messageListWatch(db, { organizationId, watchId, ...part }))
}

/** A page of the messages of an organization that could not be delivered, newest first. */
export function listDeadLetters(
  db: Database,
  page: { readonly organizationId: string; readonly page: number; readonly limit: number },
) {
  const { organizationId } = page
  return readCountedPage(page, (part) => messageListDead(db, { organizationId, ...part }))
}
