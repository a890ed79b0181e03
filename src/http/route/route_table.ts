import { createRouter } from '@hattip/router'
import type { Feature, Route } from './route.ts'

interface RoutableRoute {
  readonly method: string
  readonly path: string
  readonly body?: { readonly type: string }
  readonly feature?: Feature
}

/** A route with its names in logs, metrics and the operator's switches. */
export interface RouteEndpoint<R extends RoutableRoute = Route> {
  readonly route: R
  /** Canonical path with braces: `/v1/positions/uniswap-v3/{id}`. */
  readonly template: string
  /** Name in OpenAPI: `GET /v1/positions/uniswap-v3/{id}`. */
  readonly name: string
  /** Features that must be switched on. */
  readonly features: readonly Feature[]
}

/** The match of a method and a path. `params` are not decoded. */
export type RouteMatch<R extends RoutableRoute = Route> =
  | {
      readonly kind: 'endpoint'
      readonly endpoint: RouteEndpoint<R>
      readonly params: Readonly<Record<string, string>>
    }
  /** `template` is absent if the path belongs to a page, not to an endpoint. */
  | { readonly kind: 'other_method'; readonly template?: string; readonly allow: string }
  /** `nearest` is the most similar path, `docsPath` the page that describes all, if known. */
  | { readonly kind: 'unknown'; readonly nearest?: string | undefined; readonly docsPath?: string }

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
 * Creates the table of routes. A map finds paths without parameters; one `@hattip/router` for each family matches the
 * others. The routers only match: the table calls their handlers one by one, because the router's own composition turns
 * errors into text and falls through to the next handler. `aliases` maps other names of a path's third segment to the
 * canonical one. Throws if two routes share method and path, or if a body's schema is not a `v.strictObject`.
 */
export function createRouteTable<R extends RoutableRoute>(routes: readonly R[], aliases: ReadonlyMap<string, string>) {
  const fixed = new Map<string, Methods<R>>()
  const routers = new Map<string, Router>()
  const context = createMatchingContext()
  let matched: Methods<R> | undefined

  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = toMethods(routes.filter((route) => route.path === path))
    if (!path.includes(':')) {
      fixed.set(path, methods)
      continue
    }
    const family = getFamily(path)
    const router = routers.get(family) ?? createRouter()
    routers.set(family, router)
    router.use(path, () => {
      matched = methods
    })
  }

  /** Finds the methods of the first template that matches the path, and writes its parameters to `context`. */
  function match(path: string): Methods<R> | undefined {
    matched = undefined
    context.url.pathname = path
    for (const family of [getFamily(path), NO_FAMILY]) {
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
    /** Returns the template of the endpoint at a path, for any method and alias; undefined for an unknown path. */
    getTemplate: (path: string) => getTemplate(find('GET', canonical(path))),
  }
}

/** Returns the template of a match, for any method; undefined for an unknown path. */
export function getTemplate<R extends RoutableRoute>(match: RouteMatch<R>): string | undefined {
  if (match.kind === 'endpoint') return match.endpoint.template
  return match.kind === 'other_method' ? match.template : undefined
}

/** Converts a template to the form of logs and OpenAPI: `:id` becomes `{id}`. */
export function toBracedTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

function getFamily(path: string): string {
  const leading = path.slice(0, Math.max(0, familyEnd(path)))
  return leading.includes(':') ? NO_FAMILY : leading
}

/** Creates a context for matching: handlers read its path and write parameters into it. */
function createMatchingContext(): Context {
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

function toMethods<R extends RoutableRoute>(routes: readonly R[]): Methods<R> {
  const endpoints = new Map(routes.map((route) => [route.method, toRouteEndpoint(route)]))
  if (endpoints.size !== routes.length) throw new Error('Cannot create the table of routes: two share method and path')
  const allow = [...endpoints.keys()].map((method) => (method === 'GET' ? 'GET, HEAD' : method))
  const template = toBracedTemplate(routes[0]?.path ?? '')
  return { template, endpoints, allow: [...allow, 'OPTIONS'].join(', ') }
}

/** Adds its names to a route. Throws if its body's schema is not a `v.strictObject`. */
export function toRouteEndpoint<R extends RoutableRoute>(route: R): RouteEndpoint<R> {
  // Other object schemas would drop unknown fields, which must be refused.
  if (route.body !== undefined && route.body.type !== 'strict_object') {
    throw new Error(`Cannot create the table of routes: the body of "${route.path}" is not a strict object`)
  }
  const template = toBracedTemplate(route.path)
  const features = route.feature === undefined ? [] : [route.feature]
  return { route, template, name: `${route.method} ${template}`, features }
}

/** A path's family is its first three segments: `/v1/positions/uniswap-v3`. The third may be an alias. */
const FAMILY_SEGMENTS = 3

/** Replaces an alias in a path's third segment, `amm_a`, by the canonical name, `uniswap-v3`. */
function canonicalPath(path: string, aliases: ReadonlyMap<string, string>): string {
  const end = familyEnd(path)
  if (end < 0) return path
  const start = path.lastIndexOf('/', end - 1) + 1
  const canonical = aliases.get(path.slice(start, end))
  return canonical === undefined ? path : `${path.slice(0, start)}${canonical}${path.slice(end)}`
}

/** Returns the index at which a path's third segment ends; -1 if it has fewer. */
function familyEnd(path: string): number {
  let slash = 0
  for (let segment = 1; segment < FAMILY_SEGMENTS; segment += 1) {
    slash = path.indexOf('/', slash + 1)
    if (slash < 0) return -1
  }
  const end = path.indexOf('/', slash + 1)
  return end < 0 ? path.length : end
}
