import type { CodedError } from '../../lib/error.ts'
import { HttpError } from '../error.ts'
import { bearerKey } from '../request/key.ts'
import { isBodylessMethod } from '../request/target.ts'
import type { Identity } from '../route/route.ts'

/**
 * Identifies the sender by the token or the session's two secrets in a request; with both, the token counts. Only a
 * session is looked up in the database.
 */
export type Authenticate = (credential: {
  readonly bearer: string | undefined
  /** Undefined unless both secrets are present. */
  readonly session: { readonly cookie: string; readonly page: string } | undefined
}) => Promise<Identity | undefined>

/**
 * Header of the second secret of a session. Cookies ignore ports: browsers send them to every server of the same host.
 * Session storage is bound to the origin with its port.
 */
export const PAGE_HEADER = 'x-session-page'

/** A session's cookie: its name, and the paths to which browsers send it. */
export interface SessionCookie {
  readonly name: string
  readonly path: string
}

const SECRET_LENGTH_MAX = 128

/**
 * Identifies the sender of a request. Throws `HttpError` INVALID_API_KEY 401 without a valid credential,
 * INVALID_REQUEST 403 if a session would change something for a page of another origin: browsers send cookies by
 * themselves, but no tokens.
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
  const credential = { bearer: bearerKey(authorization), session: readSession(request, options.cookie.name) }
  const isMalformed = authorization !== null && credential.bearer === undefined
  const identity = isMalformed ? undefined : await options.authenticate(credential)
  if (identity === undefined) throw unknownIdentityError()
  if (identity.by === 'session' && !isBodylessMethod(request.method)) requireSameOrigin(request, options.publicUrl)
  return identity
}

/** Throws `HttpError` INVALID_REQUEST 403 unless a page of this service sent the request. */
export function requireSameOrigin(request: Request, publicUrl: string | undefined): void {
  const origin = request.headers.get('origin')
  if (origin !== null && (isOrigin(publicUrl, origin) || parseHost(origin) === request.headers.get('host'))) return
  throw new HttpError('INVALID_REQUEST', 'Cannot change anything for a page of another origin', { status: 403 })
}

function readSession(request: Request, cookieName: string) {
  const cookie = readCookie(request, cookieName)
  const page = request.headers.get(PAGE_HEADER)
  if (cookie === undefined || page === null || page.length > SECRET_LENGTH_MAX) return undefined
  return { cookie, page }
}

/** Reads the value of a cookie; undefined if it is absent, repeated or too long. */
function readCookie(request: Request, name: string): string | undefined {
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

/** True if browsers reach the service over https, so that the cookie must be sent over https only. */
export function isSecure(request: Request, publicUrl: string | undefined): boolean {
  if (publicUrl?.startsWith('https:')) return true
  return request.headers.get('origin')?.startsWith('https:') ?? false
}

function isOrigin(publicUrl: string | undefined, origin: string): boolean {
  return publicUrl !== undefined && new URL(publicUrl).origin === origin
}

function parseHost(origin: string): string | undefined {
  return /^https?:\/\/([^/]+)$/.exec(origin)?.[1]
}

function unknownIdentityError(): CodedError {
  return new HttpError('INVALID_API_KEY', 'Cannot authenticate: expected an operator token or a session', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}
