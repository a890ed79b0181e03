import { createRouter, type RouterContext } from '@hattip/router'
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
  | { readonly kind: 'other_method'; readonly template: string; readonly allow: string }
  | { readonly kind: 'unknown' }

/** Finds endpoints. */
export interface RouteTable {
  readonly endpoints: readonly Endpoint[]
  /** `path` with its alias segment replaced by the canonical one. */
  canonical(path: string): string
  find(method: string, path: string): Found
}

/** Aliases stand here: `/v1/positions/<family>`, `/v1/lending/<family>`. */
const ALIAS_SEGMENT = 3
const UNKNOWN: Found = { kind: 'unknown' }

/** What the router's handlers read and what they leave behind. */
interface Lookup {
  readonly method: string
  readonly url: { readonly pathname: string }
  params: Record<string, string>
  found: Found
}

/**
 * Puts routes into one `@hattip/router`, static paths before those with parameters. The router only matches: its
 * handlers are asked one by one for what they found, without its composition, which parses the URL anew, turns errors
 * into text and lets a handler without an answer fall through to the next. `aliases` maps other names of a path's third
 * segment to the canonical one. Throws where two routes share method and path.
 */
export function createRouteTable(routes: readonly Route[], aliases: ReadonlyMap<string, string>): RouteTable {
  const router = createRouter()
  const ordered = [...routes].sort((a, b) => parameterCount(a.path) - parameterCount(b.path))
  const endpoints = ordered.map(endpointOf)
  const names = new Set(endpoints.map((endpoint) => endpoint.name))
  if (names.size !== endpoints.length) throw new Error('Cannot make the table of routes: two share method and path')

  for (const endpoint of endpoints) {
    const { method, path } = endpoint.route
    const remember = (context: RouterContext) => {
      const lookup = context as unknown as Lookup
      lookup.found = { kind: 'endpoint', endpoint, params: lookup.params }
    }
    if (method === 'GET') router.get(path, remember)
    else router.post(path, remember)
  }
  for (const [path, allow] of methodsByPath(routes)) {
    const template = braced(path)
    router.use(path, (context) => {
      ;(context as unknown as Lookup).found = { kind: 'other_method', template, allow }
    })
  }

  return {
    endpoints,
    canonical(path) {
      if (aliases.size === 0) return path
      const segments = path.split('/')
      const canonical = aliases.get(segments[ALIAS_SEGMENT] ?? '')
      if (canonical === undefined) return path
      segments[ALIAS_SEGMENT] = canonical
      return segments.join('/')
    },
    find(method, path) {
      // The router would take any number of slashes at the end for none.
      if (path.endsWith('/')) return UNKNOWN
      const lookup: Lookup = {
        method: method === 'HEAD' ? 'GET' : method,
        url: { pathname: path },
        params: {},
        found: UNKNOWN,
      }
      for (const handler of router.handlers) {
        handler(lookup as unknown as Parameters<typeof handler>[0])
        if (lookup.found !== UNKNOWN) return lookup.found
      }
      return UNKNOWN
    },
  }
}

/** The template as logs and OpenAPI write it: `:id` becomes `{id}`. */
export function braced(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}

function endpointOf(route: Route): Endpoint {
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
