import findSql from '../../sql/queries/credit_balance_find.sql' with { type: 'text' }
import insertSql from '../../sql/queries/credit_grant_insert.sql' with { type: 'text' }
import listSql from '../../sql/queries/credit_grant_list.sql' with { type: 'text' }
import { type Database, SqlError } from '../db/database.ts'
import { query } from '../db/query.ts'
import { CodedError } from '../lib/error.ts'
import { newId } from './id.ts'
import { organizationNotFound } from './organization.ts'
import { checkedLabel, checkedWhole } from './value.ts'

const find = query(findSql, 'read')
const insert = query(insertSql, 'read')
const list = query(listSql, 'read')

/** An organization's balance and the sum of its grants; the difference is what its log charged. */
export interface Credits {
  readonly organizationId: string
  readonly balance: bigint
  readonly granted: bigint
}

/** Credits given or taken back by an operator. */
interface CreditGrant {
  readonly id: string
  /** Below zero if credits were taken back. */
  readonly credits: bigint
  readonly reason: string
  readonly grantedAt: Date
}

/** Most credits of one grant, either way. */
export const GRANT_MAX = 1_000_000_000_000
/** Grants that `readCredits` shows. */
const GRANTS_SHOWN_MAX = 100
/** Longest reason of a grant. */
export const REASON_LENGTH_MAX = 200
const OUT_OF_RANGE = '22003'

/**
 * Gives credits, or takes them back if `credits` is below zero; the balance never falls below zero. Throws `CodedError`
 * ORGANIZATION_NOT_FOUND, or INVALID_PARAMETER if that many cannot be given or taken.
 */
export async function grantCredits(
  db: Database,
  options: { readonly organizationId: string; readonly credits: number; readonly reason: string },
): Promise<Credits> {
  const { organizationId } = options
  const reason = checkedLabel(options.reason, 'reason', REASON_LENGTH_MAX)
  const credits = checkedWhole(options.credits, { what: 'grant', min: -GRANT_MAX, max: GRANT_MAX })
  if (credits === 0) throw new CodedError('INVALID_PARAMETER', 'Cannot use this grant: expected other than 0 credits')
  const rows = await insert(db, [organizationId, String(credits), newId('grant'), reason]).catch((error: unknown) => {
    if (!(error instanceof SqlError) || error.code !== OUT_OF_RANGE) throw error
    throw new CodedError('INVALID_PARAMETER', 'Cannot grant credits: the balance would be too large', { cause: error })
  })
  const [row] = rows
  if (row !== undefined) return creditsFrom(row)
  const [present] = await find(db, [organizationId])
  if (present === undefined) throw organizationNotFound(organizationId)
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot take back ${-credits} credits: the organization has ${present.balance} left`,
  )
}

/** Balance and latest grants of an organization. Throws `CodedError` ORGANIZATION_NOT_FOUND. */
export async function readCredits(
  db: Database,
  organizationId: string,
): Promise<Credits & { readonly grants: readonly CreditGrant[] }> {
  const [row] = await find(db, [organizationId])
  if (row === undefined) throw organizationNotFound(organizationId)
  const grants = await list(db, [organizationId, GRANTS_SHOWN_MAX])
  return {
    ...creditsFrom(row),
    grants: grants.map((grant) => ({
      id: grant.id,
      credits: BigInt(grant.credits),
      reason: grant.reason,
      grantedAt: grant.granted_at,
    })),
  }
}

function creditsFrom(row: { organization_id: string; balance: string; granted: string }): Credits {
  return { organizationId: row.organization_id, balance: BigInt(row.balance), granted: BigInt(row.granted) }
}
