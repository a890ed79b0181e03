import type { Database } from '../../db/database.ts'
import type { SessionCookie } from '../../http/plane/credential.ts'
import { planeDocument } from '../../http/plane/document.ts'
import { ADMIN_PREFIX } from '../access.ts'
import { keyRoutes } from '../key_routes.ts'
import { operatorUsageRoute } from '../organization/usage_routes.ts'
import { loginLinkRoute, sessionRoutes, type ToOrganizationBase } from '../session_routes.ts'
import type { Switchboard } from '../switches.ts'
import { grantRoutes } from './grant_routes.ts'
import { organizationRoutes } from './organization_routes.ts'
import { type ReportReaders, reportRoutes } from './report_routes.ts'
import { settingRoutes } from './setting_routes.ts'

const DESCRIPTION =
  'What an operator does: organizations, their keys and credits, switches, the audit list. Each change is in that list.'

/**
 * The plane `/admin/v1`, for the bearer of the token or an operator's session: its routes and their OpenAPI document.
 */
export function adminPlane({
  db,
  cookie,
  toOrganizationBase,
  board,
  ...readers
}: ReportReaders & {
  readonly db: Database
  readonly cookie: SessionCookie
  readonly toOrganizationBase: ToOrganizationBase
  readonly board: Switchboard
}) {
  const prefix = ADMIN_PREFIX
  const routes = [
    ...organizationRoutes(db),
    ...keyRoutes({ db, base: prefix, board, owner: 'path' }),
    ...grantRoutes(db),
    ...settingRoutes(db, board),
    ...reportRoutes(readers),
    ...sessionRoutes({ db, base: prefix, cookie }),
    loginLinkRoute(db, toOrganizationBase),
    operatorUsageRoute(db),
  ]
  const openapi = planeDocument({
    title: 'walletscope: the operator',
    description: DESCRIPTION,
    routes,
    cookie: cookie.name,
    takesToken: true,
  })
  return { prefix, routes, cookie, openapi }
}
