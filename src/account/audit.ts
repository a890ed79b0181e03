import countSql from '../../sql/queries/audit_entry_count.sql' with { type: 'text' }
import listSql from '../../sql/queries/audit_entry_list.sql' with { type: 'text' }
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Listed, PageAsked } from './value.ts'

const count = query(countSql, 'read')
const list = query(listSql, 'read')

/** Who makes a change, as the audit list names it. */
export interface Actor {
  readonly kind: 'cli' | 'token' | 'operator session' | 'organization session' | 'first start'
  /** Id of the session, if it is made in one. */
  readonly sessionId: string | null
}

/** The command line: whoever can run it on the database. */
export const CLI: Actor = { kind: 'cli', sessionId: null }
/** The service itself, when it starts on an empty database. */
export const FIRST_START: Actor = { kind: 'first start', sessionId: null }

/** One change, as the statement that made it recorded it. */
type AuditEntry = Awaited<ReturnType<typeof list>>[number]

/** One page of the audit list, newest first; of one organization, or of all for null. */
export async function listAudit(
  db: Database,
  { organizationId, page, limit }: PageAsked & { readonly organizationId: string | null },
): Promise<Listed<AuditEntry>> {
  const [[counted], items] = await Promise.all([
    count(db, [organizationId]),
    list(db, [organizationId, (page - 1) * limit, limit]),
  ])
  return { items, total: counted?.total ?? 0 }
}
