import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { type Failure, failureOf } from '../error.ts'
import { LOGGED_PATH_LENGTH_MAX } from '../limits.ts'
import type { Page } from '../page/page.ts'
import { readJson } from '../request/body.ts'
import { bearerKey } from '../request/key.ts'
import { readParameters } from '../request/parameters.ts'
import { type AccountState, failure, type PreparedAnswer } from '../respond.ts'
import type { Asked } from '../route/route.ts'
import { type Endpoint, type Found, templateOf } from '../route/route_table.ts'
import type { Deadlines } from './deadline.ts'
import type { Admission, Gate, Settlement } from './gate.ts'
import { type Opening, openingAtHand, openingOf } from './opening.ts'
import type { OrganizationSlots } from './organization_slots.ts'
import type { Purse } from './purse.ts'
import { crowded, refusal, tooPoor, unknownKey, usedUp, withoutWork } from './refusal.ts'

/** One request between its arrival and its answer. */
export interface Exchange {
  readonly request: Request
  readonly requestId: string
  /** Made by us even if the caller chose the request id: it identifies the settlement. */
  readonly settlementId: string
  readonly startedMs: number
  readonly method: string
  /** Canonical path, not decoded. */
  readonly path: string
  /** Query without `?`, not decoded. */
  readonly query: string
  /** What absolute links start with: scheme and host, and the public address's own path. */
  readonly base: string
  readonly found: Found | { readonly kind: 'page'; readonly page: Page }
  /** What is wrong with the request itself. It is answered before any work, and logged for a recognised key. */
  readonly fault: CodedError | undefined
  /** Where the request comes from, as the adapter sees it: what proxies say in headers is not trusted. */
  readonly client: { readonly ip: string }
  /** Input of the endpoint, if it does not come from path, query and body. May throw what is wrong with it. */
  readonly asked?: () => Asked
  /** Path in the log, if it is not the endpoint's template. */
  readonly logged?: string
  /** A limit of this request's own on what it may be charged. */
  readonly purse?: Purse
}

/** What answering needs. */
export interface ExchangeServices {
  /** Absent on the operator's port, which takes no keys. */
  readonly gate?: Gate
  readonly clock: Clock
  readonly log: Log
  readonly deadlines: Deadlines
  readonly slots: OrganizationSlots
  /** True if no more requests can be taken. */
  readonly full: () => boolean
}

/** A finished answer, and the state of its organization if the key was recognised. */
export interface SettledAnswer {
  readonly answer: PreparedAnswer
  readonly account?: AccountState
}

/** Admission of a request whose key was recognised. */
type Recognised = Exclude<Admission, { readonly kind: 'unknown_key' }>

/** The caller left before the charge. Only the log sees this status. */
const CALLER_LEFT: PreparedAnswer = { status: 499, body: '', credits: 0, headers: {} }
const UNPAID = failureOf(tooPoor('the balance does not suffice'), { badGateway: false })

/**
 * The life of a request: admit, input, read, present, settle. After it the answer is paid for and logged, and only has
 * to be sent. Never rejects: every failure is an answer, and nothing that can fail comes after the charge.
 */
export async function runExchange(exchange: Exchange, services: ExchangeServices): Promise<SettledAnswer> {
  const { request, requestId, method, found, fault } = exchange
  const { gate, log } = services
  let admission: Recognised | undefined
  let answer: PreparedAnswer
  try {
    if (found.kind === 'page') return { answer: await found.page(requestId, request) }
    if (services.full()) throw new CodedError('SERVICE_UNAVAILABLE', 'Cannot answer: too many requests are under way')
    const key = bearerKey(request.headers.get('authorization'))
    if (gate !== undefined && key !== undefined) {
      const asked = await gate.admit({ key, client: exchange.client, ...askedOf(found) })
      if (asked.kind !== 'unknown_key') admission = asked
    }
    if (fault !== undefined) throw fault
    if (admission?.kind === 'refused') throw refusal(admission)
    if (found.kind !== 'endpoint') answer = withoutWork(found, method)
    else if (admission === undefined) throw unknownKey()
    else answer = await work(admission, { exchange, ...found, services })
  } catch (error) {
    const left = admission !== undefined && request.signal.aborted
    answer = left ? CALLER_LEFT : failure(loggedFailure(error, exchange, log), requestId)
  }
  if (gate === undefined || admission === undefined) return { answer }

  // Charges and logs. An answer that cannot be paid, or cannot be settled, does not leave.
  const { caller, rateLimit } = admission
  try {
    const elapsedMs = services.clock.monotonicMs() - exchange.startedMs
    const { paid, isDayUsedUp, ...charge } = await gate.settle(settlementOf(exchange, { admission, answer, elapsedMs }))
    await exchange.purse?.close(charge.creditsCharged)
    const account = { rateLimit, ...charge }
    if (paid) return { answer, account }
    const unpaid = isDayUsedUp === true ? failureOf(usedUp(caller.day?.limit ?? 0n), { badGateway: false }) : UNPAID
    return { answer: failure(unpaid, requestId), account }
  } catch (error) {
    await exchange.purse?.close(0)
    const account = { rateLimit, creditsCharged: 0, creditsRemaining: caller.credits }
    return { answer: failure(loggedFailure(error, exchange, log), requestId), account }
  }
}

