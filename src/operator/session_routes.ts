import * as v from 'valibot'
import { createLoginLink, endSession } from '../account/session.ts'
import type { Database } from '../db/database.ts'
import type { SessionCookie } from '../http/plane/credential.ts'
import { LOGIN_PATH } from '../http/plane/login.ts'
import { dataOutput, idParameter, isoTimestamp } from '../http/request/schema.ts'
import { defineRoute, type FreeRoute } from '../http/route/route.ts'
import { ADMIN_PREFIX, createClearCookieHeader, toActor } from './access.ts'

/** Routes for the caller's own session: read it, end it. */
export function sessionRoutes(options: {
  readonly db: Database
  readonly base: string
  readonly cookie: SessionCookie
}): readonly FreeRoute[] {
  const { db, base, cookie } = options
  const read = defineRoute({
    method: 'GET',
    path: `${base}/session`,
    summary: 'Who is signed in.',
    input: v.object({}),
    output: dataOutput(
      v.strictObject({ by: v.picklist(['token', 'session']), organization_id: v.nullable(v.string()) }),
    ),
    async act(_input, { identity: { by, organizationId } }) {
      return { data: { by, organization_id: organizationId } }
    },
  })
  const end = defineRoute({
    method: 'DELETE',
    path: `${base}/session`,
    summary: 'Sign out: the session ends.',
    input: v.object({}),
    output: dataOutput(v.strictObject({ ended: v.boolean() })),
    async act(_input, { identity }) {
      const { sessionId } = identity
      if (sessionId === null) return { data: { ended: false } }
      await endSession(db, { id: sessionId, by: toActor(identity) })
      return { data: { ended: true }, headers: createClearCookieHeader(cookie) }
    },
  })
  return [read, end]
}

/** Converts a request's URL to the base of links of organizations; undefined if it is the base of that URL. */
export type ToOrganizationBase = (url: URL) => string | undefined

/** Route that creates login links: for an organization, or for another browser of the operator. */
export function loginLinkRoute(db: Database, toOrganizationBase: ToOrganizationBase): FreeRoute {
  return defineRoute({
    method: 'POST',
    path: `${ADMIN_PREFIX}/login-links`,
    summary: 'Create a link that signs in once, within 15 minutes: for an organization, or for the operator.',
    status: 201,
    input: v.object({}),
    body: v.strictObject({ organization_id: v.optional(idParameter) }),
    output: dataOutput(
      v.strictObject({
        path: v.string(),
        url: v.pipe(
          v.nullable(v.string()),
          v.description('Address at which the link works; null: `path` at the address of this request.'),
        ),
        organization_id: v.nullable(v.string()),
        expires_at: isoTimestamp,
      }),
    ),
    errors: [404],
    async act({ organization_id: organizationId = null }, { identity, url }) {
      const { secret, expiresAt } = await createLoginLink(db, { organizationId, by: toActor(identity) })
      const path = `${LOGIN_PATH}?${secret}`
      const base = organizationId === null ? undefined : toOrganizationBase(url)
      return {
        data: {
          path,
          url: base === undefined ? null : base + path,
          organization_id: organizationId,
          expires_at: expiresAt,
        },
      }
    },
  })
}
