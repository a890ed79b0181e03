import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { toHttpFailure as shownFailure } from '../error.ts'
import { LOGGED_PATH_LENGTH_MAX } from '../limits.ts'
import { type AccountState, failureAnswer, type PreparedAnswer } from '../respond.ts'
import { type CsvTable, FORMAT_PARAMETER_NAME } from '../route/csv.ts'
import { type ReceiptIssuer, supportsReceipt } from '../route/receipt.ts'
import type { IdentifiedRequest, RouteCall, RouteRequest } from '../route/route.ts'
import { getTemplate, type RouteEndpoint, type RouteMatch } from '../route/route_table.ts'
import type { ConcurrencyLimiter } from './concurrency.ts'
import type { Deadlines } from './deadline.ts'
import type { Admission, Caller, Gate, Principal, SessionRequest, Settlement, SettlementResult } from './gate.ts'
import { supersededError, toIdempotencyClaim, toReplayedAnswer, toStoredAnswer } from './idempotency.ts'
import { answerNonEndpoint, toFailureAnswer, toRefusalError, unknownKeyError } from './refusal.ts'
import type { CachedResponse, ResponseCache } from './response_cache.ts'
import { checkCredits, insufficientCreditsError } from './spending.ts'

/** An endpoint and what it is asked, over HTTP, by a tool, by a job or by a test. */
export interface Invocation {
  readonly endpoint: RouteEndpoint
  /** Parameters and body; a mistake in them is thrown when it is called, so that it is answered and logged. */
  readonly asked: () => RouteRequest
  /** Where the same is answered over HTTP, for links: path, and query without `?`. */
  readonly path: string
  readonly query: string
  /** Path in the log, if it is not the endpoint's template. */
  readonly logged?: string
  readonly session?: SessionRequest
  /** Throws what is wrong with the session, once the input is valid. */
  readonly checkSession?: (caller: Caller) => void
  /** True if the answer says what it was read from, if that can be said. */
  readonly isCited?: true
}

/** One request between its arrival and its answer: who asks for what. */
export interface Exchange extends Omit<Invocation, 'endpoint'> {
  /** Undefined for whoever sent nothing that can be a key. */
  readonly principal: Principal | undefined
  readonly requestId: string
  /** Made by us even if the caller chose the request id: it identifies the settlement. */
  readonly settlementId: string
  readonly startedMs: number
  readonly method: string
  /** The header that lets it be repeated, if it has one. */
  readonly idempotencyKey?: string | undefined
  /** How a list is written, if not as JSON. */
  readonly sheet?: CsvTable | undefined
  /** Canonical, not decoded. */
  readonly path: string
  /** What absolute links start with: scheme and host, and the public address's own path. */
  readonly base: string
  readonly found: RouteMatch | { readonly kind: 'page'; readonly show: () => PreparedAnswer | Promise<PreparedAnswer> }
  /** What is wrong with the request itself. It is answered before any work, and logged for a recognised key. */
  readonly fault: CodedError | undefined
  /** Fires when the caller leaves. */
  readonly signal: AbortSignal
  /** Where the caller is, for the log; absent if no request came over HTTP. */
  readonly client?: { readonly ip: string }
}

/** The exchange of an invocation for `asker`. `settlementId` must be new: each one is charged by itself. */
export function createExchange(
  invocation: Invocation,
  asker: Pick<Exchange, 'principal' | 'requestId' | 'startedMs' | 'base' | 'signal'>,
  settlementId: string,
): Exchange {
  const { endpoint, ...asked } = invocation
  const { principal, requestId, startedMs, base, signal } = asker
  const found = { kind: 'endpoint', endpoint, params: {} } as const
  const { method } = endpoint.route
  return { ...asked, principal, requestId, settlementId, startedMs, method, base, found, fault: undefined, signal }
}

export interface ExchangeServices {
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Log
  readonly deadlines: Deadlines
  readonly openings: ResponseCache
  /** Without one no answer has a receipt or says what it was read from. */
  readonly notary?: ReceiptIssuer | undefined
  readonly slots: ConcurrencyLimiter
  readonly full: () => boolean
}

