import type { AdapterRequestContext, HattipHandler } from '@hattip/core'
import { createIdleWaiter, withTimeout } from '../../lib/async/wait.ts'
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
import type { Gate, Principal } from '../exchange/gate.ts'
import { emptyInput, GATEWAY_PATH, type Gateway } from '../exchange/gateway.ts'
import { unsupportedIdempotencyKeyError } from '../exchange/idempotency.ts'
import { toFailureAnswer } from '../exchange/refusal.ts'
import { createResponseCache } from '../exchange/response_cache.ts'
import { createHttpMetrics } from '../http_metrics.ts'
import { IN_FLIGHT_MAX, ORGANIZATION_CONCURRENCY_MAX, REQUEST_BUDGET_MS } from '../limits.ts'
import type { Pages } from '../page/page.ts'
import { createOperatorPages, createPublicPages, type PageOptions } from '../page/public.ts'
import { ASSETS_PATH } from '../page/static.ts'
import { findPlane, type Plane, type PlaneRequest } from '../plane/plane.ts'
import { findBodyError } from '../request/body.ts'
import { createClientAddress, LoggedAddress } from '../request/client_address.ts'
import { createCors } from '../request/cors.ts'
import { createHostCheck } from '../request/host.ts'
import { bearerKey, IDEMPOTENCY_KEY } from '../request/key.ts'
import { getLoggablePath, isBodylessMethod, parseTarget, type Target, toTargetError } from '../request/target.ts'
import { respond } from '../respond.ts'
import { findCsvTable } from '../route/csv.ts'
import type { ReceiptIssuer } from '../route/receipt.ts'
import type { Route } from '../route/route.ts'
import { createRouteTable } from '../route/route_table.ts'
import { findEndpoint, HttpInput, matchGateway, type PortRoutes } from './port.ts'

interface AppOptions extends PageOptions {
  readonly routes: readonly Route[]
  /** Other names of a path's third segment, `amm_a`, to the canonical one, `uniswap-v3`. */
  readonly aliases: ReadonlyMap<string, string>
  readonly gate: Gate
  /** Tools for agents at `/mcp`; without it that path is unknown. */
  readonly gateway?: Gateway
  /** Makes receipts; without it none is given. */
  readonly notary?: ReceiptIssuer
  readonly log: Log
  /** Base of absolute links; without it they are built from the request. */
  readonly publicUrl?: string | undefined
  /** Names of this service, besides addresses and `localhost`; `*` for any. */
  readonly hostNames: readonly string[]
  /** Proxies whose word on the address of a client is taken. @default none */
  readonly trustedProxies?: readonly Network[]
  /** Origins that browsers may call from. */
  readonly corsOrigins: readonly string[]
  /** Pages for people, served beside the others; the operator's on the operator's port if that is apart. */
  readonly faces?: { readonly callers: Pages; readonly operator: Pages }
  /** True if only `operator` serves the operator's pages. @default false */
  readonly operatorApart?: boolean
  /** Planes that take no keys: those of callers, and those of the operator, which `operatorApart` moves to its port. */
  readonly planes?: { readonly callers: readonly Plane[]; readonly operator: readonly Plane[] }
  /** Makes `req_` and 26 unique characters. */
  readonly requestId: () => string
  readonly limits?: {
    readonly requestBudgetMs?: number
    readonly organizationConcurrencyMax?: number
    readonly inFlightMax?: number
  }
}

/** The service as an adapter serves it and as the process stops it. */
export type App = ReturnType<typeof createApp>

