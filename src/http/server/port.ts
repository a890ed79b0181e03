import type { Clock } from '../../lib/clock.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Gate } from '../exchange/gate.ts'
import { GATEWAY_METHODS, type Gateway } from '../exchange/gateway.ts'
import { DOCS_PATH } from '../page/docs.ts'
import type { Pages } from '../page/page.ts'
import { PUBLIC_METHODS } from '../page/public.ts'
import { ASSETS_PATH } from '../page/static.ts'
import type { Plane, PlaneRequest } from '../plane/plane.ts'
import { readJson } from '../request/body.ts'
import { type Parameters, type RawInput, readParameters } from '../request/parameters.ts'
import { createPathSuggester } from '../request/suggest_path.ts'
import { isBodylessMethod } from '../request/target.ts'
import type { Route, RouteRequest } from '../route/route.ts'
import type { RouteMatch, RouteTable } from '../route/route_table.ts'

/** Pages, planes and routes of a port. */
export interface PortRoutes {
  readonly pages: Pages
  readonly planes: readonly Plane[]
  readonly find: RouteTable['find']
  /** Returns the path nearest to an unknown one, if any. */
  readonly suggest: (path: string) => string | undefined
  /** Returns the holder of a key, if the port accepts keys. */
  readonly toHolder: Gate['toHolder']
}

/** Finds the page, by the path as it was sent, or the endpoint, by the canonical path, of a valid request. */
export function findEndpoint(
  port: PortRoutes,
  {
    request,
    method,
    requestId,
    path,
    sentPath,
  }: Omit<PlaneRequest, 'query' | 'base' | 'fault'> & { readonly sentPath: string },
): Exchange['match'] {
  const findPage = port.pages.get(sentPath)
  if (findPage === undefined) {
    const match = port.find(method, path)
    return match.kind === 'unknown' ? unknownPath(path, port) : match
  }
  if (!isBodylessMethod(method)) return { kind: 'other_method', allow: PUBLIC_METHODS }
  return { kind: 'page', show: () => findPage(requestId, request) }
}

/** Matches a method on the path of a gateway. */
export function matchGateway({ endpoint }: Gateway, method: string): RouteMatch {
  if (method === 'POST') return { kind: 'endpoint', endpoint, params: {} }
  return { kind: 'other_method', template: endpoint.template, allow: GATEWAY_METHODS }
}

/** Creates the suggestions of a port from the paths of its endpoints, its pages and its planes. */
export function createPortSuggester(
  templates: readonly string[],
  { pages, planes }: Pick<PortRoutes, 'pages' | 'planes'>,
): PortRoutes['suggest'] {
  const ownPages = [...pages.keys()].filter((each) => !each.startsWith(`${ASSETS_PATH}/`))
  return createPathSuggester([...templates, ...ownPages, ...planes.map(({ prefix }) => prefix)])
}

/** Creates the match of an unknown path: the nearest path, and the page that lists all. */
function unknownPath(path: string, { pages, suggest }: PortRoutes): RouteMatch {
  return { kind: 'unknown', nearest: suggest(path), ...(pages.has(DOCS_PATH) ? { docsPath: DOCS_PATH } : {}) }
}

/** Parameters and body of an HTTP request. A class, because a literal would allocate functions for each request. */
export class HttpInput implements RouteRequest {
  readonly byAddress = true
  readonly #request: Request
  readonly #schema: Route['input']
  readonly #sent: RawInput & { readonly clock: Clock }

  constructor(request: Request, schema: Route['input'], sent: RawInput & { readonly clock: Clock }) {
    this.#request = request
    this.#schema = schema
    this.#sent = sent
  }

  parameters(): Parameters {
    return readParameters(this.#schema, this.#sent)
  }

  body(): ReturnType<RouteRequest['body']> {
    return readJson(this.#request, this.#sent.clock)
  }
}
