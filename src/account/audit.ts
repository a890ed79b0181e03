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
export interface AuditEntry {
  readonly id: string
  readonly at: Date
  /** `cli`, `token`, `operator session`, `organization session` or `first start`. */
  readonly actor: string
  readonly sessionId: string | null
  /** What was done: `organization.suspend`. */
  readonly action: string
  /** Null for what concerns all organizations. */
  readonly organizationId: string | null
  /** What was changed: the id of an organization, key, grant or session, or the name of a switch. */
  readonly subject: string
  /** Values before and after, reasons, names. */
  readonly detail: unknown
}

/** One page of the audit list, newest first; of one organization, or of all for null. */
export async function listAudit(
  db: Database,
  { organizationId, page, limit }: PageAsked & { readonly organizationId: string | null },
): Promise<Listed<AuditEntry>> {
  const [[counted], rows] = await Promise.all([
    count(db, [organizationId]),
    list(db, [organizationId, (page - 1) * limit, limit]),
  ])
  const items = rows.map((row) => ({
    id: row.id,
    at: row.at,
    actor: row.actor,
    sessionId: row.session_id,
    action: row.action,
    organizationId: row.organization_id,
    subject: row.subject,
    detail: row.detail,
  }))
  return { items, total: counted?.total ?? 0 }
}
