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
import { suggestPath } from '../request/suggest_path.ts'
import { isBodylessMethod } from '../request/target.ts'
import type { Route, RouteRequest } from '../route/route.ts'
import type { RouteMatch, RouteTable } from '../route/route_table.ts'

/** What a port serves, and to whom. */
export interface PortRoutes {
  readonly pages: Pages
  readonly planes: readonly Plane[]
  readonly find: RouteTable['find']
  /** Paths of all that `find` finds. */
  readonly templates: readonly string[]
  /** The holder of a key, if keys are taken there. */
  readonly holder: Gate['holder']
}

/** What a sound request asks for: a page by the path as it was sent, an endpoint by the canonical one. */
export function findEndpoint(
  port: PortRoutes,
  {
    request,
    method,
    requestId,
    path,
    asked,
  }: Omit<PlaneRequest, 'query' | 'base' | 'fault'> & { readonly asked: string },
): Exchange['found'] {
  const page = port.pages.get(asked)
  if (page === undefined) {
    const found = port.find(method, path)
    return found.kind === 'unknown' ? unknownPath(path, port) : found
  }
  if (!isBodylessMethod(method)) return { kind: 'other_method', allow: PUBLIC_METHODS }
  return { kind: 'page', show: () => page(requestId, request) }
}

/** What the path of a gateway leads to. */
export function matchGateway({ endpoint }: Gateway, method: string): RouteMatch {
  if (method === 'POST') return { kind: 'endpoint', endpoint, params: {} }
  return { kind: 'other_method', template: endpoint.template, allow: GATEWAY_METHODS }
}

/** Nothing is there: what was probably meant, and where everything is described. */
function unknownPath(path: string, { pages, planes, templates }: PortRoutes): RouteMatch {
  const ownPages = [...pages.keys()].filter((each) => !each.startsWith(`${ASSETS_PATH}/`))
  const near = suggestPath(path, [...templates, ...ownPages, ...planes.map(({ prefix }) => prefix)])
  return { kind: 'unknown', near, ...(pages.has(DOCS_PATH) ? { all: DOCS_PATH } : {}) }
}

/** What an endpoint is asked over HTTP. A class, because a literal would make functions for each request. */
export class HttpInput implements RouteRequest {
  readonly byAddress = true
  readonly #request: Request
  readonly #schema: Route['input']
  readonly #sent: RawInput

  constructor(request: Request, schema: Route['input'], sent: RawInput) {
    this.#request = request
    this.#schema = schema
    this.#sent = sent
  }

  parameters(): Parameters {
    return readParameters(this.#schema, this.#sent)
  }

  body(): ReturnType<RouteRequest['body']> {
    return readJson(this.#request)
  }
}
