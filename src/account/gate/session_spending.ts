import findSql from '../../../sql/queries/session_spending_find.sql' with { type: 'text' }
import openSql from '../../../sql/queries/session_spending_open.sql' with { type: 'text' }
import putBackSql from '../../../sql/queries/session_spending_put_back.sql' with { type: 'text' }
import takeSql from '../../../sql/queries/session_spending_take.sql' with { type: 'text' }
import type { Database } from '../../db/database.ts'
import { query } from '../../db/query.ts'

const find = query(findSql, 'read')
const open = query(openSql, 'read')
const take = query(takeSql, 'read')
const putBack = query(putBackSql, 'read')

/** A session of an agent of one organization. */
interface Session {
  readonly organizationId: string
  readonly sessionId: string
}

/** What sessions have spent, over all processes. All throw `UnavailableError` if the database is away. */
export interface SessionSpending {
  /** Opens a session, which has spent nothing; one that is open stays as it is. */
  open(session: Session): Promise<void>
  /** Credits that a session has spent; undefined if it was never opened, or is forgotten. */
  spent(session: Session): Promise<number | undefined>
  /** Takes credits if the session then has spent no more than `budget`; else takes nothing and answers false. */
  take(session: Session, amount: { readonly credits: number; readonly budget: number }): Promise<boolean>
  /** Puts back what was taken and then not charged. */
  putBack(session: Session, credits: number): Promise<void>
}

/** What sessions spend is kept in the database for 30 days after they were opened or last charged. */
export function createSessionSpending(db: Database): SessionSpending {
  return {
    async open({ organizationId, sessionId }) {
      await open(db, [organizationId, sessionId])
    },
    async spent({ organizationId, sessionId }) {
      const [row] = await find(db, [organizationId, sessionId])
      return row === undefined ? undefined : Number(row.credits)
    },
    async take({ organizationId, sessionId }, { credits, budget }) {
      const [row] = await take(db, [organizationId, sessionId, String(credits), String(budget)])
      return row !== undefined
    },
    async putBack({ organizationId, sessionId }, credits) {
      await putBack(db, [organizationId, sessionId, String(credits)])
    },
  }
}
