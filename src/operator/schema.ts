import * as v from 'valibot'
import { integerString as credits, isoTimestamp } from '../http/request/schema.ts'
import { nonNegativeInteger } from '../lib/text/text_format.ts'

/* Schemas of account data, as its tables store it, in answers of the planes and of the command line. */

export const organizationSchema = v.strictObject({
  id: v.string(),
  name: v.string(),
  rate_limit: nonNegativeInteger,
  trigger_limit: nonNegativeInteger,
  created_at: isoTimestamp,
  suspended_at: v.nullable(isoTimestamp),
  deleted_at: v.nullable(isoTimestamp),
})

export const creditsSchema = v.strictObject({ organization_id: v.string(), balance: credits, granted: credits })

export const fundedOrganizationSchema = v.strictObject({
  ...organizationSchema.entries,
  balance: credits,
  granted: credits,
})

export const apiKeySchema = v.strictObject({
  id: v.string(),
  name: v.string(),
  last4: v.string(),
  created_at: isoTimestamp,
  expires_at: v.nullable(isoTimestamp),
  revoked_at: v.nullable(isoTimestamp),
  allowed_networks: v.nullable(v.array(v.string())),
  allowed_endpoints: v.nullable(v.array(v.string())),
  credits_per_day: v.nullable(nonNegativeInteger),
})

/** A new key with its secret, which is shown only once. */
export const newApiKeySchema = v.strictObject({ ...apiKeySchema.entries, key: v.string() })

export const grantSchema = v.strictObject({ id: v.string(), credits, reason: v.string(), granted_at: isoTimestamp })

export const switchSchema = v.strictObject({
  kind: v.picklist(['feature', 'endpoint']),
  name: v.string(),
  on: v.boolean(),
  off_by: v.nullable(v.picklist(['environment', 'operator'])),
  off_at: v.nullable(isoTimestamp),
})
