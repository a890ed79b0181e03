import { timingSafeEqual } from 'node:crypto'
import type { Actor } from '../account/audit.ts'
import { hashKey } from '../account/key.ts'
import { openSession, type SessionLookup } from '../account/session.ts'
import type { Database } from '../db/database.ts'
import { type Authenticate, type SessionCookie, setCookie } from '../http/plane/credential.ts'
import type { LoginLinks, OpenedSession } from '../http/plane/login.ts'
import type { Identity } from '../http/route/route.ts'
import type { Clock } from '../lib/clock.ts'

/** Path prefixes of the operator's plane and of an organization's. */
export const ADMIN_PREFIX = '/admin/v1'
export const DASHBOARD_PREFIX = '/dashboard/v1'

/**
 * Cookies of both kinds of sessions; the public address may have a path of its own. Their paths restrict them to their
 * planes.
 */
export function sessionCookies(options: {
  readonly publicUrl: string | undefined
  /** True if the operator's pages have a port of their own, outside the public address. */
  readonly operatorApart: boolean
}) {
  const base = options.publicUrl === undefined ? '' : new URL(options.publicUrl).pathname.replace(/\/$/, '')
  return {
    operator: { name: 'walletscope_operator', path: (options.operatorApart ? '' : base) + ADMIN_PREFIX },
    organization: { name: 'walletscope_session', path: base + DASHBOARD_PREFIX },
  }
}

/** Recognizes the operator by the token, if one is configured, or by a session that `walletscope login` opened. */
export function operatorAccess(lookup: SessionLookup, adminToken: string | undefined): Authenticate {
  const expected = adminToken === undefined ? undefined : Buffer.from(hashKey(adminToken))
  return async ({ bearer, session: secrets }) => {
    if (bearer !== undefined) {
      const isMatch = expected !== undefined && timingSafeEqual(expected, Buffer.from(hashKey(bearer)))
      return isMatch ? { by: 'token', sessionId: null, organizationId: null } : undefined
    }
    const session = secrets && (await lookup.findSession(secrets))
    return session?.organizationId === null ? { by: 'session', sessionId: session.id, organizationId: null } : undefined
  }
}

/** Recognizes an organization by a session that `walletscope login --org` opened; tokens are not accepted. */
export function organizationAccess(lookup: SessionLookup): Authenticate {
  return async ({ bearer, session: secrets }) => {
    if (bearer !== undefined || secrets === undefined) return undefined
    const session = await lookup.findSession(secrets)
    if (session === undefined || session.organizationId === null) return undefined
    return { by: 'session', sessionId: session.id, organizationId: session.organizationId }
  }
}

/**
 * Creates the access to login links of one port. `elsewhere` has the address of the other port for the links that this one
 * does not open: there a session has pages and a cookie.
 */
export function accessLinks(options: {
  readonly db: Database
  readonly lookup: SessionLookup
  readonly clock: Clock
  readonly cookies: ReturnType<typeof sessionCookies>
  readonly elsewhere?: { readonly operator?: string; readonly organization?: string }
}): LoginLinks {
  const { db, lookup, clock, cookies, elsewhere = {} } = options
  return {
    async find(secret) {
      const link = await lookup.findLink(secret)
      if (link === undefined) return undefined
      const isOperator = link.organizationId === null
      const account = isOperator ? 'the operator' : { organization: link.organizationName ?? '' }
      return { account, elsewhere: isOperator ? elsewhere.operator : elsewhere.organization }
    },
    async open(secret): Promise<OpenedSession | undefined> {
      const opened = await openSession(db, secret)
      if (opened === undefined) return undefined
      const isOperator = opened.organizationId === null
      return {
        secrets: { cookie: opened.cookie, page: opened.page },
        cookie: isOperator ? cookies.operator : cookies.organization,
        lifetimeSec: Math.max(1, Math.floor((opened.expiresAt.getTime() - clock.now()) / 1_000)),
        page: isOperator ? 'operator' : 'usage',
      }
    },
  }
}

/** Returns the header that makes a browser delete a session's cookie. */
export function createClearCookieHeader(cookie: SessionCookie): Readonly<Record<string, string>> {
  return { 'set-cookie': setCookie(cookie, { value: undefined, secure: false }) }
}

/** Converts an identity to an actor of the audit list. */
export function toActor({ by, sessionId, organizationId }: Identity): Actor {
  if (by === 'token') return { kind: 'token', sessionId: null }
  return { kind: organizationId === null ? 'operator session' : 'organization session', sessionId }
}