/** A finished answer, and the state of its organization if the key was recognised. */
export interface SettledAnswer {
  readonly answer: PreparedAnswer
  readonly account?: AccountState
}

type RecognizedCaller = Exclude<Admission, { readonly kind: 'unknown_key' }>

/** The caller left before the charge. Only the log sees this status. */
const CALLER_LEFT: PreparedAnswer = { status: 499, body: '', credits: 0, headers: {} }

/**
 * The life of a request: admit, input, read, present, settle. After it the answer is paid for and logged, and only has
 * to be sent. Never rejects: every failure is an answer, and nothing that can fail comes after the charge.
 */
export async function runExchange(exchange: Exchange, services: ExchangeServices): Promise<SettledAnswer> {
  // Few asynchronous functions, here and below: each costs a request about a microsecond.
  const { found, idempotencyKey, settlementId } = exchange
  const { gate, clock } = services
  let admission: Admission
  try {
    if (found.kind === 'page') return { answer: await found.show() }
    admission = await admit(exchange, services)
    if (admission.kind === 'unknown_key') return { answer: toStranger(exchange, found) }
  } catch (error) {
    return { answer: answerFailure(error, exchange, services) }
  }

  let answer: PreparedAnswer
  try {
    answer = await work(exchange, admission, services)
  } catch (error) {
    answer = exchange.signal.aborted ? CALLER_LEFT : answerFailure(error, exchange, services)
  }

  let settled: SettledAnswer
  try {
    const kept = idempotencyKey === undefined ? undefined : toStoredAnswer(answer)
    const charge = await gate.settle(createSettlement(exchange, { admission, answer }, clock), kept)
    settled = afterCharge(exchange, { admission, answer }, charge)
  } catch (error) {
    const { rateLimit, caller } = admission
    const account = { rateLimit, creditsCharged: 0, creditsRemaining: caller.credits }
    settled = { answer: answerFailure(error, exchange, services), account }
  }
  if (idempotencyKey !== undefined && settled.answer.status !== 200) await gate.release(settlementId)
  return settled
}

function answerFailure(error: unknown, { found, requestId }: Exchange, { log }: ExchangeServices): PreparedAnswer {
  const badGateway = found.kind === 'endpoint' && found.endpoint.route.errors?.includes(502) === true
  const route = found.kind === 'endpoint' ? found.endpoint.name : found.kind
  return toFailureAnswer(error, { requestId, route, badGateway, log })
}

/** Throws if too many requests are under way. */
function admit(
  { principal, found, session }: Exchange,
  { gate, full }: ExchangeServices,
): Admission | Promise<Admission> {
  if (full()) throw new CodedError('SERVICE_UNAVAILABLE', 'Cannot answer: too many requests are under way')
  if (principal === undefined) return UNKNOWN_KEY
  const { name: endpoint, features } = found.kind === 'endpoint' ? found.endpoint : NO_ENDPOINT
  return gate.admit({ principal, endpoint, features, session })
}

const UNKNOWN_KEY: Admission = { kind: 'unknown_key' }
const NO_ENDPOINT = { name: null, features: [] }

/** The answer to whoever has no key that is known. */
function toStranger({ fault, method }: Exchange, found: RouteMatch): PreparedAnswer {
  if (fault !== undefined) throw fault
  if (found.kind !== 'endpoint') return answerNonEndpoint(found, method)
  throw unknownKeyError()
}

