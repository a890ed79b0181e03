import { createRouter, type RouterContext } from '@hattip/router'
import { canonicalPath, familyEnd } from './alias.ts'
import type { Route } from './route.ts'

/** A route in the table, with the names that logs, metrics and the operator's switches know it by. */
export interface Endpoint {
  readonly route: Route
  /** Canonical path with braces: `/v1/positions/uniswap-v3/{id}`. */
  readonly template: string
  /** As OpenAPI names it: `GET /v1/positions/uniswap-v3/{id}`. */
  readonly name: string
}

/** What a method and a path lead to. `params` are not decoded. */
export type Found =
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint; readonly params: Readonly<Record<string, string>> }
  /** `template` is absent if the path leads to a page, not to an endpoint. */
  | { readonly kind: 'other_method'; readonly template?: string; readonly allow: string }
  | { readonly kind: 'unknown' }

/** Finds endpoints. */
export interface RouteTable {
  /** `path` with its alias segment replaced by the canonical one. */
  canonical(path: string): string
  find(method: string, path: string): Found
  /** Template of the endpoint that a path leads to by whatever method and alias; undefined if it leads nowhere. */
  templateOf(path: string): string | undefined
}

/** Family of the routes that have no three static segments in front. */
const NO_FAMILY = ''
const UNKNOWN: Found = { kind: 'unknown' }

/** What the router's handlers read and what they leave behind. */
interface Lookup {
  readonly method: string
  readonly url: { readonly pathname: string }
  params: Record<string, string>
  found: Found
}

/**
 * Puts the routes of each family into an `@hattip/router` of its own, static paths before those with parameters, so
 * that a request is matched against a handful of patterns. The routers only match: their handlers are asked one by one
 * for what they found, without the router's composition, which parses the URL anew, turns errors into text and lets a
 * handler without an answer fall through to the next. `aliases` maps other names of a path's third segment to the
 * canonical one. Throws where two routes share method and path, or a body's schema is no `v.strictObject`.
 */
export function createRouteTable(routes: readonly Route[], aliases: ReadonlyMap<string, string>): RouteTable {
  const ordered = [...routes].sort((a, b) => parameterCount(a.path) - parameterCount(b.path))
  const endpoints = ordered.map(endpointOf)
  const names = new Set(endpoints.map((endpoint) => endpoint.name))
  if (names.size !== endpoints.length) throw new Error('Cannot make the table of routes: two share method and path')

  const families = new Map<string, ReturnType<typeof createRouter>>()
  for (const endpoint of endpoints) remember(endpoint, routerOf(families, endpoint.route.path))
  for (const [path, allow] of methodsByPath(routes)) refuseOthers(path, { allow, router: routerOf(families, path) })

  const canonical = (path: string) => canonicalPath(path, aliases)

  function find(method: string, path: string): Found {
    // The router would take any number of slashes at the end for none.
    if (path.endsWith('/')) return UNKNOWN
    const lookup: Lookup = {
      method: method === 'HEAD' ? 'GET' : method,
      url: { pathname: path },
      params: {},
      found: UNKNOWN,
    }
    search(families.get(path.slice(0, familyEnd(path))), lookup)
    if (lookup.found === UNKNOWN) search(families.get(NO_FAMILY), lookup)
    return lookup.found
  }

  return { canonical, find, templateOf: (path) => templateOf(find('GET', canonical(path))) }
}

/** Template of the endpoint that was found, by whatever method. */
export function templateOf(found: Found): string | undefined {
  if (found.kind === 'endpoint') return found.endpoint.template
  return found.kind === 'other_method' ? found.template : undefined
}

function search(router: ReturnType<typeof createRouter> | undefined, lookup: Lookup): void {
  if (router === undefined) return
  for (const handler of router.handlers) {
    handler(lookup as unknown as Parameters<typeof handler>[0])
    if (lookup.found !== UNKNOWN) return
  }
}

function remember(endpoint: Endpoint, router: ReturnType<typeof createRouter>): void {
  const found = (context: RouterContext) => {
    const lookup = context as unknown as Lookup
    lookup.found = { kind: 'endpoint', endpoint, params: lookup.params }
  }
  if (endpoint.route.method === 'GET') router.get(endpoint.route.path, found)
  else router.post(endpoint.route.path, found)
}

function refuseOthers(
  path: string,
  { allow, router }: { readonly allow: string; readonly router: ReturnType<typeof createRouter> },
): void {
  const found: Found = { kind: 'other_method', template: braced(path), allow }
  router.use(path, (context) => {
    ;(context as unknown as Lookup).found = found
  })
}

function routerOf(families: Map<string, ReturnType<typeof createRouter>>, path: string) {
  const leading = path.slice(0, familyEnd(path))
  const family = familyEnd(path) < 0 || leading.includes(':') ? NO_FAMILY : leading
  const router = families.get(family) ?? createRouter()
  families.set(family, router)
  return router
}

/** The template as logs and OpenAPI write it: `:id` becomes `{id}`. */
export function braced(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

function endpointOf(route: Route): Endpoint {
  // Any other object schema would drop unknown fields where the contract refuses them.
  if (route.body !== undefined && route.body.type !== 'strict_object') {
    throw new Error(`Cannot make the table of routes: the body of "${route.path}" is no strict object`)
  }
  const template = braced(route.path)
  return { route, template, name: `${route.method} ${template}` }
}

function parameterCount(path: string): number {
  return path.split(':').length - 1
}

function methodsByPath(routes: readonly Route[]): Map<string, string> {
  const methods = new Map<string, string>()
  for (const { path, method } of routes) {
    const own = method === 'GET' ? 'GET, HEAD' : method
    const others = methods.get(path)
    methods.set(path, others === undefined ? own : `${others}, ${own}`)
  }
  return new Map([...methods].map(([path, allow]) => [path, `${allow}, OPTIONS`]))
}
