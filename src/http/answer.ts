import { CodedError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { readJson } from './body.ts'
import { preflightHeaders } from './cors.ts'
import type { Deadlines } from './deadline.ts'
import { failureOf, HttpError } from './error.ts'
import type { Admission, RefusalCode } from './gate.ts'
import type { OrganizationSlots } from './organization_slots.ts'
import { readParameters } from './parse_input.ts'
import { failure, type Outcome } from './respond.ts'
import type { Answer, PresentContext, Reply } from './route.ts'
import type { Found } from './route_table.ts'

/** One request between its arrival and its answer. */
export interface Exchange {
  readonly request: Request
  readonly requestId: string
  /** Made by us whatever the caller sent, because settlements are told apart by it. */
  readonly settlementId: string
  readonly startedMs: number
  readonly method: string
  /** Canonical path, not decoded. */
  readonly path: string
  /** Query without `?`, not decoded. */
  readonly query: string
  /** What absolute links start with: scheme and host, and the public address's own path. */
  readonly base: string
  readonly found: Found
  /** What is wrong with the request itself, whoever sent it; it is answered before anything else, and logged all the same. */
  readonly fault: CodedError | undefined
}

/** Admission of a request whose key was recognised. */
export type Recognised = Exclude<Admission, { readonly kind: 'unknown_key' }>

/** What the work of a request needs. */
export interface WorkServices {
  readonly deadlines: Deadlines
  readonly slots: OrganizationSlots
  readonly log: Log
}

/** The caller left before the charge: a status that the log sees and nobody else. */
const CALLER_LEFT: Outcome = { status: 499, body: '', credits: 0, headers: {} }

/** The answer to a caller whom nobody knows: what the path says of itself, or that a key is needed. */
export function answerToStranger(exchange: Pick<Exchange, 'method' | 'found' | 'fault' | 'requestId'>): Outcome {
  try {
    if (exchange.fault !== undefined) throw exchange.fault
    if (exchange.found.kind === 'endpoint') throw unknownKey()
    return withoutWork(exchange.found, exchange.method)
  } catch (error) {
    return failure(failureOf(error, { badGateway: false }), exchange.requestId)
  }
}

/** The answer to a recognised key, still unpaid: all that can fail happens here. Never throws. */
export async function answerTo(admission: Recognised, exchange: Exchange, services: WorkServices): Promise<Outcome> {
  try {
    if (exchange.fault !== undefined) throw exchange.fault
    if (admission.kind === 'refused') throw refusal(admission)
    const { found, method } = exchange
    return found.kind === 'endpoint' ? await work(admission, exchange, services) : withoutWork(found, method)
  } catch (error) {
    if (exchange.request.signal.aborted) return CALLER_LEFT
    return explained(error, exchange, services.log)
  }
}

/** The answer where a request fails, with a line in the log where that is our fault. */
export function explained(error: unknown, { found, requestId }: Exchange, log: Log): Outcome {
  const badGateway = found.kind === 'endpoint' && found.endpoint.route.errors?.includes(502) === true
  const shown = failureOf(error, { badGateway })
  const route = found.kind === 'endpoint' ? found.endpoint.name : found.kind
  if (shown.code === 'INTERNAL_ERROR') log.error({ msg: 'Failed to answer a request', requestId, route, error })
  else if (shown.status >= 500) log.warn({ msg: 'Could not answer a request', requestId, route, error: shown.message })
  return failure(shown, requestId)
}

/** Input, balance, read, price, presentation, text: in this order, so that nothing is left to fail after the charge. */
async function work(admission: Recognised, exchange: Exchange, services: WorkServices): Promise<Outcome> {
  const { request, requestId, query, found } = exchange
  if (found.kind !== 'endpoint') throw new Error('Cannot work without an endpoint')
  const { caller, requestedAtMs } = admission
  const { organizationId } = caller
  const { route } = found.endpoint

  const parameters = readParameters(route.input, { params: found.params, query })
  const call = await route.accept({ parameters, body: () => readJson(request) })
  const least = call.creditsMin
  if (least > caller.credits) throw tooPoor(`it costs at least ${least} credits, ${caller.credits} are left`)

  if (!services.slots.take(organizationId)) throw crowded()
  let answer: Answer
  try {
    answer = await services.deadlines.run(request, (scope) =>
      call.read({
        get signal() {
          return scope.signal
        },
        organizationId,
        requestedAtMs,
      }),
    )
  } finally {
    services.slots.free(organizationId)
  }

  const reply = answer.present(new RequestAddress(exchange))
  const body = successText(reply, requestId)
  // Read once more, because nobody is charged for an answer to a closed connection.
  if (request.signal.aborted) return CALLER_LEFT
  return { status: 200, body, credits: answer.credits, headers: asOf(reply) }
}

/** Absolute address of a request, parsed only where a route asks for it. */
class RequestAddress implements PresentContext {
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    this.#exchange = exchange
  }

  get url(): URL {
    const { base, path, query } = this.#exchange
    return new URL(query === '' ? `${base}${path}` : `${base}${path}?${query}`)
  }
}

function successText({ data, pagination, counts }: Reply, requestId: string): string {
  if (data === undefined) throw new Error('Cannot answer without data')
  return JSON.stringify({ data, pagination, counts, request_id: requestId })
}

function asOf(reply: Reply): Readonly<Record<string, string>> {
  if (reply.asOf === undefined || reply.asOf.length === 0) return {}
  return { 'x-as-of': reply.asOf.map(({ chainId, blockNumber }) => `${chainId}:${blockNumber}`).join(',') }
}

function withoutWork(found: Exclude<Found, { readonly kind: 'endpoint' }>, method: string): Outcome {
  if (found.kind === 'unknown') throw new CodedError('NOT_FOUND', 'Cannot find this path')
  if (method === 'OPTIONS') return { status: 204, body: null, credits: 0, headers: preflightHeaders(found.allow) }
  throw new HttpError('INVALID_REQUEST', `Cannot use this method here: expected ${found.allow}`, {
    status: 405,
    headers: { allow: found.allow },
  })
}

/** One message for every way in which a key can be wrong. */
function unknownKey(): CodedError {
  return new HttpError(
    'INVALID_API_KEY',
    'Cannot authenticate: expected the header "Authorization: Bearer <API key>"',
    {
      headers: { 'www-authenticate': 'Bearer' },
    },
  )
}

const REFUSALS: Readonly<Record<RefusalCode, string>> = {
  ORGANIZATION_NOT_FOUND: 'Cannot find the organization of this key',
  ACCOUNT_SUSPENDED: 'Cannot answer: the organization is suspended',
  ENDPOINT_DISABLED: 'Cannot answer: the operator has switched this endpoint off',
  RATE_LIMIT_EXCEEDED: 'Cannot answer: the organization has used up its requests of this second',
}

function refusal({ code, rateLimit }: Extract<Recognised, { readonly kind: 'refused' }>): CodedError {
  if (code !== 'RATE_LIMIT_EXCEEDED') return new CodedError(code, REFUSALS[code])
  // Not from the reset's second, which is rounded up already: nearly every wait would be told as two seconds.
  const waitSec = Math.max(1, Math.ceil(rateLimit.waitMs / 1000))
  return new HttpError(code, REFUSALS[code], { headers: { 'retry-after': String(waitSec) } })
}

/** 402, before the work or at the charge. */
export function tooPoor(detail: string): CodedError {
  return new CodedError('INSUFFICIENT_CREDITS', `Cannot pay for this request: ${detail}`)
}

function crowded(): CodedError {
  return new CodedError('SERVICE_UNAVAILABLE', 'Cannot answer: too many requests of this organization are under way')
}
