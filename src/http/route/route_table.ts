import { createRouter } from '@hattip/router'
import { canonicalPath, familyEnd } from './alias.ts'
import type { Feature, Route } from './route.ts'

interface RoutableRoute {
  readonly method: string
  readonly path: string
  readonly body?: { readonly type: string }
  readonly feature?: Feature
}

/** A route in the table, with its names in logs, metrics and the operator's switches. */
export interface RouteEndpoint<R extends RoutableRoute = Route> {
  readonly route: R
  /** Canonical path with braces: `/v1/positions/uniswap-v3/{id}`. */
  readonly template: string
  /** As OpenAPI names it: `GET /v1/positions/uniswap-v3/{id}`. */
  readonly name: string
  /** What must be switched on to answer it. */
  readonly features: readonly Feature[]
}

/** What was found for a method and a path. `params` are not decoded. */
export type RouteMatch<R extends RoutableRoute = Route> =
  | {
      readonly kind: 'endpoint'
      readonly endpoint: RouteEndpoint<R>
      readonly params: Readonly<Record<string, string>>
    }
  /** `template` is absent if the path leads to a page, not to an endpoint. */
  | { readonly kind: 'other_method'; readonly template?: string; readonly allow: string }
  /** `near` is a path that was probably meant, `all` the page that describes all of them, if they are known. */
  | { readonly kind: 'unknown'; readonly near?: string | undefined; readonly all?: string }

export type RouteTable<R extends RoutableRoute = Route> = ReturnType<typeof createRouteTable<R>>

interface Methods<R extends RoutableRoute> {
  readonly template: string
  readonly endpoints: ReadonlyMap<string, RouteEndpoint<R>>
  readonly allow: string
}

type Router = ReturnType<typeof createRouter>
type Context = Parameters<Router['handlers'][number]>[0]

/** Family of routes that do not begin with three static segments. */
const NO_FAMILY = ''
const UNKNOWN = { kind: 'unknown' } as const
const NO_PARAMETERS = {}

/**
 * Paths without parameters are looked up; the others are matched by one `@hattip/router` for each family. The routers
 * only match: their handlers are called one by one, because the router's own composition turns errors into text and
 * falls through to the next handler. `aliases` maps other names of a path's third segment to the canonical one. Throws
 * if two routes share method and path, or if a body's schema is not a `v.strictObject`.
 */
export function createRouteTable<R extends RoutableRoute>(routes: readonly R[], aliases: ReadonlyMap<string, string>) {
  const fixed = new Map<string, Methods<R>>()
  const routers = new Map<string, Router>()
  const context = matchingContext()
  let matched: Methods<R> | undefined

  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = methodsOf(routes.filter((route) => route.path === path))
    if (!path.includes(':')) {
      fixed.set(path, methods)
      continue
    }
    const family = familyOf(path)
    const router = routers.get(family) ?? createRouter()
    routers.set(family, router)
    router.use(path, () => {
      matched = methods
    })
  }

  /** The methods of the first template that the path fits; its parameters are in `context`. */
  function match(path: string): Methods<R> | undefined {
    matched = undefined
    context.url.pathname = path
    for (const family of [familyOf(path), NO_FAMILY]) {
      for (const handler of routers.get(family)?.handlers ?? []) {
        handler(context)
        if (matched !== undefined) return matched
      }
    }
    return undefined
  }

  const canonical = (path: string) => canonicalPath(path, aliases)

  function find(method: string, path: string): RouteMatch<R> {
    // The router ignores slashes at the end.
    if (path.endsWith('/')) return UNKNOWN
    const constant = fixed.get(path)
    const methods = constant ?? match(path)
    if (methods === undefined) return UNKNOWN
    const endpoint = methods.endpoints.get(method === 'HEAD' ? 'GET' : method)
    if (endpoint === undefined) return { kind: 'other_method', template: methods.template, allow: methods.allow }
    return { kind: 'endpoint', endpoint, params: constant === undefined ? context.params : NO_PARAMETERS }
  }

  return {
    endpoints: routes.map(toRouteEndpoint),
    /** `path` with its alias segment replaced by the canonical one. */
    canonical,
    find,
    /** Template of the endpoint at a path, for any method and alias; undefined for an unknown path. */
    templateOf: (path: string) => getTemplate(find('GET', canonical(path))),
  }
}

/** Template of the endpoint that was found, for any method. */
export function getTemplate<R extends RoutableRoute>(found: RouteMatch<R>): string | undefined {
  if (found.kind === 'endpoint') return found.endpoint.template
  return found.kind === 'other_method' ? found.template : undefined
}

/** The template as logs and OpenAPI write it: `:id` becomes `{id}`. */
export function toBracedTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

function familyOf(path: string): string {
  const leading = path.slice(0, Math.max(0, familyEnd(path)))
  return leading.includes(':') ? NO_FAMILY : leading
}

/** A context for matching only: handlers read its path and write parameters into it. */
function matchingContext(): Context {
  const never = () => Promise.reject(new Error('Cannot answer: the router only matches'))
  const url = new URL('http://walletscope.invalid/')
  // The accessor would normalize and encode the path.
  Object.defineProperty(url, 'pathname', { value: url.pathname, writable: true })
  return {
    request: new Request(url.href),
    url,
    method: 'GET',
    ip: '',
    platform: undefined,
    params: {},
    locals: {},
    env: () => undefined,
    passThrough: () => {},
    waitUntil: () => {},
    next: never,
    handleError: never,
  }
}

function methodsOf<R extends RoutableRoute>(routes: readonly R[]): Methods<R> {
  const endpoints = new Map(routes.map((route) => [route.method, toRouteEndpoint(route)]))
  if (endpoints.size !== routes.length) throw new Error('Cannot make the table of routes: two share method and path')
  const allow = [...endpoints.keys()].map((method) => (method === 'GET' ? 'GET, HEAD' : method))
  const template = toBracedTemplate(routes[0]?.path ?? '')
  return { template, endpoints, allow: [...allow, 'OPTIONS'].join(', ') }
}

/** A route with its names. Throws if its body's schema is not a `v.strictObject`. */
export function toRouteEndpoint<R extends RoutableRoute>(route: R): RouteEndpoint<R> {
  // Any other object schema would drop unknown fields, which must be refused.
  if (route.body !== undefined && route.body.type !== 'strict_object') {
    throw new Error(`Cannot make the table of routes: the body of "${route.path}" is not a strict object`)
  }
  const template = toBracedTemplate(route.path)
  const features = route.feature === undefined ? [] : [route.feature]
  return { route, template, name: `${route.method} ${template}`, features }
}
