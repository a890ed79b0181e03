import { auditEntryCount, auditEntryList } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import type { ListPage, PageQuery } from './validation.ts'

/** The author of a change, as the audit list names it. */
export interface Actor {
  readonly kind: 'cli' | 'token' | 'operator session' | 'organization session' | 'first start'
  /** Id of the session in which the change is made; null outside of one. */
  readonly sessionId: string | null
  /** Account of the operating system, for the command line. */
  readonly account?: string
}

/** The command line, run with access to the database. */
export const CLI_ACTOR: Actor = { kind: 'cli', sessionId: null }
/** The service itself, when it starts on an empty database. */
export const FIRST_START_ACTOR: Actor = { kind: 'first start', sessionId: null }

/** Converts an author to the parameters of a statement that records a change. */
export function toAuditParams({ kind: actor, sessionId, account }: Actor) {
  return { actor, sessionId, account: account ?? null }
}

/** One change, recorded by the statement that made it. */
type AuditEntry = Awaited<ReturnType<typeof auditEntryList>>[number]

/** Lists one page of the audit list, newest first: of one organization, or of all for null. */
export async function listAudit(
  db: Database,
  { organizationId, page, limit }: PageQuery & { readonly organizationId: string | null },
): Promise<ListPage<AuditEntry>> {
  const [[countRow], items] = await Promise.all([
    auditEntryCount(db, { organizationId }),
    auditEntryList(db, { organizationId, offset: (page - 1) * limit, limit }),
  ])
  return { items, total: countRow?.total ?? 0 }
}
