import * as v from 'valibot'
import { readOrganization } from '../account/organization.ts'
import type { Database } from '../db/database.ts'
import { getSignedInOrganization } from '../http/plane/signed_in.ts'
import { choice } from '../http/request/input.ts'
import { dataOutput, idParameter, integerString, isoTimestamp } from '../http/request/schema.ts'
import { defineRoute, type FreeRoute } from '../http/route/route.ts'
import { nonNegativeInteger } from '../lib/text/text_format.ts'
import { ADMIN_PREFIX, DASHBOARD_PREFIX } from './access.ts'
import { readLatency, readUsage, USAGE_DIMENSIONS, USAGE_RANGES } from './usage.ts'

const range = v.optional(choice(USAGE_RANGES), '24h')

const usageSchema = v.strictObject({
  from: isoTimestamp,
  // Exclusive; the range includes the current hour or day.
  to: isoTimestamp,
  step: v.picklist(['hour', 'day']),
  by: v.picklist(USAGE_DIMENSIONS),
  // By hour or day: path, id of the key or organization, or status as text; '' for all paths without an endpoint.
  rows: v.array(v.strictObject({ at: isoTimestamp, name: v.string(), requests: integerString })),
  // True if the oldest rows are left out.
  is_cut: v.boolean(),
})

const latencySchema = v.array(
  v.strictObject({
    path: v.string(),
    requests: nonNegativeInteger,
    p50_ms: nonNegativeInteger,
    p90_ms: nonNegativeInteger,
    p99_ms: nonNegativeInteger,
    max_ms: nonNegativeInteger,
  }),
)

/** Routes for the usage of the signed-in organization: requests over time, and their latency. */
export function organizationUsageRoutes(db: Database): readonly FreeRoute[] {
  const usage = defineRoute({
    method: 'GET',
    path: `${DASHBOARD_PREFIX}/usage`,
    summary: 'Requests over time, newest first, by endpoint, key or status: by hour up to 7d, by day beyond.',
    input: v.object({ range, by: v.optional(choice(['path', 'key', 'status']), 'path') }),
    output: dataOutput(usageSchema),
    async act({ range: usageRange, by }, { identity: { organizationId }, nowMs }) {
      return { data: await readUsage(db, { organizationId, range: usageRange, by, nowMs }) }
    },
  })
  const latency = defineRoute({
    method: 'GET',
    path: `${DASHBOARD_PREFIX}/latency`,
    summary: 'How long requests took, by endpoint, of the newest 20,000 of the range.',
    input: v.object({ range }),
    output: dataOutput(latencySchema),
    async act({ range: usageRange }, { identity, nowMs }) {
      return {
        data: await readLatency(db, { organizationId: getSignedInOrganization(identity), range: usageRange, nowMs }),
      }
    },
  })
  return [usage, latency]
}

/** Route for the usage of one organization or of all, for the operator. */
export function operatorUsageRoute(db: Database): FreeRoute {
  return defineRoute({
    method: 'GET',
    path: `${ADMIN_PREFIX}/usage`,
    summary: 'Requests of one organization or of all over time, newest first: by hour up to 7d, by day beyond.',
    input: v.object({
      range,
      by: v.optional(choice(USAGE_DIMENSIONS), 'organization'),
      organization_id: v.optional(idParameter),
    }),
    output: dataOutput(usageSchema),
    errors: [404],
    async act({ range: usageRange, by, organization_id: organizationId = null }, { nowMs }) {
      if (organizationId !== null) await readOrganization(db, organizationId)
      return { data: await readUsage(db, { organizationId, range: usageRange, by, nowMs }) }
    },
  })
}
