import type { Database } from '../../db/database.ts'
import type { SessionCookie } from '../../http/plane/unmetered/credential.ts'
import { planeDocument } from '../../http/plane/unmetered/document.ts'
import type { ActRoute } from '../../http/plane/unmetered/route.ts'
import { operatorUsageRoutes } from '../dashboard/usage_routes.ts'
import { ADMIN_PREFIX } from './access.ts'
import { type ChainReport, chainRoutes } from './chain_routes.ts'
import { grantRoutes } from './grant_routes.ts'
import { type HistoryReport, historyRoutes } from './history_routes.ts'
import { keyRoutes } from './key_routes.ts'
import { organizationRoutes } from './organization_routes.ts'
import { loginLinkRoutes, sessionRoutes } from './session_routes.ts'
import { settingRoutes } from './setting_routes.ts'
import type { Switchboard } from './switches.ts'

const DESCRIPTION =
  'What an operator does: organizations, their keys and credits, switches, the audit list. Each change is in that list.'

/** All routes of `/admin/v1`, for the bearer of the token or an operator's session. */
export function adminRoutes(options: {
  readonly db: Database
  readonly cookie: SessionCookie
  readonly board: Switchboard
  readonly readChains: () => Promise<readonly ChainReport[]>
  readonly readHistories: () => Promise<readonly HistoryReport[]>
}): readonly ActRoute[] {
  const { db, cookie, board, readChains, readHistories } = options
  const base = ADMIN_PREFIX
  return [
    ...organizationRoutes(db, base),
    ...keyRoutes({ db, base, board, owner: 'path' }),
    ...grantRoutes(db, base),
    ...settingRoutes({ db, base, board }),
    ...chainRoutes(base, readChains),
    ...historyRoutes(base, readHistories),
    ...sessionRoutes({ db, base, cookie }),
    ...loginLinkRoutes(db, base),
    ...operatorUsageRoutes(db, base),
  ]
}

/** The OpenAPI document of `/admin/v1`. */
export function adminDocument(routes: readonly ActRoute[], options: { readonly cookie: SessionCookie }): string {
  return planeDocument({
    title: 'walletscope: the operator',
    description: DESCRIPTION,
    version: '1.0.0',
    routes,
    cookie: options.cookie.name,
    takesToken: true,
  })
}
