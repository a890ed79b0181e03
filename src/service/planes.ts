import {
  ADMIN_PREFIX,
  DASHBOARD_PREFIX,
  operatorAccess,
  organizationAccess,
  sessionCookies,
  signIn,
} from '../account/admin/access.ts'
import type { ChainReport } from '../account/admin/chain_routes.ts'
import { adminDocument, adminRoutes } from '../account/admin/routes.ts'
import { dashboardDocument, dashboardRoutes } from '../account/dashboard/routes.ts'
import type { Database } from '../db/database.ts'
import { familyAliases } from '../family/mod.ts'
import { loggedTemplateOf } from '../http/plane/gateway.ts'
import { createLoginPlane } from '../http/plane/unmetered/login.ts'
import { createUnmeteredPlane, type Plane } from '../http/plane/unmetered/plane.ts'
import type { Route } from '../http/route.ts'
import { createRouteTable } from '../http/route_table.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Config } from './config.ts'
import { switchboardOf } from './routes.ts'

/** Planes that take no keys: where organizations act, where the operator acts, and the login of both. */
export function createPlanes(
  config: Config,
  options: {
    readonly db: Database
    readonly clock: Clock
    readonly log: Log
    readonly routes: readonly Route[]
    readonly readChains: () => Promise<readonly ChainReport[]>
  },
): { readonly callers: readonly Plane[]; readonly operator: readonly Plane[] } {
  const { publicUrl, operatorPort } = config
  const { db, clock, log, routes, readChains } = options
  const cookies = sessionCookies({ publicUrl, operatorApart: operatorPort !== undefined })
  const table = createRouteTable(routes, familyAliases(config.families))
  const board = switchboardOf(config)
  const admin = adminRoutes({ db, cookie: cookies.operator, board, readChains })
  const dashboard = dashboardRoutes({
    ...{ db, cookie: cookies.organization, board },
    templateOf: (path) => loggedTemplateOf(table, path),
  })
  const shared = { publicUrl, clock, log }
  const login = createLoginPlane({ open: signIn({ db, clock, cookies }), ...shared })
  return {
    callers: [
      login,
      createUnmeteredPlane({
        ...shared,
        prefix: DASHBOARD_PREFIX,
        routes: dashboard,
        authenticate: organizationAccess(db),
        cookie: cookies.organization,
        openapi: dashboardDocument(dashboard, { cookie: cookies.organization }),
      }),
    ],
    operator: [
      login,
      createUnmeteredPlane({
        ...shared,
        prefix: ADMIN_PREFIX,
        routes: admin,
        authenticate: operatorAccess(db, config.adminToken),
        cookie: cookies.operator,
        openapi: adminDocument(admin, { cookie: cookies.operator }),
      }),
    ],
  }
}
