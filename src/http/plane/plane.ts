import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import { HttpError, toHttpFailure } from '../error.ts'
import { limitConcurrencyByOwner } from '../exchange/concurrency.ts'
import {
  type ClaimResult,
  type IdempotencyClaim,
  supersededError,
  toIdempotencyClaim,
} from '../exchange/idempotency.ts'
import { answerNonEndpoint } from '../exchange/refusal.ts'
import { PLANE_CALLER_CONCURRENCY_MAX } from '../limits.ts'
import { createLazyPage } from '../page/lazy.ts'
import { CACHE_REVALIDATE, createCompressedPage } from '../page/static.ts'
import { readJson } from '../request/body.ts'
import { readParameters } from '../request/parameters.ts'
import { createPathSuggester } from '../request/suggest_path.ts'
import { isBodylessMethod } from '../request/target.ts'
import { type PreparedAnswer, successAnswer } from '../respond.ts'
import type { FreeRoute, Reply } from '../route/route.ts'
import { createRouteTable, type RouteMatch } from '../route/route_table.ts'
import { type Authenticate, identify, type SessionCookie } from './credential.ts'

/** One request to a plane. */
export interface PlaneRequest {
  readonly request: Request
  readonly requestId: string
  readonly method: string
  /** Not decoded. */
  readonly path: string
  /** Query without `?`, not decoded. */
  readonly query: string
  /** Prefix of absolute links. */
  readonly base: string
  readonly fault: CodedError | undefined
  /** The `Idempotency-Key` header, and a unique id of the request. */
  readonly idempotency?: { readonly key: string; readonly settlementId: string } | undefined
}

/** A method and a path, parameters in braces. */
export interface Endpoint {
  readonly method: string
  readonly path: string
}

/** A part of the service that takes no API keys and charges nothing. */
export interface Plane {
  /** The plane answers this path, and all that begin with it and a slash. */
  readonly prefix: string
  /** True if the plane takes an `Idempotency-Key` for changes. */
  readonly takesIdempotencyKey: boolean
  /** Every method and path that it answers, parameters in braces. */
  readonly endpoints: readonly Endpoint[]
  /** Finds a request's route, a template or one of a few words, for metrics, and its answer, which may throw. */
  find(planeRequest: PlaneRequest): { readonly route: string; answer(): Promise<PreparedAnswer> }
}

/**
 * Creates a plane of routes behind a token or a session. `openapi`, its description, is public, and made by the first
 * request for it.
 */
export function createUnmeteredPlane(options: {
  readonly prefix: string
  readonly routes: readonly FreeRoute[]
  readonly authenticate: Authenticate
  readonly cookie: SessionCookie
  readonly publicUrl: string | undefined
  readonly openapi: () => string
  readonly clock: Clock
  readonly claims: ChangeClaims
}): Plane {
  const { prefix, clock } = options
  const table = createRouteTable<FreeRoute>(options.routes, new Map())
  const openapiPath = `${prefix}/openapi.json`
  const document = createLazyPage(() => createCompressedPage(options.openapi(), { 'cache-control': CACHE_REVALIDATE }))
  // Each caller has slots of its own, so that one cannot block another.
  const limitByCaller = limitConcurrencyByOwner(PLANE_CALLER_CONCURRENCY_MAX)
  const suggest = createPathSuggester(table.endpoints.map(({ template }) => template))

  async function work(planeRequest: PlaneRequest, match: RouteMatch<FreeRoute>): Promise<PreparedAnswer> {
    const { request, requestId, method, path, fault } = planeRequest
    if (fault !== undefined) throw fault
    // Preflights carry no credential, and reveal only the methods.
    if (match.kind === 'other_method' && method === 'OPTIONS') return answerNonEndpoint(match, method)
    const identity = await identify(request, options)
    if (match.kind === 'unknown')
      return answerNonEndpoint({ ...match, nearest: suggest(path), docsPath: openapiPath }, method)
    if (match.kind !== 'endpoint') return answerNonEndpoint(match, method)
    const { route } = match.endpoint
    const { params } = match
    let bytes: Buffer | undefined
    const reply = await limitByCaller(identity.organizationId ?? identity.by, async () => {
      const act = await route.accept({
        parameters: () => readParameters(route.input, { params, query: planeRequest.query }),
        body: async () => {
          const body = await readJson(request, clock)
          bytes = body.bytes
          return body
        },
      })
      const change = () => act({ identity, clock, nowMs: clock.now(), url: toUrl(planeRequest) })
      if (planeRequest.idempotency === undefined) return change()
      const { key, settlementId } = planeRequest.idempotency
      const organizationId = identity.organizationId ?? OPERATOR
      const { query } = planeRequest
      return changeOnce(
        options.claims,
        toIdempotencyClaim(key, { method, path, query, body: bytes }, { organizationId, settlementId }),
        change,
      )
    })
    return { ...successAnswer(formatBody(reply, requestId)), status: route.status ?? 200, headers: reply.headers ?? {} }
  }

  return {
    prefix,
    takesIdempotencyKey: true,
    endpoints: [
      { method: 'GET', path: openapiPath },
      ...table.endpoints.map(({ route: { method }, template: path }) => ({ method, path })),
    ],
    find(planeRequest) {
      const { request, requestId, method, path, fault } = planeRequest
      if (fault === undefined && path === openapiPath && isBodylessMethod(method)) {
        return { route: `GET ${openapiPath}`, answer: async () => document(requestId, request) }
      }
      const match = table.find(method, path)
      return {
        route: match.kind === 'endpoint' ? match.endpoint.name : match.kind,
        answer: () => work(planeRequest, match),
      }
    },
  }
}

