import type { Clock } from '../../lib/clock.ts'
import type { CodedError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { failureOf } from '../error.ts'
import { withoutWork } from '../exchange/refusal.ts'
import { readJson } from '../request/body.ts'
import { nearestPath } from '../request/nearest_path.ts'
import { readParameters } from '../request/parameters.ts'
import { failure, type PreparedAnswer } from '../respond.ts'
import type { FreeRoute, Reply } from '../route/route.ts'
import { createRouteTable, type Found } from '../route/route_table.ts'
import { type Authenticate, identify, type SessionCookie } from './credential.ts'
import { createCallerPlaces, withoutCrowds } from './places.ts'

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
  /** What is wrong with the request itself. */
  readonly fault: CodedError | undefined
}

/** An answer, and the name of what answered: a template or one of a few words, for metrics. */
interface PlaneAnswer {
  readonly answer: PreparedAnswer
  readonly route: string
}

/** A part of the service that takes no API keys and charges nothing. */
export interface Plane {
  /** It answers every path that is this one, or begins with it and a slash. */
  readonly prefix: string
  /** Never rejects. */
  answer(asked: PlaneRequest): Promise<PlaneAnswer>
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
  readonly log: Log
}): Plane {
  const { prefix, clock, log } = options
  const table = createRouteTable<FreeRoute>(options.routes, new Map())
  const describing = `${prefix}/openapi.json`
  const authenticate = withoutCrowds(options.authenticate)
  const asCaller = createCallerPlaces()
  const templates = table.endpoints.map(({ template }) => template)

  async function work(asked: PlaneRequest, found: Found<FreeRoute>): Promise<PreparedAnswer> {
    const { request, requestId, method, path, fault } = asked
    if (fault !== undefined) throw fault
    // Preflights carry no credential, and say nothing but the methods.
    if (found.kind === 'other_method' && method === 'OPTIONS') return withoutWork(found, method)
    const identity = await identify(request, { ...options, authenticate })
    if (found.kind === 'unknown')
      return withoutWork({ ...found, near: nearestPath(path, templates), all: describing }, method)
    if (found.kind !== 'endpoint') return withoutWork(found, method)
    const { route } = found.endpoint
    const { params } = found
    const acted = await asCaller(identity, async () => {
      const act = await route.accept({
        parameters: () => readParameters(route.input, { params, query: asked.query }),
        body: () => readJson(request),
      })
      return act({ identity, nowMs: clock.now(), url: addressOf(asked) })
    })
    return { status: route.status ?? 200, body: text(acted, requestId), credits: 0, headers: acted.headers ?? {} }
  }

  return {
    prefix,
    async answer(asked) {
      const { method, path, requestId, fault } = asked
      if (fault === undefined && path === describing && (method === 'GET' || method === 'HEAD')) {
        return { answer: { status: 200, body: options.openapi, credits: 0, headers: {} }, route: `GET ${describing}` }
      }
      const found = table.find(method, path)
      const route = found.kind === 'endpoint' ? found.endpoint.name : found.kind
      try {
        return { answer: await work(asked, found), route }
      } catch (error) {
        const shown = failureOf(error, { badGateway: false })
        if (shown.code === 'INTERNAL_ERROR') log.error({ msg: 'Failed to answer a request', requestId, route, error })
        return { answer: failure(shown, requestId), route }
      }
    },
  }
}

/** The plane to which a path belongs, if any. */
export function planeOf(planes: readonly Plane[], path: string): Plane | undefined {
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
