import * as v from 'valibot'
import { requestLogLatency, requestRollupCredits, requestRollupList } from '../../sql/queries.ts'
import { readOrganization } from '../account/organization.ts'
import type { Database } from '../db/database.ts'
import { getSignedInOrganization } from '../http/plane/signed_in.ts'
import { choice } from '../http/request/input.ts'
import { dataOutput, idParameter, integerString, isoTimestamp } from '../http/request/schema.ts'
import { defineRoute, type FreeRoute } from '../http/route/route.ts'
import { nonNegativeInteger } from '../lib/text/text_format.ts'
import { ADMIN_PREFIX, DASHBOARD_PREFIX } from './access.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

const USAGE_RANGES = ['24h', '7d', '30d', '90d'] as const
type UsageRange = (typeof USAGE_RANGES)[number]
const RANGE_HOURS: Readonly<Record<UsageRange, number>> = { '24h': 24, '7d': 168, '30d': 720, '90d': 2_160 }
/** Longer ranges are counted by day. */
const HOURLY_MAX = 168

const USAGE_DIMENSIONS = ['path', 'key', 'status', 'organization'] as const
type UsageDimension = (typeof USAGE_DIMENSIONS)[number]

/** Most rows of one answer; the oldest beyond them are left out. */
const ROWS_MAX = 5_000
/** Number of the newest requests of a range from which percentiles are computed. */
const LATENCIES_MAX = 20_000
const BURN_DAYS = 30

/** Reads the requests of one organization, or of all for null, over time; at most two seconds old. */
export async function readUsage(
  db: Database,
  options: {
    readonly organizationId: string | null
    readonly range: UsageRange
    readonly by: UsageDimension
    readonly nowMs: number
  },
) {
  const { organizationId, by, nowMs } = options
  const hours = RANGE_HOURS[options.range]
  const step = hours > HOURLY_MAX ? 24 : 1
  const stepMs = step * HOUR_MS
  const toHour = (Math.floor(nowMs / stepMs) + 1) * step
  const fromHour = toHour - hours
  const rows = await requestRollupList(db, {
    organizationId,
    fromHour,
    toHour,
    stepHours: step,
    byPath: by === 'path',
    byKey: by === 'key',
    byStatus: by === 'status',
    byOrganization: by === 'organization',
    max: ROWS_MAX + 1,
  })
  return {
    from: new Date(fromHour * HOUR_MS),
    to: new Date(toHour * HOUR_MS),
    step: step === 1 ? 'hour' : 'day',
    by,
    rows: rows.slice(0, ROWS_MAX).map((row) => ({
      at: new Date(Number(row.hour) * HOUR_MS),
      name: row.organization_id ?? row.path ?? row.api_key_id ?? String(row.status),
      requests: BigInt(row.requests),
    })),
    is_cut: rows.length > ROWS_MAX,
  }
}

/** Reads the credits charged over the last 30 days, newest first, without empty days; at most two seconds old. */
export async function readBurn(
  db: Database,
  { organizationId, nowMs }: { readonly organizationId: string; readonly nowMs: number },
) {
  const today = Math.floor(nowMs / DAY_MS)
  const rows = await requestRollupCredits(db, { organizationId, fromDay: today - BURN_DAYS + 1, max: BURN_DAYS })
  return rows.map((row) => ({
    day: new Date(row.day * DAY_MS),
    requests: BigInt(row.requests),
    credits: BigInt(row.credits),
  }))
}

/**
 * Reads latency percentiles of an organization's requests by endpoint, '' for all paths without an endpoint: of the
 * newest 20,000 of a range, with their number.
 */
function readLatency(
  db: Database,
  options: { readonly organizationId: string; readonly range: UsageRange; readonly nowMs: number },
) {
  const { organizationId, range, nowMs } = options
  const fromMs = nowMs - RANGE_HOURS[range] * HOUR_MS
  return requestLogLatency(db, { organizationId, fromMs, toMs: nowMs + 1, max: LATENCIES_MAX })
}

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
