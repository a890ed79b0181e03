import type { HattipHandler } from '@hattip/core'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import { isRequestId } from '../lib/request_id.ts'
import { answerToStranger } from './answer.ts'
import { bodyFault } from './body.ts'
import { createCors } from './cors.ts'
import { createDeadlines } from './deadline.ts'
import { ApiError, apiErrorFrom } from './error.ts'
import type { Gate } from './gate.ts'
import { createHttpMetrics } from './http_metrics.ts'
import { createInFlight } from './in_flight.ts'
import { IN_FLIGHT_MAX, ORGANIZATION_CONCURRENCY_MAX, REQUEST_BUDGET_MS } from './limits.ts'
import { type Ending, meter } from './metered.ts'
import { createOrganizationSlots } from './organization_slots.ts'
import type { Probes } from './probes.ts'
import { createOperatorPages, createPublicPages, type Pages, PUBLIC_METHODS } from './public_pages.ts'
import { failure, respond } from './respond.ts'
import type { Route } from './route.ts'
import { createRouteTable, type Found } from './route_table.ts'
import { isHost, type Target, targetOf, unreadTarget } from './target.ts'

/** What the HTTP layer is given. */
export interface AppOptions {
  readonly routes: readonly Route[]
  /** Other names of a path's third segment, `amm_a`, to the canonical one, `uniswap-v3`. */
  readonly aliases: ReadonlyMap<string, string>
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Base of absolute links; without it they are built from the request. */
  readonly publicUrl?: string | undefined
  /** Origins that browsers may call from. */
  readonly corsOrigins: readonly string[]
  readonly probes: Probes
  /** True if `/metrics` and `/readyz` are served by `operator` alone. @default false */
  readonly operatorApart?: boolean
  /** Text of the OpenAPI document. */
  readonly openapi: string
  /** Makes `req_` and 26 characters, unique for ever. */
  readonly requestId: () => string
  /** Limits in place of the usual ones. */
  readonly limits?: {
    readonly requestBudgetMs?: number
    readonly organizationConcurrencyMax?: number
    readonly inFlightMax?: number
  }
}

/** The service as an adapter serves it and as the process stops it. */
export interface App {
  /** Answers every request; never rejects. */
  readonly handler: HattipHandler
  /** Answers requests to the operator's own port: `/metrics`, `/readyz` and nothing else; never rejects. */
  readonly operator: HattipHandler
  /** Requests accepted and not yet answered. */
  inFlight(): number
  /** From now on `/readyz` says no, so that load balancers look elsewhere; requests are answered as before. */
  drain(): void
  /** True once no request is in flight, false where one still is after `deadlineMs`. */
  idle(options: { readonly deadlineMs: number }): Promise<boolean>
  /** Ends all reads under way with 503, for a stop that has waited long enough. */
  cancel(): void
}

