import type { Clock } from '../../lib/clock.ts'
import type { CodedError } from '../../lib/error.ts'
import { limitConcurrencyByOwner } from '../exchange/concurrency.ts'
import { answerNonEndpoint } from '../exchange/refusal.ts'
import { PLANE_CALLER_CONCURRENCY_MAX } from '../limits.ts'
import { readJson } from '../request/body.ts'
import { readParameters } from '../request/parameters.ts'
import { suggestPath } from '../request/suggest_path.ts'
import { isBodylessMethod } from '../request/target.ts'
import { type PreparedAnswer, successAnswer } from '../respond.ts'
import type { FreeRoute, Reply } from '../route/route.ts'
import { createRouteTable, type RouteMatch } from '../route/route_table.ts'
import { type Authenticate, identify, type SessionCookie } from './credential.ts'
import { limitSessionLookups } from './session_lookups.ts'

/** One request as the app hands it on. */
export interface PlaneRequest {
  readonly request: Request
  readonly requestId: string
  readonly method: string
  /** Not decoded. */
  readonly path: string
  /** Query without `?`, not decoded. */
  readonly query: string
  /** What absolute links start with. */
  readonly base: string
  readonly fault: CodedError | undefined
}

/** A part of the service that takes no API keys and charges nothing. */
export interface Plane {
  /** It answers every path that is this one, or begins with it and a slash. */
  readonly prefix: string
  /** Name of what answers a request, a template or one of a few words, for metrics; and the answer, which may throw. */
  find(asked: PlaneRequest): { readonly route: string; answer(): Promise<PreparedAnswer> }
}

/** Makes a plane of routes, behind a token or a session. `openapi`, its description, is for everybody. */
export function createUnmeteredPlane(options: {
  readonly prefix: string
  readonly routes: readonly FreeRoute[]
  readonly authenticate: Authenticate
  readonly cookie: SessionCookie
  readonly publicUrl: string | undefined
  readonly openapi: string
  readonly clock: Clock
}): Plane {
  const { prefix, clock } = options
  const table = createRouteTable<FreeRoute>(options.routes, new Map())
  const describing = `${prefix}/openapi.json`
  const authenticate = limitSessionLookups(options.authenticate)
  // Each caller has places of their own, so that none can take another's.
  const byCaller = limitConcurrencyByOwner(PLANE_CALLER_CONCURRENCY_MAX)
  const templates = table.endpoints.map(({ template }) => template)

  async function work(asked: PlaneRequest, found: RouteMatch<FreeRoute>): Promise<PreparedAnswer> {
    const { request, requestId, method, path, fault } = asked
    if (fault !== undefined) throw fault
    // Preflights carry no credential, and say nothing but the methods.
    if (found.kind === 'other_method' && method === 'OPTIONS') return answerNonEndpoint(found, method)
    const identity = await identify(request, { ...options, authenticate })
    if (found.kind === 'unknown')
      return answerNonEndpoint({ ...found, near: suggestPath(path, templates), all: describing }, method)
    if (found.kind !== 'endpoint') return answerNonEndpoint(found, method)
    const { route } = found.endpoint
    const { params } = found
    const acted = await byCaller(identity.organizationId ?? identity.by, async () => {
      const act = await route.accept({
        parameters: () => readParameters(route.input, { params, query: asked.query }),
        body: () => readJson(request),
      })
      return act({ identity, nowMs: clock.now(), url: addressOf(asked) })
    })
    return { ...successAnswer(text(acted, requestId)), status: route.status ?? 200, headers: acted.headers ?? {} }
  }

  return {
    prefix,
    find(asked) {
      const { method, path, fault } = asked
      if (fault === undefined && path === describing && isBodylessMethod(method)) {
        return { route: `GET ${describing}`, answer: async () => successAnswer(options.openapi) }
      }
      const found = table.find(method, path)
      return { route: found.kind === 'endpoint' ? found.endpoint.name : found.kind, answer: () => work(asked, found) }
    },
  }
}

/** The plane to which a path belongs, if any. */
export function findPlane(planes: readonly Plane[], path: string): Plane | undefined {
  for (const plane of planes) {
    const { prefix } = plane
    if (path.startsWith(prefix) && (path.length === prefix.length || path.startsWith('/', prefix.length))) return plane
  }
  return undefined
}

function addressOf({ base, path, query }: PlaneRequest): URL {
  return new URL(query === '' ? `${base}${path}` : `${base}${path}?${query}`)
}

function text({ data, pagination }: Reply, requestId: string): string {
  return JSON.stringify({ data, pagination, request_id: requestId }, (_key, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}
