import type { AdapterRequestContext, HattipHandler } from '@hattip/core'
import { createIdleWaiter, withTimeout } from '../../lib/async/abort.ts'
import type { CodedError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { isRequestId } from '../../lib/request_id.ts'
import type { Network } from '../../lib/text/network.ts'
import { createConcurrencyLimiter } from '../exchange/concurrency.ts'
import { createDeadlines } from '../exchange/deadline.ts'
import {
  createExchange,
  type Exchange,
  type Invocation,
  runExchange,
  type SettledAnswer,
} from '../exchange/exchange.ts'
import type { Gate, KeyHolder, Principal } from '../exchange/gate.ts'
import { emptyInput, GATEWAY_METHODS, GATEWAY_PATH, type Gateway } from '../exchange/gateway.ts'
import { unsupportedIdempotencyKeyError } from '../exchange/idempotency.ts'
import type { NameReader } from '../exchange/names.ts'
import { toFailureAnswer } from '../exchange/refusal.ts'
import { createResponseCache } from '../exchange/response_cache.ts'
import { continueTable, type LongTable } from '../exchange/table_rest.ts'
import { createHttpMetrics } from '../http_metrics.ts'
import { IN_FLIGHT_MAX, ORGANIZATION_CONCURRENCY_MAX, REQUEST_BUDGET_MS, TABLE_PIECE_ROWS } from '../limits.ts'
import { DOCS_PATH } from '../page/docs.ts'
import { ERRORS_PATH } from '../page/errors.ts'
import type { Pages } from '../page/html.ts'
import {
  createOperatorPages,
  createPublicPages,
  type PageOptions,
  PROBE_PATHS,
  PUBLIC_METHODS,
} from '../page/public.ts'
import { ASSETS_PATH } from '../page/static.ts'
import { findPlane, type Plane, type PlaneRequest } from '../plane/plane.ts'
import { findBodyError } from '../request/body.ts'
import { createClientAddress, LoggedAddress } from '../request/client_address.ts'
import { createCors } from '../request/cors.ts'
import { createHostCheck } from '../request/host.ts'
import { bearerKey, IDEMPOTENCY_KEY } from '../request/key.ts'
import { createPathSuggester } from '../request/suggest_path.ts'
import { getLoggablePath, isBodylessMethod, parseTarget, type Target, toTargetError } from '../request/target.ts'
import { respond } from '../respond.ts'
import { findCsvTable } from '../route/csv.ts'
import { findPlace, NO_PLACE } from '../route/cursor.ts'
import type { ReceiptIssuer } from '../route/receipt.ts'
import type { Route } from '../route/route.ts'
import { createRouteTable, type RouteMatch, type RouteTable } from '../route/route_table.ts'
import { createAccessLog } from './access_log.ts'
import { HttpInput } from './http_input.ts'

interface AppOptions extends PageOptions {
  readonly routes: readonly Route[]
  /** Other names of a path's third segment, `amm_a`, to the canonical one, `uniswap-v3`. */
  readonly aliases: ReadonlyMap<string, string>
  readonly gate: Gate
  /** Tools for agents at `/mcp`; absent: the path is unknown. */
  readonly gateway?: Gateway
  /** Issues receipts; absent: answers have none. */
  readonly receiptIssuer?: ReceiptIssuer
  /** Reads names of wallets; absent: requests name them by their addresses alone. */
  readonly readName?: NameReader
  readonly log: Log
  /** True if each finished request has a line at `info`. @default {false} at `debug` */
  readonly hasAccessLog?: boolean
  /** Base of absolute links; without it they are built from the request. */
  readonly publicUrl?: string | undefined
  /** Names of this service, besides addresses and `localhost`; `*` for any. */
  readonly hostNames: readonly string[]
  /** Proxies whose headers on the address of a client are trusted. @default none */
  readonly trustedProxies?: readonly Network[]
  /** Origins from which browsers may call. */
  readonly corsOrigins: readonly string[]
  /** Pages of the user interface; the operator's are on the operator's port if it has one. */
  readonly uiPages?: { readonly callers: Pages; readonly operator: Pages }
  /** True if only the handler `operator` serves the operator's pages. @default false */
  readonly operatorApart?: boolean
  /** Planes without API keys: those of callers, and those of the operator, which `operatorApart` moves to its port. */
  readonly planes?: { readonly callers: readonly Plane[]; readonly operator: readonly Plane[] }
  /** Generates `req_` and 26 unique characters. */
  readonly requestId: () => string
  readonly limits?: {
    readonly requestBudgetMs?: number
    readonly organizationConcurrencyMax?: number
    readonly inFlightMax?: number
  }
}

/** The service, for the adapter that serves it and the process that stops it. */
export type App = ReturnType<typeof createApp>

/** Creates the app from the routes and the gate. Throws if two routes share method and path. */
export function createApp(options: AppOptions) {
  const { clock, log, gateway, limits = {} } = options
  // Requests between their arrival and their answer.
  let inFlight = 0
  const idle = createIdleWaiter(() => inFlight === 0)
  const inFlightMax = limits.inFlightMax ?? IN_FLIGHT_MAX
  const table = createRouteTable(options.routes, options.aliases)
  const deadlines = createDeadlines({ budgetMs: limits.requestBudgetMs ?? REQUEST_BUDGET_MS, clock })
  // The current request is counted in `inFlight` already.
  const getFreeSlots = () => inFlightMax + 1 - inFlight
  const concurrency = createConcurrencyLimiter(limits.organizationConcurrencyMax ?? ORGANIZATION_CONCURRENCY_MAX, {
    getFreeSlots,
    what: 'requests of this organization',
  })
  const cors = createCors(options.corsOrigins)
  const getClient = createClientAddress(options.trustedProxies ?? [])
  const checkHost = createHostCheck(options.hostNames)
  const logAccess = createAccessLog({ log, clock, isOn: options.hasAccessLog === true })
  const recordMetrics = createHttpMetrics(options.metrics, { inFlight: () => inFlight })
  const publicBase = options.publicUrl?.replace(/\/+$/, '')
  let isDraining = false
  const { callers = NO_PAGES, operator = NO_PAGES } = options.uiPages ?? {}
  const operatorPages = new Map([...operator, ...createOperatorPages({ ...options, isDraining: () => isDraining })])
  const publicPages = new Map([...callers, ...createPublicPages(options)])
  const pages: Pages = options.operatorApart ? publicPages : new Map([...publicPages, ...operatorPages])

  const { gate, receiptIssuer, readName } = options
  const responseCache = createResponseCache(clock)
  const services = {
    gate,
    receiptIssuer,
    readName,
    clock,
    log,
    deadlines,
    responseCache,
    concurrency,
    isFull: () => inFlight > inFlightMax,
  }
  const tableServices = {
    gate,
    clock,
    isStopping: () => isDraining,
    run: runCounted,
    createSettlementId: () => toSettlementId(options.requestId()),
  }
  const planes = options.planes ?? { callers: [], operator: [] }
  const callerPlanes = options.operatorApart ? planes.callers : [...planes.callers, ...planes.operator]
  const templates = [
    ...table.endpoints.map(({ template }) => template),
    ...(gateway === undefined ? [] : [GATEWAY_PATH]),
  ]
  const forCallers: PortRoutes = {
    pages,
    planes: callerPlanes,
    find: (method, path) =>
      gateway !== undefined && path === GATEWAY_PATH ? matchGateway(gateway, method) : table.find(method, path),
    suggest: createPortSuggester(templates, { pages, planes: callerPlanes }),
    toHolder: (key, client) => gate.toHolder(key, client),
  }
  const forOperator: PortRoutes = {
    pages: operatorPages,
    planes: planes.operator,
    find: () => ({ kind: 'unknown' }),
    suggest: createPortSuggester([], { pages: operatorPages, planes: planes.operator }),
    toHolder: () => undefined,
  }

  async function handle(context: Pick<AdapterRequestContext, 'request' | 'ip'>, port: PortRoutes): Promise<Response> {
    const { request } = context
    const startedMs = clock.monotonicMs()
    const { method, headers } = request
    const fresh = options.requestId()
    const sentId = headers.get('x-request-id')
    const requestId = sentId !== null && isRequestId(sentId) ? sentId : fresh
    const host = headers.get('host')
    const target = parseTarget(request.url)
    const sentPath = target?.path ?? getLoggablePath(request.url)
    const isHostless = host === null && (method === 'OPTIONS' || PROBE_PATHS.has(sentPath))
    const hostFault = isHostless ? undefined : checkHost(host)
    const fault = findFault(request, method, target) ?? hostFault
    const plane = findPlane(port.planes, sentPath)
    const query = target?.query ?? ''
    const base = getBase(host)
    const isNamed = publicBase !== undefined || (host !== null && hostFault === undefined)
    const errorsUrl = isNamed && port.pages.has(ERRORS_PATH) ? `${base}${ERRORS_PATH}` : undefined
    const idempotencyKey = headers.get(IDEMPOTENCY_KEY)
    if (plane !== undefined) {
      const isKeyUnsupported = idempotencyKey !== null && !(plane.takesIdempotencyKey && !isBodylessMethod(method))
      const planeFault = fault ?? (isKeyUnsupported ? unsupportedIdempotencyKeyError() : undefined)
      return answerPlane(plane, {
        request,
        requestId,
        method,
        path: sentPath,
        query,
        base,
        fault: planeFault,
        idempotency: idempotencyKey === null ? undefined : { key: idempotencyKey, settlementId: toSettlementId(fresh) },
        startedMs,
        client: getClient(context),
        errorsUrl,
      })
    }
    const path = table.canonical(sentPath)
    const match =
      fault === undefined ? findEndpoint(port, { request, method, requestId, sentPath, path }) : port.find(method, path)
    const key = match.kind === 'page' ? undefined : bearerKey(headers.get('authorization'))
    const client = getClient(context)
    const holder = key === undefined ? undefined : port.toHolder(key, client)
    const csv =
      match.kind === 'endpoint'
        ? findCsvTable(match.endpoint.route, { query, accept: headers.get('accept') })
        : undefined
    const withoutFormat = csv === undefined ? query : csv.query
    const { place, fault: cursorFault } =
      match.kind === 'endpoint' ? findPlace(match.endpoint.route, { path, query: withoutFormat }) : NO_PLACE
    const remainingQuery = place === undefined ? withoutFormat : place.query
    const isGateway = fault === undefined && match.kind === 'endpoint' && match.endpoint === gateway?.endpoint
    // One request may hold several messages.
    const holdsMessages = isGateway && idempotencyKey === null
    const createInput: LongTable['createInput'] = (sentQuery, part) =>
      match.kind === 'endpoint'
        ? new HttpInput(request, match.endpoint.route.input, { params: match.params, query: sentQuery, clock, ...part })
        : emptyInput()
    const exchange: Exchange = {
      principal: holder,
      requestId,
      settlementId: toSettlementId(fresh),
      startedMs,
      method,
      idempotencyKey: idempotencyKey ?? undefined,
      knownTags: headers.get('if-none-match') ?? undefined,
      csv,
      place,
      path,
      query: remainingQuery,
      base,
      match,
      getRequest: () =>
        createInput(remainingQuery, {
          rows: csv?.isWhole ? { page: 1, limit: TABLE_PIECE_ROWS } : undefined,
          reads: place?.reads,
        }),
      fault: isGateway && !holdsMessages ? unsupportedIdempotencyKeyError() : (fault ?? csv?.fault ?? cursorFault),
      signal: request.signal,
      client,
    }

    inFlight += 1
    const { answer, account } =
      holdsMessages && gateway !== undefined
        ? await answerMessages(gateway, { request, holder, exchange })
        : recordAnswer(exchange, await runExchange(exchange, services))
    finishRequest()
    return respond(continueTable(answer, { exchange, createInput }, tableServices), {
      requestId,
      account,
      requestHeaders: headers,
      cors: cors(request),
      errorsUrl,
      close: mustClose(request, method),
    })
  }

  /** Has a gateway answer messages. A stranger gets 401 whatever they are: they are not read. */
  async function answerMessages(
    gateway: Gateway,
    asked: { readonly request: Request; readonly holder: KeyHolder | undefined; readonly exchange: Exchange },
  ): Promise<SettledAnswer> {
    const { request, holder, exchange } = asked
    try {
      if (holder === undefined || !(await gate.recognize(holder)))
        return await run({ ...exchange, principal: undefined })
    } catch (error) {
      const fail = () => {
        throw error
      }
      return run({ ...exchange, getRequest: fail })
    }
    return gateway.answer(request, holder, {
      admit: ({ endpoint: { name, features }, session }) =>
        gate.admit({ principal: holder, endpoint: name, features, session }),
      invoke: (invocation) => run(createExchange(invocation, exchange, toSettlementId(options.requestId()))),
    })
  }

  /** Planes have no CORS: no page of another origin may use them. */
  async function answerPlane(
    plane: Plane,
    planeRequest: PlaneRequest & {
      readonly startedMs: number
      readonly client: { readonly ip: string }
      readonly errorsUrl: string | undefined
    },
  ): Promise<Response> {
    const { request, requestId, errorsUrl } = planeRequest
    const { route, answer: act } = plane.find(planeRequest)
    inFlight += 1
    const answer = await act().catch((error: unknown) =>
      toFailureAnswer(error, { requestId, route, badGateway: false, clock, log }),
    )
    finishRequest()
    const latencyMs = clock.monotonicMs() - planeRequest.startedMs
    recordMetrics({ route, status: answer.status, latencyMs, creditsCharged: 0 })
    const from = new LoggedAddress(planeRequest.client)
    logAccess({ requestId, route, status: answer.status, latencyMs, credits: 0, caller: undefined, plane, from })
    return respond(answer, {
      requestId,
      requestHeaders: request.headers,
      errorsUrl,
      close: mustClose(request, planeRequest.method),
    })
  }

  /** True if the answer must announce the close: a client that reuses the connection would write as it is closed. */
  function mustClose(request: Request, method: string): boolean {
    return isDraining || hasUnreadBody(request, method)
  }

  function finishRequest(): void {
    inFlight -= 1
    idle.check()
  }

  function getBase(host: string | null): string {
    return publicBase ?? `http://${host}`
  }

  function createHandler(port: PortRoutes): HattipHandler {
    return (context) => handle(context, port)
  }

  async function run(exchange: Exchange): Promise<SettledAnswer> {
    return recordAnswer(exchange, await runExchange(exchange, services))
  }

  async function runCounted(exchange: Exchange): Promise<SettledAnswer> {
    inFlight += 1
    const settled = await run(exchange)
    finishRequest()
    return settled
  }

  function recordAnswer(exchange: Exchange, settled: SettledAnswer): SettledAnswer {
    const { requestId, startedMs } = exchange
    const { status } = settled.answer
    const latencyMs = clock.monotonicMs() - startedMs
    const route = getRouteName(exchange)
    const credits = settled.account?.creditsCharged ?? 0
    recordMetrics({ route, status, latencyMs, creditsCharged: credits })
    const from = new LoggedAddress(exchange.client)
    logAccess({ requestId, route, status, latencyMs, credits, caller: settled.caller, from })
    return settled
  }

  return {
    /** Runs an endpoint without an HTTP request, for jobs: admitted, charged and logged like one. Never rejects. */
    async invoke(
      invocation: Invocation,
      { principal, signal }: { readonly principal: Principal; readonly signal: AbortSignal },
    ): Promise<SettledAnswer> {
      const requestId = options.requestId()
      const requester = { principal, requestId, startedMs: clock.monotonicMs(), base: getBase('localhost'), signal }
      return runCounted(createExchange(invocation, requester, toSettlementId(requestId)))
    },
    /** Every method and path that is answered, on either port, parameters in braces. */
    endpoints: [
      ...[...publicPages.keys(), ...operatorPages.keys()].map((path) => ({ method: 'GET', path })),
      ...table.endpoints.map(({ route: { method }, template: path }) => ({ method, path })),
      ...(gateway === undefined ? [] : [{ method: 'POST', path: GATEWAY_PATH }]),
      ...[...planes.callers, ...planes.operator].flatMap(({ endpoints }) => endpoints),
    ],
    /** Answers every request; never rejects. */
    handler: createHandler(forCallers),
    /** Answers requests to the operator's own port, which has only the operator's pages; never rejects. */
    operator: createHandler(forOperator),
    inFlight: () => inFlight,
    /** Makes `/readyz` answer 503, so that load balancers choose another process; requests are answered as before. */
    drain(): void {
      isDraining = true
    },
    /** Resolves to true once no request is in flight, to false if one still is after `deadlineMs`. */
    idle: ({ deadlineMs }: { readonly deadlineMs: number }): Promise<boolean> =>
      withTimeout(idle.wait(), { ms: deadlineMs, clock }).then(
        () => true,
        () => false,
      ),
    /** Ends all reads under way with 503, once the stop's deadline is over. */
    cancel: deadlines.cancel,
  }
}

const ID_PREFIX_LENGTH = 'req_'.length
const NO_PAGES: Pages = new Map()

function toSettlementId(requestId: string): string {
  return requestId.slice(ID_PREFIX_LENGTH)
}

/** Returns the route's name for metrics and the log. Pages have no alias, so their path is the requested one. */
function getRouteName({ method, path, match, fault, loggedPath }: Exchange): string {
  if (fault !== undefined) return 'refused'
  if (match.kind === 'page') return path.startsWith(`${ASSETS_PATH}/`) ? ASSETS_PATH : path
  if (loggedPath !== undefined) return `${method} ${loggedPath}`
  return match.kind === 'endpoint' ? match.endpoint.name : match.kind
}

/**
 * True if the connection would stay open only for the rest of an unread body. Bodies of GET and HEAD are ignored: no
 * runtime passes them on.
 */
function hasUnreadBody(request: Request, method: string): boolean {
  return !isBodylessMethod(method) && request.body !== null && !request.bodyUsed
}

/** Finds the error of the request itself: an invalid target, a body that is too large or encoded. */
function findFault({ url, headers }: Request, method: string, target: Target | undefined): CodedError | undefined {
  if (target === undefined) return toTargetError(url)
  return isBodylessMethod(method) ? undefined : findBodyError(headers)
}

/** Pages, planes and routes of a port. */
interface PortRoutes {
  readonly pages: Pages
  readonly planes: readonly Plane[]
  readonly find: RouteTable['find']
  /** Returns the path nearest to an unknown one, if any. */
  readonly suggest: (path: string) => string | undefined
  /** Returns the holder of a key, if the port accepts keys. */
  readonly toHolder: Gate['toHolder']
}

/** Finds the page, by the path as it was sent, or the endpoint, by the canonical path, of a valid request. */
function findEndpoint(
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
function matchGateway({ endpoint }: Gateway, method: string): RouteMatch {
  if (method === 'POST') return { kind: 'endpoint', endpoint, params: {} }
  return { kind: 'other_method', template: endpoint.template, allow: GATEWAY_METHODS }
}

/** Creates the suggestions of a port from the paths of its endpoints, its pages and its planes. */
function createPortSuggester(
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
