import { organizationCreateFirst } from '../../sql/functions.ts'
import {
  organizationCount,
  organizationFind,
  organizationFindNamed,
  organizationInsert,
  organizationList,
  organizationUpdate,
  organizationUpdateState,
} from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import { CodedError } from '../lib/error.ts'
import { type Actor, toAuditParams } from './audit.ts'
import { newId } from './id.ts'
import { mintKey } from './key.ts'
import { type ListPage, type PageQuery, validateInteger, validateLabel } from './validation.ts'

export const RATE_LIMIT_DEFAULT = 5
export const RATE_LIMIT_MAX = 100_000
export const TRIGGER_LIMIT_DEFAULT = 1_000
export const TRIGGER_LIMIT_MAX = 100_000
const FIRST_CREDITS = 1_000_000
/** Long enough for a slow disk: a key created after the deadline would never be shown. */
const FIRST_DEADLINE_MS = 60_000

/**
 * The account that pays. It has keys, credits, a rate limit (requests admitted in any one second, over all keys and
 * processes) and can be suspended.
 */
export type Organization = Awaited<ReturnType<typeof organizationInsert>>[number]

interface Limits {
  /** Requests admitted in any one second. */
  readonly rateLimit?: number | undefined
  /** Most triggers; existing triggers above a lower limit stay. */
  readonly triggerLimit?: number | undefined
}

/** An organization with its balance and the sum of its grants. */
export type FundedOrganization = Awaited<ReturnType<typeof organizationList>>[number]

/**
 * Creates an organization without credits. Throws `CodedError` INVALID_PARAMETER, also if another one has the name, in
 * any case of its letters, or if the name could be an id.
 */
export async function createOrganization(
  db: Database,
  options: Limits & { readonly name: string; readonly by: Actor },
): Promise<Organization> {
  const name = validateName(options.name)
  const rateLimit = validateRateLimit(options.rateLimit ?? RATE_LIMIT_DEFAULT)
  const triggerLimit = validateTriggerLimit(options.triggerLimit ?? TRIGGER_LIMIT_DEFAULT)
  const limits = { rateLimit, triggerLimit }
  const [row] = await organizationInsert(db, { id: newId('org'), name, ...limits, ...toAuditParams(options.by) })
  if (row === undefined) throw nameTakenError(name)
  return row
}

/** Lists one page of the organizations that are not deleted, oldest first, and their total. */
export async function listOrganizations(
  db: Database,
  { page, limit }: PageQuery,
): Promise<ListPage<FundedOrganization>> {
  const [[countRow], items] = await Promise.all([
    organizationCount(db, {}),
    organizationList(db, { offset: (page - 1) * limit, limit }),
  ])
  return { items, total: countRow?.total ?? 0 }
}

/** Reads one organization that is not deleted. Throws `CodedError` ORGANIZATION_NOT_FOUND. */
export async function readOrganization(db: Database, id: string): Promise<FundedOrganization> {
  const [row] = await organizationFind(db, { id })
  if (row === undefined) throw organizationNotFoundError(id)
  return row
}

const NAMESAKES_MAX = 5
const ORGANIZATION_ID = /^org_[0-9A-Za-z]+$/

/**
 * Returns the id of an organization from its name; an id is returned without a look-up. Throws `CodedError`
 * ORGANIZATION_NOT_FOUND, and INVALID_PARAMETER with the ids if several organizations have the name.
 */
export async function resolveOrganizationId(db: Database, text: string): Promise<string> {
  if (ORGANIZATION_ID.test(text)) return text
  const [first, ...duplicates] = await organizationFindNamed(db, { name: text, max: NAMESAKES_MAX })
  if (first === undefined) throw organizationNotFoundError(text)
  if (duplicates.length === 0) return first.id
  const ids = [first, ...duplicates].map(({ id }) => id).join(', ')
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot choose an organization: several are called "${text}"; give the id, one of ${ids}`,
  )
}

/**
 * Suspends, restores or deletes an organization. `suspend`: from the next request on, calls answer 403
 * ACCOUNT_SUSPENDED. `restore`: the same keys and credits work again. `delete` is final: its keys answer 404
 * ORGANIZATION_NOT_FOUND, its log stays. Throws `CodedError` ORGANIZATION_NOT_FOUND.
 */
export async function setOrganizationState(
  db: Database,
  change: 'suspend' | 'restore' | 'delete',
  { id, by }: { readonly id: string; readonly by: Actor },
): Promise<Organization> {
  const [row] = await organizationUpdateState(db, { id, change, ...toAuditParams(by) })
  if (row === undefined) throw organizationNotFoundError(id)
  return row
}

/**
 * Renames an organization, or sets its limits. Throws `CodedError` ORGANIZATION_NOT_FOUND, or INVALID_PARAMETER as
 * `createOrganization`.
 */
export async function updateOrganization(
  db: Database,
  options: Limits & { readonly id: string; readonly by: Actor; readonly name?: string | undefined },
): Promise<Organization> {
  const { id, by } = options
  const name = options.name === undefined ? null : validateName(options.name)
  const rateLimit = options.rateLimit === undefined ? null : validateRateLimit(options.rateLimit)
  const triggerLimit = options.triggerLimit === undefined ? null : validateTriggerLimit(options.triggerLimit)
  const [row] = await organizationUpdate(db, { id, name, rateLimit, triggerLimit, ...toAuditParams(by) })
  if (row !== undefined) return row
  await readOrganization(db, id)
  throw nameTakenError(name ?? '')
}

/**
 * If the database has no organization, creates `default` with 1,000,000 credits and one key, which is returned only
 * here. Of several processes that start together, one gets the key.
 */
export async function ensureDefaultOrganization(
  db: Database,
): Promise<{ readonly organizationId: string; readonly key: string; readonly credits: number } | undefined> {
  const organizationId = newId('org')
  const { key, hash, last4 } = mintKey()
  const credits = FIRST_CREDITS
  const ids = { organizationId, grantId: newId('grant'), apiKeyId: newId('key') }
  const isCreated = await organizationCreateFirst(
    db,
    { ...ids, name: 'default', credits, hash, last4 },
    { deadlineMs: FIRST_DEADLINE_MS },
  )
  return isCreated ? { organizationId, key, credits } : undefined
}

/** The error for an organization that is absent or deleted. */
export function organizationNotFoundError(id: string): CodedError {
  return new CodedError('ORGANIZATION_NOT_FOUND', `Cannot find the organization "${id.slice(0, 64)}"`)
}

function nameTakenError(name: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot call an organization "${name}": another one has that name`)
}

function validateName(text: string): string {
  const name = validateLabel(text, 'name')
  if (!ORGANIZATION_ID.test(name)) return name
  throw new CodedError('INVALID_PARAMETER', 'Cannot use this name: expected one that does not look like an id, "org_…"')
}

function validateRateLimit(value: number): number {
  return validateInteger(value, { what: 'rate limit', min: 1, max: RATE_LIMIT_MAX })
}

function validateTriggerLimit(value: number): number {
  return validateInteger(value, { what: 'trigger limit', min: 0, max: TRIGGER_LIMIT_MAX })
}