/** Owner of the operator's idempotency keys, unlike any id of an organization. */
const OPERATOR = 'operator'

/** Finds the plane of a path, if any. */
export function findPlane(planes: readonly Plane[], path: string): Plane | undefined {
  for (const plane of planes) {
    const { prefix } = plane
    if (path.startsWith(prefix) && (path.length === prefix.length || path.startsWith('/', prefix.length))) return plane
  }
  return undefined
}

function toUrl({ base, path, query }: PlaneRequest): URL {
  return new URL(query === '' ? `${base}${path}` : `${base}${path}?${query}`)
}

function formatBody({ data, pagination }: Reply, requestId: string): string {
  return JSON.stringify({ data, pagination, request_id: requestId }, (_key, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}

/**
 * Idempotency keys of changes. A claim without an outcome lasts as long as a finished one: whether the change was made is
 * then unknown, and a repetition could make it twice.
 */
export interface ChangeClaims {
  claim(claim: IdempotencyClaim): Promise<ClaimResult>
  /** Records that the change was made. */
  finish(settlementId: string): Promise<void>
  /** Makes the key free again: the change was refused. */
  release(settlementId: string): Promise<void>
}

/**
 * Makes a change once per idempotency key. Answers are not stored, because some hold secrets that the service keeps as
 * hashes only. Throws `HttpError` INVALID_REQUEST 409 if the change was made or is under way, 422 if another request used
 * the key.
 */
export async function changeOnce<Result>(
  claims: ChangeClaims,
  claim: IdempotencyClaim,
  change: () => Promise<Result>,
): Promise<Result> {
  const { kind } = await claims.claim(claim)
  if (kind === 'answered') throw new HttpError('INVALID_REQUEST', DONE, { status: 409 })
  if (kind === 'busy') throw supersededError()
  if (kind !== 'claimed') throw new HttpError('INVALID_REQUEST', OTHER, { status: 422 })
  const { settlementId } = claim
  const result = await change().catch(async (error: unknown) => {
    // After any other failure, the change may have been made.
    if (isRefusal(error)) await claims.release(settlementId)
    throw error
  })
  await claims.finish(settlementId).catch(() => {
    // The change is made: its answer says so. The claim stays, and refuses repetitions as one under way.
  })
  return result
}

function isRefusal(error: unknown): boolean {
  return error instanceof CodedError && toHttpFailure(error, { badGateway: false }).status < 500
}

const DONE =
  'Cannot repeat the request: the first one with this Idempotency-Key was carried out, and its answer is not stored'
const OTHER = 'Cannot use this Idempotency-Key: another request used it in the last 24 hours'
