import * as v from 'valibot'
import type { ApiKey, NewApiKey } from '../account/api_key.ts'
import type { CreditGrant, Credits } from '../account/credit.ts'
import type { Organization } from '../account/organization.ts'
import { wholeText as credits, moment } from '../http/request/schema.ts'
import { whole } from '../lib/text/schema.ts'
import type { Switch } from './switches.ts'

/*
 * What accounts look like outside: in answers of the planes and in those of the command line. Schemas describe the
 * values below them.
 */

export const organizationSchema = v.strictObject({
  id: v.string(),
  name: v.string(),
  rate_limit: whole,
  created_at: moment,
  suspended_at: v.nullable(moment),
  deleted_at: v.nullable(moment),
})

/** An organization without its credits. */
export function presentOrganization(organization: Organization) {
  const { id, name, rateLimit, createdAt, suspendedAt, deletedAt } = organization
  return { id, name, rate_limit: rateLimit, created_at: createdAt, suspended_at: suspendedAt, deleted_at: deletedAt }
}

export const creditsSchema = v.strictObject({ organization_id: v.string(), balance: credits, granted: credits })

/** Balance and sum of grants; the difference is what was charged. */
export function presentCredits({ organizationId, balance, granted }: Credits) {
  return { organization_id: organizationId, balance, granted }
}

export const fundedOrganizationSchema = v.strictObject({
  ...organizationSchema.entries,
  balance: credits,
  granted: credits,
})

/** An organization with its credits. */
export function presentFundedOrganization(organization: Organization & Pick<Credits, 'balance' | 'granted'>) {
  const { balance, granted } = organization
  return { ...presentOrganization(organization), balance, granted }
}

export const apiKeySchema = v.strictObject({
  id: v.string(),
  name: v.string(),
  last4: v.string(),
  created_at: moment,
  expires_at: v.nullable(moment),
  revoked_at: v.nullable(moment),
  allowed_networks: v.nullable(v.array(v.string())),
  allowed_endpoints: v.nullable(v.array(v.string())),
  credits_per_day: v.nullable(whole),
})

/** A key as it may be shown again. */
export function presentKey({ id, name, last4, createdAt, expiresAt, revokedAt, limits }: ApiKey) {
  return {
    id,
    name,
    last4,
    created_at: createdAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
    allowed_networks: limits.networks,
    allowed_endpoints: limits.endpoints,
    credits_per_day: limits.creditsPerDay,
  }
}

/** A new key with its secret, which is shown this once. */
export const newApiKeySchema = v.strictObject({ ...apiKeySchema.entries, key: v.string() })

/** A new key, with the secret. */
export function presentNewKey(made: NewApiKey) {
  return { ...presentKey(made), key: made.key }
}

export const grantSchema = v.strictObject({ id: v.string(), credits, reason: v.string(), granted_at: moment })

/** A grant; below zero if credits were taken back. */
export function presentGrant({ id, credits: given, reason, grantedAt }: CreditGrant) {
  return { id, credits: given, reason, granted_at: grantedAt }
}

export const switchSchema = v.strictObject({
  kind: v.picklist(['feature', 'endpoint']),
  name: v.string(),
  on: v.boolean(),
  off_by: v.nullable(v.picklist(['environment', 'operator'])),
  off_at: v.nullable(moment),
})

/** A feature or an endpoint that can be switched off. */
export function presentSwitch({ kind, name, isOn, offBy, offAt }: Switch) {
  return { kind, name, on: isOn, off_by: offBy, off_at: offAt }
}
