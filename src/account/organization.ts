import findSql from '../../sql/queries/organization_find.sql' with { type: 'text' }
import insertSql from '../../sql/queries/organization_insert.sql' with { type: 'text' }
import insertFirstSql from '../../sql/queries/organization_insert_first.sql' with { type: 'text' }
import listSql from '../../sql/queries/organization_list.sql' with { type: 'text' }
import updateRateLimitSql from '../../sql/queries/organization_update_rate_limit.sql' with { type: 'text' }
import updateStateSql from '../../sql/queries/organization_update_state.sql' with { type: 'text' }
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { CodedError } from '../lib/error.ts'
import { newId } from './id.ts'
import { mintKey } from './key.ts'
import { checkedLabel, checkedWhole } from './value.ts'

const find = query(findSql, 'read')
const insert = query(insertSql, 'read')
const insertFirst = query(insertFirstSql, 'background')
const list = query(listSql, 'read')
const updateRateLimit = query(updateRateLimitSql, 'read')
const updateState = query(updateStateSql, 'read')

/** The account that pays: keys, credits, the rate limit and suspension belong to it. */
export interface Organization {
  readonly id: string
  readonly name: string
  /** Requests admitted in any one second, over all keys and processes. */
  readonly rateLimit: number
  readonly suspendedAt: Date | null
  readonly deletedAt: Date | null
  readonly createdAt: Date
}

/** Requests per second of a new organization. */
export const RATE_LIMIT_DEFAULT = 5
/** The highest rate limit. */
export const RATE_LIMIT_MAX = 100_000
/** Credits of the organization that a first start creates. */
const FIRST_CREDITS = 1_000_000
/** Long, for a slow disk: a key that is made after the deadline would never be shown. */
const FIRST_DEADLINE_MS = 60_000
/** Most organizations or keys of one answer. */
export const LIST_MAX = 10_000

type OrganizationRow = Awaited<ReturnType<typeof find>>[number]

/** Creates an organization without credits. Throws `CodedError` INVALID_PARAMETER if the name or limit is bad. */
export async function createOrganization(
  db: Database,
  options: { readonly name: string; readonly rateLimit?: number },
): Promise<Organization> {
  const name = checkedLabel(options.name, 'name')
  const rateLimit = checkedRateLimit(options.rateLimit ?? RATE_LIMIT_DEFAULT)
  const [row] = await insert(db, [newId('org'), name, rateLimit])
  return organizationFrom(row)
}

/** Organizations that are not deleted, oldest first, at most `LIST_MAX`, with their balances. */
export async function listOrganizations(
  db: Database,
): Promise<readonly (Organization & { readonly balance: bigint })[]> {
  const rows = await list(db, [LIST_MAX])
  return rows.map((row) => ({ ...organizationFrom(row), balance: BigInt(row.balance) }))
}

/** One organization that is not deleted. Throws `CodedError` ORGANIZATION_NOT_FOUND. */
export async function readOrganization(db: Database, id: string): Promise<Organization> {
  const [row] = await find(db, [id])
  if (row === undefined || row.deleted_at !== null) throw organizationNotFound(id)
  return organizationFrom(row)
}

/** From the next request on, calls answer 403 ACCOUNT_SUSPENDED. Throws `CodedError` ORGANIZATION_NOT_FOUND. */
export async function suspendOrganization(db: Database, id: string): Promise<Organization> {
  return change(db, id, 'suspend')
}

/** Ends a suspension: the same keys and credits work again. Throws `CodedError` ORGANIZATION_NOT_FOUND. */
export async function restoreOrganization(db: Database, id: string): Promise<Organization> {
  return change(db, id, 'restore')
}

/** Final: its keys answer 404 ORGANIZATION_NOT_FOUND, its log stays. Throws `CodedError` ORGANIZATION_NOT_FOUND. */
export async function deleteOrganization(db: Database, id: string): Promise<Organization> {
  return change(db, id, 'delete')
}

/**
 * Sets how many requests are admitted in any one second. Throws `CodedError` ORGANIZATION_NOT_FOUND or
 * INVALID_PARAMETER.
 */
export async function setRateLimit(
  db: Database,
  options: { readonly id: string; readonly rateLimit: number },
): Promise<Organization> {
  const [row] = await updateRateLimit(db, [options.id, checkedRateLimit(options.rateLimit)])
  if (row === undefined) throw organizationNotFound(options.id)
  return organizationFrom(row)
}

/**
 * If the database has no organization, creates `default` with 1,000,000 credits and one key, which is returned this
 * once. Of several processes that start together, one gets the key.
 */
export async function ensureDefaultOrganization(
  db: Database,
): Promise<{ readonly organizationId: string; readonly key: string; readonly credits: number } | undefined> {
  const organizationId = newId('org')
  const { key, hash, last4 } = mintKey()
  const [row] = await insertFirst(
    db,
    [organizationId, 'default', String(FIRST_CREDITS), newId('grant'), newId('key'), hash, last4],
    { deadlineMs: FIRST_DEADLINE_MS },
  )
  return row?.created ? { organizationId, key, credits: FIRST_CREDITS } : undefined
}

/** The error for an organization that is absent or deleted. */
export function organizationNotFound(id: string): CodedError {
  return new CodedError('ORGANIZATION_NOT_FOUND', `Cannot find the organization "${id.slice(0, 64)}"`)
}

async function change(db: Database, id: string, to: 'suspend' | 'restore' | 'delete'): Promise<Organization> {
  const [row] = await updateState(db, [id, to])
  if (row === undefined) throw organizationNotFound(id)
  return organizationFrom(row)
}

function organizationFrom(row: OrganizationRow | undefined): Organization {
  if (row === undefined) throw new Error('Cannot read an organization: the database answered no row')
  return {
    id: row.id,
    name: row.name,
    rateLimit: row.rate_limit,
    suspendedAt: row.suspended_at,
    deletedAt: row.deleted_at,
    createdAt: row.created_at,
  }
}

function checkedRateLimit(value: number): number {
  return checkedWhole(value, { what: 'rate limit', min: 1, max: RATE_LIMIT_MAX })
}
