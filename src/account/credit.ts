import { creditGrantCount, creditGrantInsert, creditGrantList } from '../../sql/queries.ts'
import { type Database, SqlError } from '../db/database.ts'
import { CodedError } from '../lib/error.ts'
import { type Actor, toAuditParams } from './audit.ts'
import { newId } from './id.ts'
import { readOrganization } from './organization.ts'
import { type ListPage, type PageQuery, validateInteger, validateLabel } from './validation.ts'

/** An organization's balance and the sum of its grants, in decimal digits; the difference is the sum of its charges. */
interface Credits {
  readonly organization_id: string
  readonly balance: string
  readonly granted: string
}

/** Credits granted by an operator, in decimal digits; negative if they were taken back. */
type CreditGrant = Awaited<ReturnType<typeof creditGrantList>>[number]

/** Most credits that one grant gives or takes back. */
export const GRANT_MAX = 1_000_000_000_000
export const REASON_LENGTH_MAX = 200
const OUT_OF_RANGE = '22003'

/**
 * Grants credits, or takes them back if `credits` is negative; the balance never falls below zero. Returns the
 * organization's credits after the grant, and the grant. Throws `CodedError` ORGANIZATION_NOT_FOUND, or
 * INVALID_PARAMETER if the number is out of range or exceeds the balance.
 */
export async function grantCredits(
  db: Database,
  options: { readonly organizationId: string; readonly credits: number; readonly reason: string; readonly by: Actor },
): Promise<Credits & { readonly grant: CreditGrant }> {
  const { organizationId } = options
  const reason = validateLabel(options.reason, 'reason', REASON_LENGTH_MAX)
  const credits = validateInteger(options.credits, { what: 'grant', min: -GRANT_MAX, max: GRANT_MAX })
  if (credits === 0) throw new CodedError('INVALID_PARAMETER', 'Cannot grant credits: expected a non-zero number')
  const grantId = newId('grant')
  const inserted = creditGrantInsert(db, { organizationId, credits, grantId, reason, ...toAuditParams(options.by) })
  const [row] = await inserted.catch((error: unknown) => {
    if (!(error instanceof SqlError) || error.code !== OUT_OF_RANGE) throw error
    throw new CodedError('INVALID_PARAMETER', 'Cannot grant credits: the balance would be too large', { cause: error })
  })
  if (row !== undefined) {
    const { granted_at, ...after } = row
    return { ...after, grant: { id: grantId, credits: String(credits), reason, granted_at } }
  }
  const { balance } = await readOrganization(db, organizationId)
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot take back ${-credits} credits: the organization has ${balance} left`,
  )
}

/** Reads the balance of an organization. Throws `CodedError` ORGANIZATION_NOT_FOUND. */
export async function readCredits(db: Database, organizationId: string): Promise<Credits> {
  const { id, balance, granted } = await readOrganization(db, organizationId)
  return { organization_id: id, balance, granted }
}

/** Lists one page of an organization's grants, newest first. Throws `CodedError` ORGANIZATION_NOT_FOUND. */
export async function listGrants(
  db: Database,
  { organizationId, page, limit }: PageQuery & { readonly organizationId: string },
): Promise<ListPage<CreditGrant>> {
  const [, [countRow], items] = await Promise.all([
    readOrganization(db, organizationId),
    creditGrantCount(db, { organizationId }),
    creditGrantList(db, { organizationId, offset: (page - 1) * limit, limit }),
  ])
  return { items, total: countRow?.total ?? 0 }
}
