import { createChangeClaims } from '../account/gate/idempotency.ts'
import { createSessionLookup } from '../account/session.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../db/database.ts'
import { refuseToConnect } from '../family/contract.ts'
import { familyAliases } from '../family/mod.ts'
import { createLoginPlane } from '../http/plane/login.ts'
import { createUnmeteredPlane, type Plane } from '../http/plane/plane.ts'
import type { Route } from '../http/route/route.ts'
import { createRouteTable } from '../http/route/route_table.ts'
import type { Clock } from '../lib/clock.ts'
import {
  accessLinks,
  DASHBOARD_PREFIX,
  operatorAccess,
  organizationAccess,
  sessionCookies,
} from '../operator/access.ts'
import { adminPlane } from '../operator/admin_routes.ts'
import { dashboardPlane } from '../operator/organization_routes.ts'
import { createHistoryReports } from '../operator/report.ts'
import type { ChainReport } from '../operator/report_routes.ts'
import { readTriggerReport } from '../trigger/report.ts'
import { getLoggedPath } from '../trigger/routes/logged_path.ts'
import { signedInTriggerRoutes } from '../trigger/routes/signed_in.ts'
import { createServiceRoutes, createSwitchboard } from './routes.ts'

interface PlaneServices {
  readonly db: Database
  readonly clock: Clock
  /** The callers' routes, whose usage is shown and which can be switched off. */
  readonly routes: readonly Route[]
  readonly readChains: () => Promise<readonly ChainReport[]>
}

/** Creates the planes without API keys: for organizations, for the operator, and the login of both. */
export function createPlanes(
  config: Config,
  options: PlaneServices,
): { readonly callers: readonly Plane[]; readonly operator: readonly Plane[] } {
  const { publicUrl, port, operatorPort, adminToken } = config
  const { db, clock } = options
  const { admin, dashboard, cookies } = createPlaneParts(config, options)
  const shared = { publicUrl, clock }
  const unmetered = { ...shared, claims: createChangeClaims(db) }
  const lookup = createSessionLookup({ db, clock })
  const createLogin = (elsewhere: { readonly operator?: string; readonly organization?: string }) =>
    createLoginPlane({ links: accessLinks({ db, lookup, clock, cookies, elsewhere }), ...shared })
  // Sessions work on the port that has their pages.
  const isApart = operatorPort !== undefined
  return {
    callers: [
      createLogin(isApart ? { operator: `port ${operatorPort}` } : {}),
      createUnmeteredPlane({ ...unmetered, ...dashboard, authenticate: organizationAccess(lookup) }),
    ],
    operator: [
      createLogin(isApart ? { organization: publicUrl ?? `port ${port}` } : {}),
      createUnmeteredPlane({ ...unmetered, ...admin, authenticate: operatorAccess(lookup, adminToken) }),
    ],
  }
}

/** Returns the OpenAPI documents of both planes, without connecting. */
export function describePlanes(config: Config): { readonly operator: string; readonly organization: string } {
  const { admin, dashboard } = createPlaneParts(config, {
    db: { run: refuseToConnect, close: refuseToConnect },
    routes: createServiceRoutes(config, refuseToConnect),
    readChains: refuseToConnect,
  })
  return { operator: admin.openapi(), organization: dashboard.openapi() }
}

function createPlaneParts(
  config: Config,
  { db, routes, readChains }: Pick<PlaneServices, 'db' | 'routes' | 'readChains'>,
) {
  const { publicUrl, operatorPort, featuresOff } = config
  const hasTriggers = !featuresOff.includes('triggers')
  const cookies = sessionCookies({ publicUrl, operatorApart: operatorPort !== undefined })
  const table = createRouteTable(routes, familyAliases(config.families))
  const board = createSwitchboard(config, routes)
  const readHistories = createHistoryReports(db)
  const readTriggers = hasTriggers ? () => readTriggerReport(db) : undefined
  return {
    cookies,
    admin: adminPlane({
      db,
      cookie: cookies.operator,
      toOrganizationBase: (url) => toOrganizationBase(config, url),
      board,
      readChains,
      readHistories,
      readTriggers,
    }),
    dashboard: dashboardPlane({
      db,
      cookie: cookies.organization,
      board,
      getTemplate: (path) => getLoggedPath(table, path),
      additionalRoutes: hasTriggers ? signedInTriggerRoutes(routes, { db, prefix: DASHBOARD_PREFIX }) : [],
    }),
  }
}

/**
 * Returns the base of an organization's login links that the operator's pages show: the public address, or the callers'
 * port of the same host; undefined if it is the address of those pages.
 */
export function toOrganizationBase(
  { publicUrl, port, operatorPort }: Pick<Config, 'publicUrl' | 'port' | 'operatorPort'>,
  { hostname }: URL,
): string | undefined {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  return operatorPort === undefined ? undefined : `http://${hostname}:${port}`
}