/** Builds the life of a request around the routes and the gate. Throws if two routes share method and path. */
export function createApp(options: AppOptions) {
  const { clock, log, gateway, limits = {} } = options
  // Requests between their arrival and their answer.
  let inFlight = 0
  const idle = createIdleWaiter(() => inFlight === 0)
  const inFlightMax = limits.inFlightMax ?? IN_FLIGHT_MAX
  const table = createRouteTable(options.routes, options.aliases)
  const deadlines = createDeadlines({ budgetMs: limits.requestBudgetMs ?? REQUEST_BUDGET_MS, clock })
  // The request that asks has its place already.
  const placesLeft = () => inFlightMax + 1 - inFlight
  const slots = createConcurrencyLimiter(limits.organizationConcurrencyMax ?? ORGANIZATION_CONCURRENCY_MAX, {
    placesLeft,
    what: 'requests of this organization',
  })
  const cors = createCors(options.corsOrigins)
  const clientOf = createClientAddress(options.trustedProxies ?? [])
  const hostFault = createHostCheck(options.hostNames)
  const record = createHttpMetrics(options.metrics, { inFlight: () => inFlight })
  const publicBase = options.publicUrl?.replace(/\/+$/, '')
  let draining = false
  const { callers = NO_PAGES, operator = NO_PAGES } = options.faces ?? {}
  const operatorPages = new Map([...operator, ...createOperatorPages({ ...options, draining: () => draining })])
  const publicPages = new Map([...callers, ...createPublicPages(options)])
  const pages: Pages = options.operatorApart ? publicPages : new Map([...publicPages, ...operatorPages])

  const { gate, notary } = options
  const openings = createResponseCache(clock)
  const services = { gate, notary, clock, log, deadlines, openings, slots, full: () => inFlight > inFlightMax }
  const planes = options.planes ?? { callers: [], operator: [] }
  const forCallers: PortRoutes = {
    pages,
    planes: options.operatorApart ? planes.callers : [...planes.callers, ...planes.operator],
    find: (method, path) =>
      gateway !== undefined && path === GATEWAY_PATH ? matchGateway(gateway, method) : table.find(method, path),
    templates: [...table.endpoints.map(({ template }) => template), ...(gateway === undefined ? [] : [GATEWAY_PATH])],
    holder: (key, client) => gate.holder(key, client),
  }
  const forOperator: PortRoutes = {
    pages: operatorPages,
    planes: planes.operator,
    find: () => ({ kind: 'unknown' }),
    templates: [],
    holder: () => undefined,
  }

  async function handle(context: Pick<AdapterRequestContext, 'request' | 'ip'>, port: PortRoutes): Promise<Response> {
    const { request } = context
    const startedMs = clock.monotonicMs()
    const { method, headers } = request
    const fresh = options.requestId()
    const given = headers.get('x-request-id')
    const requestId = given !== null && isRequestId(given) ? given : fresh
    const host = headers.get('host')
    const target = parseTarget(request.url)
    const fault = faultOf(request, method, target) ?? hostFault(host)
    const asked = target?.path ?? getLoggablePath(request.url)
    const plane = findPlane(port.planes, asked)
    const query = target?.query ?? ''
    const base = baseOf(host)
    const idempotencyKey = headers.get(IDEMPOTENCY_KEY)
    if (plane !== undefined) {
      const faultHere = fault ?? (idempotencyKey === null ? undefined : unsupportedIdempotencyKeyError())
      return answerPlane(plane, { request, requestId, method, path: asked, query, base, fault: faultHere, startedMs })
    }
    const path = table.canonical(asked)
    const found =
      fault === undefined ? findEndpoint(port, { request, method, requestId, asked, path }) : port.find(method, path)
    const key = found.kind === 'page' ? undefined : bearerKey(headers.get('authorization'))
    const client = clientOf(context)
    const holder = key === undefined ? undefined : port.holder(key, client)
    const sheet =
      found.kind === 'endpoint'
        ? findCsvTable(found.endpoint.route, { query, accept: headers.get('accept') })
        : undefined
    const rest = sheet === undefined ? query : sheet.query
    const isGateway = fault === undefined && found.kind === 'endpoint' && found.endpoint === gateway?.endpoint
    // One request may hold several messages.
    const holdsMessages = isGateway && idempotencyKey === null
    const exchange: Exchange = {
      principal: holder,
      requestId,
      settlementId: settlementIdFrom(fresh),
      startedMs,
      method,
      idempotencyKey: idempotencyKey ?? undefined,
      sheet,
      path,
      query: rest,
      base,
      found,
      asked:
        found.kind === 'endpoint'
          ? () => new HttpInput(request, found.endpoint.route.input, { params: found.params, query: rest })
          : emptyInput,
      fault: isGateway && !holdsMessages ? unsupportedIdempotencyKeyError() : (fault ?? sheet?.fault),
      signal: request.signal,
      client,
    }

    inFlight += 1
    const { answer, account } =
      holdsMessages && gateway !== undefined
        ? await gateway.answer(request, holder, (invocation) =>
            run(createExchange(invocation, exchange, settlementIdFrom(options.requestId()))),
          )
        : noted(exchange, await runExchange(exchange, services))
    leave()
    return respond(answer, { requestId, account, sent: headers, cors: cors(request), close: ends(request, method) })
  }

  /** Planes have no CORS: no page of another origin may use them. */
  async function answerPlane(plane: Plane, asked: PlaneRequest & { readonly startedMs: number }): Promise<Response> {
    const { request, requestId } = asked
    const { route, answer: act } = plane.find(asked)
    inFlight += 1
    const answer = await act().catch((error: unknown) =>
      toFailureAnswer(error, { requestId, route, badGateway: false, log }),
    )
    leave()
    const latencyMs = clock.monotonicMs() - asked.startedMs
    record({ route, status: answer.status, latencyMs, creditsCharged: 0 })
    log.debug({ msg: 'Answered a request', requestId, route, status: answer.status, latencyMs })
    return respond(answer, { requestId, sent: request.headers, close: ends(request, asked.method) })
  }

  /** A client that goes on using a connection would write into it as it is closed. */
  function ends(request: Request, method: string): boolean {
    return draining || leavesBody(request, method)
  }

  function leave(): void {
    inFlight -= 1
    idle.check()
  }

  function baseOf(host: string | null): string {
    return publicBase ?? `http://${host}`
  }

  function forPort(port: PortRoutes): HattipHandler {
    return (context) => handle(context, port)
  }

  async function run(exchange: Exchange): Promise<SettledAnswer> {
    return noted(exchange, await runExchange(exchange, services))
  }

  function noted(exchange: Exchange, settled: SettledAnswer): SettledAnswer {
    const { requestId, startedMs } = exchange
    const { status } = settled.answer
    const latencyMs = clock.monotonicMs() - startedMs
    const route = routeName(exchange)
    record({ route, status, latencyMs, creditsCharged: settled.account?.creditsCharged ?? 0 })
    const from = new LoggedAddress(exchange.client)
    log.debug({ msg: 'Answered a request', requestId, route, status, latencyMs, from })
    return settled
  }

  return {
    /** Runs an endpoint without an HTTP request, as a job does: admitted, charged and logged like one. Never rejects. */
    async invoke(
      invocation: Invocation,
      { principal, signal }: { readonly principal: Principal; readonly signal: AbortSignal },
    ): Promise<SettledAnswer> {
      const requestId = options.requestId()
      const asker = { principal, requestId, startedMs: clock.monotonicMs(), base: baseOf('localhost'), signal }
      inFlight += 1
      const settled = await run(createExchange(invocation, asker, settlementIdFrom(requestId)))
      leave()
      return settled
    },
    /** Answers every request; never rejects. */
    handler: forPort(forCallers),
    /** Answers requests to the operator's own port, which has only the operator's pages; never rejects. */
    operator: forPort(forOperator),
    inFlight: () => inFlight,
    /** From now on `/readyz` is 503, so that load balancers look elsewhere; requests are answered as before. */
    drain(): void {
      draining = true
    },
    /** True once no request is in flight, false if one still is after `deadlineMs`. */
    idle: ({ deadlineMs }: { readonly deadlineMs: number }): Promise<boolean> =>
      withTimeout(deadlineMs, idle.wait()).then(
        () => true,
        () => false,
      ),
    /** Ends all reads under way with 503, for a stop that has waited long enough. */
    cancel: deadlines.cancel,
  }
}

const ID_PREFIX_LENGTH = 'req_'.length
const NO_PAGES: Pages = new Map()

function settlementIdFrom(requestId: string): string {
  return requestId.slice(ID_PREFIX_LENGTH)
}

/** The name of what was found, for metrics and the log. Pages have no alias: their path is as it was asked for. */
function routeName({ method, path, found, fault, logged }: Exchange): string {
  if (fault !== undefined) return 'refused'
  if (found.kind === 'page') return path.startsWith(`${ASSETS_PATH}/`) ? ASSETS_PATH : path
  if (logged !== undefined) return `${method} ${logged}`
  return found.kind === 'endpoint' ? found.endpoint.name : found.kind
}

/**
 * True if the connection would stay open only for the rest of an unread body. Bodies of GET and HEAD mean nothing, and
 * no runtime passes them on.
 */
function leavesBody(request: Request, method: string): boolean {
  return !isBodylessMethod(method) && request.body !== null && !request.bodyUsed
}

/** Fault of the request itself: a target that cannot be read, a body that is too large or encoded. */
function faultOf({ url, headers }: Request, method: string, target: Target | undefined): CodedError | undefined {
  if (target === undefined) return toTargetError(url)
  return isBodylessMethod(method) ? undefined : findBodyError(headers)
}
