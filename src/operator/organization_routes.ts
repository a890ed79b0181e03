import * as v from 'valibot'
import { readOrganization } from '../account/organization.ts'
import { logPage } from '../account/routes.ts'
import type { Database } from '../db/database.ts'
import type { SessionCookie } from '../http/plane/credential.ts'
import { planeDocument } from '../http/plane/document.ts'
import { getSignedInOrganization } from '../http/plane/signed_in.ts'
import { dataOutput, integerString } from '../http/request/schema.ts'
import { defineRoute, type FreeRoute } from '../http/route/route.ts'
import { DASHBOARD_PREFIX } from './access.ts'
import { keyRoutes } from './key_routes.ts'
import { fundedOrganizationSchema } from './schema.ts'
import { sessionRoutes } from './session_routes.ts'
import type { Switchboard } from './switches.ts'
import { organizationUsageRoutes, readBurn } from './usage_routes.ts'

const DESCRIPTION =
  'What an organization sees and does in the browser: credits, requests, log, keys, triggers and webhooks. Nothing here ' +
  'is charged.'
/** Days, today included, whose average spending estimates how long the balance lasts. */
const PACE_DAYS = 7
const DAY_MS = 86_400_000

const overviewSchema = v.strictObject({
  ...fundedOrganizationSchema.entries,
  burn: v.array(v.strictObject({ day: v.string(), requests: integerString, credits: integerString })),
  days_left: v.nullable(integerString),
})

/** The plane `/dashboard/v1`, for the session of an organization: its routes and their OpenAPI document. */
export function dashboardPlane(options: {
  readonly db: Database
  readonly cookie: SessionCookie
  readonly board: Switchboard
  /** Returns the path under which the log counts a path; undefined for a path without an endpoint. */
  readonly getTemplate: (path: string) => string | undefined
  /** Routes of other parts for an organization. */
  readonly additionalRoutes: readonly FreeRoute[]
}) {
  const { db, cookie, board, getTemplate, additionalRoutes } = options
  const prefix = DASHBOARD_PREFIX
  const overview = defineRoute({
    method: 'GET',
    path: `${prefix}/organization`,
    summary:
      'The organization, its credits, what it spent on each of the last 30 days, and how long the balance lasts.',
    input: v.object({}),
    output: dataOutput(overviewSchema),
    async act(_input, { identity, nowMs }) {
      const organizationId = getSignedInOrganization(identity)
      const [organization, burn] = await Promise.all([
        readOrganization(db, organizationId),
        readBurn(db, { organizationId, nowMs }),
      ])
      const since = (Math.floor(nowMs / DAY_MS) - PACE_DAYS + 1) * DAY_MS
      const spent = burn.reduce((sum, { day, credits: each }) => (day.getTime() < since ? sum : sum + each), 0n)
      return {
        data: {
          ...organization,
          burn: burn.map((each) => ({ ...each, day: each.day.toISOString().slice(0, 10) })),
          days_left: spent > 0n ? (BigInt(organization.balance) * BigInt(PACE_DAYS)) / spent : null,
        },
      }
    },
  })
  const logs = defineRoute({
    method: 'GET',
    path: `${prefix}/logs`,
    summary: 'The log with its filters, newest first: the same as GET /v1/usage/logs, free of charge.',
    input: logPage.input,
    output: logPage.output,
    async act(input, { identity, nowMs, url }) {
      const page = await logPage.read(db, input, {
        organizationId: getSignedInOrganization(identity),
        requestedAtMs: nowMs,
        getTemplate,
      })
      return logPage.present(page, input, url)
    },
  })
  const routes = [
    overview,
    ...organizationUsageRoutes(db),
    logs,
    ...keyRoutes({ db, base: prefix, board, owner: 'session' }),
    ...additionalRoutes,
    ...sessionRoutes({ db, base: prefix, cookie }),
  ]
  const openapi = () =>
    planeDocument({
      title: 'walletscope: an organization',
      description: DESCRIPTION,
      routes,
      cookie: cookie.name,
      takesToken: false,
    })
  return { prefix, routes, cookie, openapi }
}
