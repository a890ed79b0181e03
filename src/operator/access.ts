import { timingSafeEqual } from 'node:crypto'
import type { Actor } from '../account/audit.ts'
import { hashKey } from '../account/key.ts'
import { findSession, openSession } from '../account/session.ts'
import type { Database } from '../db/database.ts'
import { type Authenticate, type SessionCookie, setCookie } from '../http/plane/credential.ts'
import type { OpenedSession } from '../http/plane/login.ts'
import type { Identity } from '../http/route/route.ts'
import type { Clock } from '../lib/clock.ts'

/** Where the operator acts, and where an organization does. */
export const ADMIN_PREFIX = '/admin/v1'
export const DASHBOARD_PREFIX = '/dashboard/v1'

/**
 * Cookies of both kinds of sessions, of a service whose public address may have a path of its own. Their paths keep them
 * away from everything else.
 */
export function sessionCookies(options: {
  readonly publicUrl: string | undefined
  /** True if the operator has a port, which the public address does not lead to. */
  readonly operatorApart: boolean
}) {
  const base = options.publicUrl === undefined ? '' : new URL(options.publicUrl).pathname.replace(/\/$/, '')
  return {
    operator: { name: 'walletscope_operator', path: (options.operatorApart ? '' : base) + ADMIN_PREFIX },
    organization: { name: 'walletscope_session', path: base + DASHBOARD_PREFIX },
  }
}

/** Recognises the operator: by the token, if there is one, or by a session that `walletscope login` opened. */
export function operatorAccess(db: Database, adminToken: string | undefined): Authenticate {
  const expected = adminToken === undefined ? undefined : Buffer.from(hashKey(adminToken))
  return async ({ bearer, session: secrets }) => {
    if (bearer !== undefined) {
      const isRight = expected !== undefined && timingSafeEqual(expected, Buffer.from(hashKey(bearer)))
      return isRight ? { by: 'token', sessionId: null, organizationId: null } : undefined
    }
    const session = secrets && (await findSession(db, secrets))
    return session?.organizationId === null ? { by: 'session', sessionId: session.id, organizationId: null } : undefined
  }
}

/** Recognises an organization by a session that `walletscope login --org` opened; no token is taken. */
export function organizationAccess(db: Database): Authenticate {
  return async ({ bearer, session: secrets }) => {
    if (bearer !== undefined || secrets === undefined) return undefined
    const session = await findSession(db, secrets)
    if (session === undefined || session.organizationId === null) return undefined
    return { by: 'session', sessionId: session.id, organizationId: session.organizationId }
  }
}

/** Uses up a login link, for the page that it leads to. */
export function signIn(options: {
  readonly db: Database
  readonly clock: Clock
  readonly cookies: ReturnType<typeof sessionCookies>
}): (secret: string) => Promise<OpenedSession | undefined> {
  const { db, clock, cookies } = options
  return async (secret) => {
    const opened = await openSession(db, secret)
    if (opened === undefined) return undefined
    const isOperator = opened.organizationId === null
    return {
      secrets: { cookie: opened.cookie, page: opened.page },
      cookie: isOperator ? cookies.operator : cookies.organization,
      lifetimeSec: Math.max(1, Math.floor((opened.expiresAt.getTime() - clock.now()) / 1_000)),
      page: isOperator ? 'operator' : 'usage',
    }
  }
}

/** Header that makes a browser forget a session. */
export function createClearCookieHeader(cookie: SessionCookie): Readonly<Record<string, string>> {
  return { 'set-cookie': setCookie(cookie, { value: undefined, secure: false }) }
}

/** Who acts, for the audit list. */
export function toActor({ by, sessionId, organizationId }: Identity): Actor {
  if (by === 'token') return { kind: 'token', sessionId: null }
  return { kind: organizationId === null ? 'operator session' : 'organization session', sessionId }
}