/** Input, balance, read, price, presentation, text: in this order, so that nothing is left to fail after the charge. */
async function work(
  exchange: Exchange,
  admission: RecognizedCaller,
  services: ExchangeServices,
): Promise<PreparedAnswer> {
  const { requestId, settlementId, idempotencyKey, method, base, path, query, found, fault, signal, sheet } = exchange
  const { gate, openings, slots, deadlines } = services
  const { caller, requestedAtMs } = admission
  const { organizationId, apiKeyId } = caller
  if (fault !== undefined) throw fault
  if (admission.kind === 'refused') throw toRefusalError(admission)
  if (found.kind === 'page') throw new Error('Cannot charge for a page')
  if (found.kind !== 'endpoint') return answerNonEndpoint(found, method)

  const { endpoint } = found
  const asked = exchange.asked()
  const accepting = endpoint.route.accept(asked)
  const accepted = accepting instanceof Promise ? await accepting : accepting
  if (idempotencyKey !== undefined) {
    const asTable = sheet === undefined ? query : `${query}&${FORMAT_PARAMETER_NAME}`
    const once = { method: endpoint.route.method, path, query: asTable, body: accepted.bytes }
    const replay = toReplayedAnswer(
      await gate.claim(toIdempotencyClaim(idempotencyKey, once, { organizationId, settlementId })),
    )
    if (replay !== undefined) return replay
  }
  const address = query === '' ? `${base}${path}` : `${base}${path}?${query}`
  const sent = { address, body: accepted.bytes, isAll: asked.byAddress === true }
  const call = openings.find(sent) ?? accepted.call()
  const { creditsMin } = call
  checkCredits(caller, creditsMin)
  exchange.checkSession?.(caller)

  let opening: CachedResponse
  if ('read' in call) {
    const made = witnessed(call, { exchange, accepted, services })
    const reader = { callerSignal: signal, organizationId, apiKeyId, requestedAtMs }
    slots.take(organizationId)
    try {
      opening = openings.make(sent, { answer: await deadlines.read(made, reader), creditsMin })
    } finally {
      slots.leave(organizationId)
    }
  } else opening = call
  const { text, headers, credits } = opening
  // No request id has a character that JSON would escape.
  const body = `${text},"request_id":"${requestId}"}`
  // Checked last: an answer to a closed connection is not charged.
  if (signal.aborted) return CALLER_LEFT
  if (sheet === undefined) return { status: 200, body, credits, headers }
  const table = sheet.write(body)
  return { status: 200, body: table.body, credits, headers: { ...headers, ...table.headers } }
}

/** The call made so that its answer has a receipt, or says what it was read from, if it is to. */
function witnessed(
  call: RouteCall,
  { exchange, accepted, services }: { exchange: Exchange; accepted: IdentifiedRequest; services: ExchangeServices },
): RouteCall {
  const kind = call.receipt
  const { found } = exchange
  const isCited = exchange.isCited === true && found.kind === 'endpoint' && supportsReceipt(found.endpoint.route.input)
  if (kind === undefined && !isCited) return call
  const { method, path, query, settlementId: id } = exchange
  const { notary } = services
  if (kind !== undefined && notary === undefined) throw new CodedError('INVALID_PARAMETER', NO_RECEIPTS)
  const statement = { method, path, query, body: accepted.value() }
  const read = kind === undefined ? notary?.cited(statement) : notary?.receipted(statement, { kind, id, call })
  return read === undefined ? call : { ...call, read }
}

const NO_RECEIPTS = 'Cannot read parameter "receipt": expected nothing, this service gives no receipts'

interface BuiltAnswer {
  readonly admission: RecognizedCaller
  readonly answer: PreparedAnswer
}

function createSettlement(exchange: Exchange, { admission, answer }: BuiltAnswer, clock: Clock): Settlement {
  const { requestId, settlementId, method, path, found, logged, startedMs } = exchange
  const template = found.kind === 'page' ? undefined : getTemplate(found)
  return {
    settlementId,
    requestId,
    caller: admission.caller,
    admitted: admission.kind === 'admitted',
    requestedAtMs: admission.requestedAtMs,
    method,
    path: logged ?? template ?? path.slice(0, LOGGED_PATH_LENGTH_MAX),
    routed: template !== undefined,
    status: answer.status,
    credits: answer.credits,
    latencyMs: Math.max(0, Math.round(clock.monotonicMs() - startedMs)),
  }
}

function afterCharge(
  { requestId }: Exchange,
  { admission, answer }: BuiltAnswer,
  charge: SettlementResult,
): SettledAnswer {
  const { caller, rateLimit } = admission
  const { paid, refusedBy = 'organization', isSuperseded, creditsCharged, creditsRemaining } = charge
  const account = { rateLimit, creditsCharged, creditsRemaining }
  if (paid) return { answer, account }
  const refused = shownFailure(isSuperseded ? supersededError() : insufficientCreditsError(caller, refusedBy), {
    badGateway: false,
  })
  return { answer: failureAnswer(refused, requestId), account }
}