/** What a request asks the gate for. */
function askedOf(found: Exchange['found']) {
  if (found.kind !== 'endpoint') return { endpoint: null }
  return { endpoint: found.endpoint.name, features: found.endpoint.features }
}

/** Input, balance, read, price, presentation, text: in this order, so that nothing is left to fail after the charge. */
async function work(
  { caller, requestedAtMs }: Recognised,
  {
    exchange,
    endpoint,
    params,
    services,
  }: {
    readonly exchange: Exchange
    readonly endpoint: Endpoint
    readonly params: Readonly<Record<string, string>>
    readonly services: ExchangeServices
  },
): Promise<PreparedAnswer> {
  const { request, requestId, path, query } = exchange
  const { route } = endpoint
  const { organizationId } = caller

  const asked = exchange.asked?.() ?? {
    text: `${path}?${query}`,
    parameters: () => readParameters(route.input, { params, query }),
    body: () => readJson(request),
  }
  const call = await route.accept(asked)
  if (call.creditsMin > caller.credits) {
    throw tooPoor(`it costs at least ${call.creditsMin} credits, ${caller.credits} are left`)
  }
  if (caller.day !== undefined && call.creditsMin > caller.day.left) throw usedUp(caller.day.limit)
  await exchange.purse?.check(organizationId, call.creditsMin)

  const read = async (): Promise<Opening> => {
    if (!services.slots.take(organizationId)) throw crowded()
    try {
      const answer = await services.deadlines.read(call, { request, organizationId, requestedAtMs })
      return openingOf(call, answer, exchange)
    } finally {
      services.slots.free(organizationId)
    }
  }
  const { opening, headers, credits } = openingAtHand(call, exchange) ?? (await read())
  const body = `${opening},"request_id":${JSON.stringify(requestId)}}`
  await exchange.purse?.take(organizationId, credits)
  // Checked last: an answer to a closed connection is not charged.
  if (request.signal.aborted) return CALLER_LEFT
  return { status: 200, body, credits, headers }
}

function settlementOf(
  { settlementId, requestId, method, path, found, logged }: Exchange,
  options: { readonly admission: Recognised; readonly answer: PreparedAnswer; readonly elapsedMs: number },
): Settlement {
  const { caller, requestedAtMs, kind } = options.admission
  const { status, credits } = options.answer
  const template = found.kind === 'page' ? undefined : templateOf(found)
  return {
    settlementId,
    requestId,
    caller,
    admitted: kind === 'admitted',
    requestedAtMs,
    method,
    path: logged ?? template ?? path.slice(0, LOGGED_PATH_LENGTH_MAX),
    routed: template !== undefined,
    status,
    credits,
    latencyMs: Math.max(0, Math.round(options.elapsedMs)),
  }
}

/** What the caller may see of a failure, with a line in the log if it is ours. */
function loggedFailure(error: unknown, { found, requestId }: Exchange, log: Log): Failure {
  const badGateway = found.kind === 'endpoint' && found.endpoint.route.errors?.includes(502) === true
  const shown = failureOf(error, { badGateway })
  const route = found.kind === 'endpoint' ? found.endpoint.name : found.kind
  if (shown.code === 'INTERNAL_ERROR') log.error({ msg: 'Failed to answer a request', requestId, route, error })
  else if (shown.status >= 500) log.warn({ msg: 'Could not answer a request', requestId, route, error: shown.message })
  return shown
}
