import type { CodedError } from '../../lib/error.ts'
import { HttpError } from '../error.ts'
import { bearerKey } from '../request/key.ts'
import { isBodylessMethod } from '../request/target.ts'
import type { Identity } from '../route/route.ts'

/**
 * Finds out who acts, by the token or the session's two secrets that a request carries; of both, the token counts. Only a
 * session is looked up in the database.
 */
export type Authenticate = (credential: {
  readonly bearer: string | undefined
  /** Undefined unless both are there. */
  readonly session: { readonly cookie: string; readonly page: string } | undefined
}) => Promise<Identity | undefined>

/**
 * Carries the second secret of a session. Cookies know no ports: browsers send them to whatever listens on the same
 * host. What a page keeps for its origin, it sends nowhere else.
 */
export const PAGE_HEADER = 'x-session-page'

/** A session's cookie: its name, and the paths to which browsers send it. */
export interface SessionCookie {
  readonly name: string
  readonly path: string
}

const SECRET_LENGTH_MAX = 128

/**
 * Who makes this request. Throws `HttpError` INVALID_API_KEY 401 if nobody is recognised, INVALID_REQUEST 403 if a
 * session would change something for a page of another origin: browsers send cookies by themselves, a token never.
 */
export async function identify(
  request: Request,
  options: {
    readonly authenticate: Authenticate
    readonly cookie: SessionCookie
    readonly publicUrl: string | undefined
  },
): Promise<Identity> {
  const authorization = request.headers.get('authorization')
  const credential = { bearer: bearerKey(authorization), session: sessionOf(request, options.cookie.name) }
  const isStranger = authorization !== null && credential.bearer === undefined
  const identity = isStranger ? undefined : await options.authenticate(credential)
  if (identity === undefined) throw unknownIdentity()
  if (identity.by === 'session' && !isBodylessMethod(request.method)) requireSameOrigin(request, options.publicUrl)
  return identity
}

/** Throws `HttpError` INVALID_REQUEST 403 unless a page of this service sent the request. */
export function requireSameOrigin(request: Request, publicUrl: string | undefined): void {
  const origin = request.headers.get('origin')
  if (origin !== null && (isOriginOf(publicUrl, origin) || hostOf(origin) === request.headers.get('host'))) return
  throw new HttpError('INVALID_REQUEST', 'Cannot change anything for a page of another origin', { status: 403 })
}

function sessionOf(request: Request, cookieName: string) {
  const cookie = cookieOf(request, cookieName)
  const page = request.headers.get(PAGE_HEADER)
  if (cookie === undefined || page === null || page.length > SECRET_LENGTH_MAX) return undefined
  return { cookie, page }
}

/** The value of a cookie, undefined if it is absent, given twice or too long. */
function cookieOf(request: Request, name: string): string | undefined {
  const header = request.headers.get('cookie') ?? ''
  const values = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  const [value] = values
  return values.length === 1 && value !== undefined && value.length <= SECRET_LENGTH_MAX ? value : undefined
}

/** `Set-Cookie` of a session; without a value it removes the cookie. */
export function setCookie(
  { name, path }: SessionCookie,
  options: { readonly value: string | undefined; readonly secure: boolean; readonly maxAgeSec?: number },
): string {
  const { value = '', secure, maxAgeSec = 0 } = options
  const age = value === '' ? 0 : maxAgeSec
  const attributes = [`${name}=${value}`, `Path=${path}`, `Max-Age=${age}`, 'HttpOnly', 'SameSite=Strict']
  return [...attributes, ...(secure ? ['Secure'] : [])].join('; ')
}

/** True if browsers reach the service over https, so that the cookie must never travel otherwise. */
export function isSecure(request: Request, publicUrl: string | undefined): boolean {
  if (publicUrl?.startsWith('https:')) return true
  return request.headers.get('origin')?.startsWith('https:') ?? false
}

function isOriginOf(publicUrl: string | undefined, origin: string): boolean {
  return publicUrl !== undefined && new URL(publicUrl).origin === origin
}

function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1]
}

function unknownIdentity(): CodedError {
  return new HttpError('INVALID_API_KEY', 'Cannot authenticate: expected a token of the operator, or to be signed in', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}