/** Builds the life of a request around the routes and the gate. Throws where two routes share method and path. */
export function createApp(options: AppOptions): App {
  const { clock, log, limits = {} } = options
  const inFlight = createInFlight()
  const inFlightMax = limits.inFlightMax ?? IN_FLIGHT_MAX
  const table = createRouteTable(options.routes, options.aliases)
  const deadlines = createDeadlines({ budgetMs: limits.requestBudgetMs ?? REQUEST_BUDGET_MS, clock })
  const slots = createOrganizationSlots(limits.organizationConcurrencyMax ?? ORGANIZATION_CONCURRENCY_MAX)
  const services = { gate: options.gate, clock, log, deadlines, slots }
  const cors = createCors(options.corsOrigins)
  const record = createHttpMetrics(options.metrics, { inFlight: inFlight.count })
  const publicBase = options.publicUrl?.replace(/\/+$/, '')
  let draining = false
  const operatorPages = createOperatorPages({ ...options, draining: () => draining })
  const publicPages = createPublicPages(options)
  const pages: Pages = options.operatorApart ? publicPages : new Map([...publicPages, ...operatorPages])

  async function handle(request: Request, end: (arrival: Arrival) => Promise<Named>): Promise<Response> {
    const startedMs = clock.monotonicMs()
    const fresh = options.requestId()
    const given = request.headers.get('x-request-id')
    const requestId = given !== null && isRequestId(given) ? given : fresh
    let ending: Named
    inFlight.enter()
    try {
      ending = await end(arrivalOf(request, { requestId, settlementId: fresh.slice(ID_PREFIX_LENGTH), startedMs }))
    } catch (error) {
      const shown = apiErrorFrom(error, { badGateway: false })
      if (shown.code === 'INTERNAL_ERROR') log.error({ msg: 'Failed to answer a request', requestId, error })
      ending = { route: 'refused', outcome: failure(shown, requestId) }
    } finally {
      inFlight.leave()
    }
    const latencyMs = clock.monotonicMs() - startedMs
    const { route, outcome, account } = ending
    record({ route, status: outcome.status, latencyMs, creditsCharged: account?.creditsCharged ?? 0 })
    log.debug({ msg: 'Answered a request', requestId, route, status: outcome.status, latencyMs })
    return respond(outcome, { requestId, account, cors: cors(request), close: leavesBody(request) })
  }

  /** A page, or the metered way of everything else. */
  async function end({ host, ...arrival }: Arrival): Promise<Named> {
    const { method, asked, fault, requestId } = arrival
    const page = fault === undefined ? pages.get(asked) : undefined
    if (page !== undefined && isRead(method)) return { route: asked, outcome: await page(requestId) }
    if (inFlight.count() > inFlightMax) throw overloaded()
    const path = table.canonical(asked)
    const found = page === undefined ? table.find(method, path) : PAGE
    const base = publicBase ?? `http://${host}`
    const ending = await meter({ ...arrival, path, base, found }, services)
    if (fault !== undefined) return { route: 'refused', ...ending }
    const route = found.kind === 'endpoint' ? found.endpoint.name : found.kind
    return { route, outcome: ending.outcome, account: ending.account }
  }

  /** A page of the operator's; keys and routes mean nothing here. */
  async function endOperator({ method, asked, fault, requestId }: Arrival): Promise<Named> {
    const page = fault === undefined ? operatorPages.get(asked) : undefined
    if (page !== undefined && isRead(method)) return { route: asked, outcome: await page(requestId) }
    const found: Found = page === undefined ? { kind: 'unknown' } : PAGE
    const outcome = answerToStranger({ method, fault, found, requestId })
    return { route: fault === undefined ? found.kind : 'refused', outcome }
  }

  return {
    handler: ({ request }) => handle(request, end),
    operator: ({ request }) => handle(request, endOperator),
    inFlight: inFlight.count,
    drain() {
      draining = true
    },
    idle: ({ deadlineMs }) => inFlight.idle(deadlineMs),
    cancel: deadlines.cancel,
  }
}

const ID_PREFIX_LENGTH = 'req_'.length

/** An ending with the name that metrics know its route by. */
interface Named extends Ending {
  readonly route: string
}

interface Ids {
  readonly requestId: string
  readonly settlementId: string
  readonly startedMs: number
}

/** A request as it came in, before anybody looks for what it leads to. */
interface Arrival extends Ids {
  readonly request: Request
  readonly method: string
  readonly host: string | null
  /** Path as it was asked for, not decoded. */
  readonly asked: string
  readonly query: string
  readonly fault: ApiError | undefined
}

function arrivalOf(request: Request, ids: Ids): Arrival {
  const { method } = request
  const host = request.headers.get('host')
  const target = targetOf(request.url)
  const fault = faultOf(request, { target, host })
  const { path: asked, query } = target ?? { path: unreadTarget(request.url), query: '' }
  return { request, method, host, asked, query, fault, ...ids }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** What another method than GET finds at a page. */
const PAGE: Found = { kind: 'other_method', allow: PUBLIC_METHODS }

/** True where the connection would stay open only for the rest of a body that nobody will read. */
function leavesBody(request: Request): boolean {
  return mayHaveBody(request.method) && request.body !== null && !request.bodyUsed
}

/** Bodies of GET and HEAD mean nothing, and no runtime hands them on. */
function mayHaveBody(method: string): boolean {
  return !isRead(method)
}

/** What no caller may send: a target or a host that cannot be read, a body that is too large or encoded. */
function faultOf(
  request: Request,
  { target, host }: { readonly target: Target | undefined; readonly host: string | null },
): ApiError | undefined {
  if (target === undefined || !isHost(host)) return badTarget()
  return mayHaveBody(request.method) ? bodyFault(request.headers) : undefined
}

function badTarget(): ApiError {
  return new ApiError('INVALID_REQUEST', 'Cannot read the request: expected a path as its target and a valid Host')
}

function overloaded(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', 'Cannot answer: too many requests are under way')
}
