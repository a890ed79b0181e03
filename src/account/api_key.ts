import { apiKeyCount, apiKeyInsert, apiKeyInsertReroll, apiKeyList, apiKeyUpdateRevoked } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import { CodedError } from '../lib/error.ts'
import { parseNetwork } from '../lib/text/network.ts'
import { type Actor, toAuditParams } from './audit.ts'
import { newId } from './id.ts'
import { mintKey } from './key.ts'
import { readOrganization } from './organization.ts'
import { type ListPage, type PageQuery, validateInteger, validateLabel } from './validation.ts'

/** A key without its secret. Null as a list of networks or endpoints, or as credits per day, means no limit. */
export type ApiKey = Awaited<ReturnType<typeof apiKeyList>>[number]

/** Limits of a key: they never change, and a key that replaces it has the same. */
export interface KeyLimits {
  /** Networks from which the key works, such as `10.0.0.0/8` or `2001:db8::/32`; null for all. */
  readonly networks: readonly string[] | null
  /** Endpoints for which the key works, named as in OpenAPI; null for all. */
  readonly endpoints: readonly string[] | null
  /** Most credits that the key may spend in one day (UTC); null for no limit. */
  readonly creditsPerDay: number | null
}

/** A new key: `key` is returned once and never stored. */
export type NewApiKey = ApiKey & { readonly key: string }

/** Seconds for which a replaced key still works: by default, and at most. */
export const GRACE_DEFAULT_SEC = 86_400
export const GRACE_MAX_SEC = 30 * 86_400

/** Most networks or endpoints of one key, and the highest daily limit. */
export const KEY_LIST_MAX = 32
export const CREDITS_PER_DAY_MAX = 1_000_000_000_000
const ENDPOINT = /^(?:GET|POST) \/[\x21-\x7e]{1,150}$/
const EXAMPLE: Readonly<Record<string, string>> = {
  networks: 'each such as 10.0.0.0/8 or 2001:db8::/32, with zeros after its prefix',
  endpoints: 'each such as GET /v1/lending/aave-v3',
}

/** Creates a key. Throws `CodedError` ORGANIZATION_NOT_FOUND, ACCOUNT_SUSPENDED or INVALID_PARAMETER. */
export async function createKey(
  db: Database,
  options: {
    readonly organizationId: string
    readonly name: string
    readonly expiresAt?: Date | undefined
    readonly limits?: Partial<KeyLimits>
    readonly by: Actor
  },
): Promise<NewApiKey> {
  const { organizationId, expiresAt = null, by } = options
  const name = validateLabel(options.name, 'name')
  const limits = validateLimits(options.limits)
  const { key, hash, last4 } = mintKey()
  const [row] = await apiKeyInsert(db, {
    organizationId,
    id: newId('key'),
    name,
    hash,
    last4,
    expiresAt,
    allowedNetworks: limits.networks,
    allowedEndpoints: limits.endpoints,
    creditsPerDay: limits.creditsPerDay,
    ...toAuditParams(by),
  })
  if (row !== undefined) return { ...row, key }
  await readOrganization(db, organizationId)
  throw suspendedError()
}

/**
 * Lists one page of an organization's keys with revoked ones, oldest first, and their total. Throws `CodedError`
 * ORGANIZATION_NOT_FOUND.
 */
export async function listKeys(
  db: Database,
  { organizationId, page, limit }: PageQuery & { readonly organizationId: string },
): Promise<ListPage<ApiKey>> {
  const [, [countRow], items] = await Promise.all([
    readOrganization(db, organizationId),
    apiKeyCount(db, { organizationId }),
    apiKeyList(db, { organizationId, offset: (page - 1) * limit, limit }),
  ])
  return { items, total: countRow?.total ?? 0 }
}

/** Revokes a key: its next request is answered 401. Idempotent. Throws `CodedError` NOT_FOUND. */
export async function revokeKey(
  db: Database,
  options: { readonly organizationId: string; readonly keyId: string; readonly by: Actor },
): Promise<ApiKey> {
  const { organizationId, keyId } = options
  const [row] = await apiKeyUpdateRevoked(db, { organizationId, id: keyId, ...toAuditParams(options.by) })
  if (row === undefined) throw keyNotFoundError(keyId)
  return row
}

/**
 * Replaces a valid key by one with its limits and its expiry; the old key works for another `graceSec` seconds, 24 hours
 * by default. Throws `CodedError` NOT_FOUND if the old key no longer works, ORGANIZATION_NOT_FOUND, ACCOUNT_SUSPENDED.
 */
export async function rerollKey(
  db: Database,
  options: {
    readonly organizationId: string
    readonly keyId: string
    readonly graceSec?: number | undefined
    readonly by: Actor
  },
): Promise<NewApiKey> {
  const { organizationId, keyId } = options
  const graceSec = validateInteger(options.graceSec ?? GRACE_DEFAULT_SEC, { what: 'grace', min: 0, max: GRACE_MAX_SEC })
  const { key, hash, last4 } = mintKey()
  const [row] = await apiKeyInsertReroll(db, {
    organizationId,
    id: keyId,
    graceSec,
    newId: newId('key'),
    hash,
    last4,
    ...toAuditParams(options.by),
  })
  if (row !== undefined) return { ...row, key }
  const organization = await readOrganization(db, organizationId)
  throw organization.suspended_at === null ? keyNotFoundError(keyId) : suspendedError()
}

/** Validates limits and removes repetitions from lists. Throws `CodedError` INVALID_PARAMETER. */
function validateLimits(limits: Partial<KeyLimits> = {}): KeyLimits {
  const { networks = null, endpoints = null, creditsPerDay = null } = limits
  const validateList = (items: readonly string[] | null, what: string, isValid: (text: string) => boolean) => {
    if (items === null) return null
    const unique = [...new Set(items)]
    if (unique.length >= 1 && unique.length <= KEY_LIST_MAX && unique.every(isValid)) return unique
    throw new CodedError(
      'INVALID_PARAMETER',
      `Cannot use these ${what}: expected 1 to ${KEY_LIST_MAX} of them, ${EXAMPLE[what]}`,
    )
  }
  return {
    networks: validateList(networks, 'networks', (text) => parseNetwork(text) !== undefined),
    endpoints: validateList(endpoints, 'endpoints', (text) => ENDPOINT.test(text)),
    creditsPerDay:
      creditsPerDay === null
        ? null
        : validateInteger(creditsPerDay, { what: 'limit of credits a day', min: 1, max: CREDITS_PER_DAY_MAX }),
  }
}

function keyNotFoundError(keyId: string): CodedError {
  return new CodedError('NOT_FOUND', `Cannot find a working key "${keyId.slice(0, 64)}" in this organization`)
}

function suspendedError(): CodedError {
  return new CodedError('ACCOUNT_SUSPENDED', 'Cannot create a key: the organization is suspended')
}
