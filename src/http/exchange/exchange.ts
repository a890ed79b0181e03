import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { toHttpFailure as shownFailure } from '../error.ts'
import { LOGGED_PATH_LENGTH_MAX } from '../limits.ts'
import { type AccountState, failureAnswer, type PreparedAnswer } from '../respond.ts'
import type { PreparedChange } from '../route/change.ts'
import { type CsvTable, FORMAT_PARAMETER_NAME } from '../route/csv.ts'
import { type CursorPlace, findNextCursor, takesCursor } from '../route/cursor.ts'
import { type ReceiptIssuer, supportsReceipt } from '../route/receipt.ts'
import type { IdentifiedRequest, Reply, RouteCall, RouteRequest } from '../route/route.ts'
import { getTemplate, type RouteEndpoint, type RouteMatch } from '../route/route_table.ts'
import type { ConcurrencyLimiter } from './concurrency.ts'
import type { Deadlines } from './deadline.ts'
import {
  type Admission,
  type Caller,
  type Gate,
  type LimitScope,
  type Principal,
  type SessionRequest,
  type Settlement,
  type SettlementResult,
  UnknownOutcomeError,
} from './gate.ts'
import { supersededError, toIdempotencyClaim, toReplayedAnswer, toStoredAnswer } from './idempotency.ts'
import { findNames, formatNames, mayHaveNames, type NameReader, readNames } from './names.ts'
import { answerNonEndpoint, toFailureAnswer, toRefusalError, unknownKeyError } from './refusal.ts'
import { type CachedResponse, createTag, formatReply, type ResponseCache, withRequestId } from './response_cache.ts'
import { writeTable } from './table.ts'

/** An endpoint and its request, sent over HTTP, by a tool, by a job or by a test. */
export interface Invocation {
  readonly endpoint: RouteEndpoint
  /** Returns parameters and body; throws for invalid ones, so that the failure is answered and logged. */
  readonly getRequest: () => RouteRequest
  /** Path of the same request over HTTP, for links; `query` is without `?`. */
  readonly path: string
  readonly query: string
  /** Path for the log, if it is not the endpoint's template. */
  readonly loggedPath?: string
  readonly session?: SessionRequest
  /** Most credits that its answer may cost. @default no bound */
  readonly creditsMax?: bigint
  /** Its admission, if it was admitted before. */
  readonly admission?: Promise<Admission>
  /** Throws if the session is invalid; called once the input is valid. */
  readonly checkSession?: (caller: Caller) => void
  /** True if the answer cites what it was read from, where the route can. */
  readonly isCited?: true
}

/** One request between its arrival and its answer. */
export interface Exchange extends Omit<Invocation, 'endpoint'> {
  /** Undefined without a well-formed key. */
  readonly principal: Principal | undefined
  readonly requestId: string
  /** Generated even if the caller chose the request id: it identifies the settlement. */
  readonly settlementId: string
  readonly startedMs: number
  readonly method: string
  /** The `Idempotency-Key` header, if any. */
  readonly idempotencyKey?: string | undefined
  /** The `If-None-Match` header, if any: tags of answers that the caller has. */
  readonly knownTags?: string | undefined
  /** Writes a list as CSV, if requested. */
  readonly csv?: CsvTable | undefined
  /** The place of a list that a cursor names. */
  readonly place?: CursorPlace | undefined
  /** Headers of the table that the answer continues, if it does. */
  readonly tableHead?: Readonly<Record<string, string>>
  /** Canonical, not decoded. */
  readonly path: string
  /** Prefix of absolute links: scheme and host, and the public address's own path. */
  readonly base: string
  readonly match: RouteMatch | { readonly kind: 'page'; readonly show: () => PreparedAnswer | Promise<PreparedAnswer> }
  /** Error of the request itself. It is answered before any work, and logged for a recognized key. */
  readonly fault: CodedError | undefined
  /** Fires when the caller disconnects. */
  readonly signal: AbortSignal
  /** Address of the caller, for the log; absent without an HTTP request. */
  readonly client?: { readonly ip: string } | undefined
}

/** Creates the exchange of an invocation. `settlementId` must be new: each exchange is charged separately. */
export function createExchange(
  invocation: Invocation,
  requester: Pick<Exchange, 'principal' | 'requestId' | 'startedMs' | 'base' | 'signal' | 'client'>,
  settlementId: string,
): Exchange {
  const { endpoint, ...getRequest } = invocation
  const { principal, requestId, startedMs, base, signal, client } = requester
  const match = { kind: 'endpoint', endpoint, params: {} } as const
  const request = { requestId, settlementId, startedMs, method: endpoint.route.method, base, match, fault: undefined }
  return { ...getRequest, ...request, principal, signal, client }
}

export interface ExchangeServices {
  readonly gate: Gate
  readonly clock: Clock
  readonly log: Log
  readonly deadlines: Deadlines
  readonly responseCache: ResponseCache
  /** Absent: answers have no receipts and no citations. */
  readonly receiptIssuer?: ReceiptIssuer | undefined
  /** Absent: requests name wallets by their addresses alone. */
  readonly readName?: NameReader | undefined
  readonly concurrency: ConcurrencyLimiter
  readonly isFull: () => boolean
}

/** A finished answer, and its caller and the state of its organization if the key was recognized. */
export interface SettledAnswer {
  readonly answer: PreparedAnswer
  readonly account?: AccountState
  readonly caller?: Caller
}

/** What the work of a request leaves besides its answer. */
interface WorkState {
  /** True if the request has claimed its idempotency key, or may have. */
  holdsKey: boolean
  /** The change that its settlement makes; the answer is made of the result. */
  prepared: PreparedChange | undefined
}

type RecognizedCaller = Exclude<Admission, { readonly kind: 'unknown_key' }>

/** The caller disconnected before the charge. Only the log has this status. */
export const CALLER_LEFT: PreparedAnswer = { status: 499, body: '', credits: 0, headers: {} }

/**
 * Processes a request: admit, input, read, present, settle. Afterwards the answer is charged and logged, and only has
 * to be sent. Never rejects: every failure is an answer, and no step after the charge can fail.
 */
export async function runExchange(exchange: Exchange, services: ExchangeServices): Promise<SettledAnswer> {
  // Few asynchronous functions, here and below: each costs about a microsecond.
  const { match, settlementId } = exchange
  const { gate, clock } = services
  let admission: Admission
  try {
    if (match.kind === 'page') return { answer: await match.show() }
    admission = await admit(exchange, services)
    if (admission.kind === 'unknown_key') return { answer: answerUnknownKey(exchange, match) }
  } catch (error) {
    return { answer: answerFailure(error, exchange, services) }
  }

  const state: WorkState = { holdsKey: false, prepared: undefined }
  let answer: PreparedAnswer
  try {
    answer = await work(exchange, { admission, state }, services)
  } catch (error) {
    answer = exchange.signal.aborted ? CALLER_LEFT : answerFailure(error, exchange, services)
  }

  const { prepared } = state
  let settled: SettledAnswer
  let isUnknown = false
  try {
    if (prepared !== undefined) {
      settled = await settleChange(exchange, { admission, answer, prepared }, services)
    } else {
      const storedAnswer = state.holdsKey ? toStoredAnswer(answer) : undefined
      const charge = await gate.settle(createSettlement(exchange, { admission, answer }, clock), storedAnswer)
      settled = afterCharge(exchange, { admission, answer }, charge)
    }
  } catch (error) {
    isUnknown = error instanceof UnknownOutcomeError
    const { rateLimit, caller } = admission
    const account = { rateLimit, creditsCharged: 0, creditsRemaining: caller.credits }
    settled = { answer: answerFailure(error, exchange, services), account, caller }
  }
  // A change with an unknown outcome keeps its key: if it was committed it stays, and a repetition finds it done.
  const keepsKey = settled.answer.status === 200 || (isUnknown && prepared !== undefined)
  if (state.holdsKey && !keepsKey) await gate.release(settlementId, { isVoided: isUnknown })
  return settled
}

/** Charges, logs and makes a change. If the database refuses the change, the refusal is the answer. */
async function settleChange(
  exchange: Exchange,
  { admission, answer, prepared }: BuiltAnswer & { readonly prepared: PreparedChange },
  services: ExchangeServices,
): Promise<SettledAnswer> {
  const { gate, clock } = services
  const { change, present } = prepared
  const isKept = exchange.idempotencyKey !== undefined
  const outcome = await gate.settleChange(createSettlement(exchange, { admission, answer }, clock), change, { isKept })
  if (outcome.refusal !== undefined) {
    const refused = { admission, answer: answerFailure(change.refuse(outcome.refusal), exchange, services) }
    return afterCharge(exchange, refused, await gate.settle(createSettlement(exchange, refused, clock)))
  }
  if (!outcome.paid) return afterCharge(exchange, { admission, answer }, outcome)
  const body = withRequestId(formatReply(present(outcome.result)), exchange.requestId)
  return afterCharge(exchange, { admission, answer: { ...answer, body } }, outcome)
}

function answerFailure(
  error: unknown,
  { match, requestId }: Exchange,
  { clock, log }: ExchangeServices,
): PreparedAnswer {
  const badGateway = match.kind === 'endpoint' && match.endpoint.route.errors?.includes(502) === true
  const route = match.kind === 'endpoint' ? match.endpoint.name : match.kind
  return toFailureAnswer(error, { requestId, route, badGateway, clock, log })
}

/** Throws if too many requests are under way. */
function admit(
  { principal, match, session, admission }: Exchange,
  { gate, isFull }: ExchangeServices,
): Admission | Promise<Admission> {
  if (isFull()) throw new CodedError('SERVICE_UNAVAILABLE', 'Cannot answer: too many requests are under way')
  if (principal === undefined) return UNKNOWN_KEY
  if (admission !== undefined) return admission
  const { name: endpoint, features } = match.kind === 'endpoint' ? match.endpoint : NO_ENDPOINT
  return gate.admit({ principal, endpoint, features, session })
}

const UNKNOWN_KEY: Admission = { kind: 'unknown_key' }
const NO_ENDPOINT = { name: null, features: [] }

/** Answers a request without a known key. */
function answerUnknownKey({ fault, method }: Exchange, match: RouteMatch): PreparedAnswer {
  if (fault !== undefined) throw fault
  if (match.kind !== 'endpoint') return answerNonEndpoint(match, method)
  throw unknownKeyError()
}

/** Replaces names of wallets in a request by their addresses, works on that, and says the addresses in a header. */
async function work(
  exchange: Exchange,
  context: { readonly admission: RecognizedCaller; readonly state: WorkState },
  services: ExchangeServices,
): Promise<PreparedAnswer> {
  const { match, query, fault, signal } = exchange
  const { readName, deadlines, concurrency } = services
  const { admission } = context
  const hasNames = match.kind === 'endpoint' && readName !== undefined && mayHaveNames(match.endpoint.route, query)
  if (!hasNames || fault !== undefined || admission.kind === 'refused') return workPlainly(exchange, context, services)
  const { organizationId, apiKeyId } = admission.caller
  const found = await findNames(match.endpoint.route, { query, request: exchange.getRequest() })
  if (found === undefined) return workPlainly(exchange, context, services)
  let addresses: ReadonlyMap<string, string> = new Map()
  if (found.names.length > 0) {
    checkCredits(admission.caller, 1)
    concurrency.acquire(organizationId)
    try {
      const read = ({ work: own }: { readonly work: Work }) => readNames(found.names, readName, own)
      const reader = { callerSignal: signal, organizationId, apiKeyId, requestedAtMs: admission.requestedAtMs }
      addresses = await deadlines.read({ budgetMs: undefined, read }, reader)
    } finally {
      concurrency.release(organizationId)
    }
  }
  const { query: replaced, request } = found.replace(addresses)
  const answer = await workPlainly({ ...exchange, query: replaced, getRequest: () => request }, context, services)
  if (addresses.size === 0) return answer
  return { ...answer, headers: { ...answer.headers, 'x-wallet': formatNames(addresses) } }
}

/** Input, balance, read, price, presentation, text: in this order, so that no step after the charge can fail. */
async function workPlainly(
  exchange: Exchange,
  { admission, state }: { readonly admission: RecognizedCaller; readonly state: WorkState },
  services: ExchangeServices,
): Promise<PreparedAnswer> {
  const { requestId, settlementId, idempotencyKey, method, base, path, query, match, fault, signal } = exchange
  const { csv, place, tableHead } = exchange
  const { gate, responseCache, concurrency, deadlines } = services
  const { caller, requestedAtMs } = admission
  const { organizationId, apiKeyId } = caller
  if (fault !== undefined) throw fault
  if (admission.kind === 'refused') throw toRefusalError(admission)
  if (match.kind === 'page') throw new Error('Cannot charge for a page')
  if (match.kind !== 'endpoint') return answerNonEndpoint(match, method)

  const { endpoint } = match
  const request = exchange.getRequest()
  const identifying = endpoint.route.accept(request)
  const identified = identifying instanceof Promise ? await identifying : identifying
  if (idempotencyKey !== undefined) {
    const asTable = csv?.isTable ? `${query}&${FORMAT_PARAMETER_NAME}` : query
    const fromPlace = place === undefined ? asTable : `${asTable}&${JSON.stringify(place)}`
    const idempotentRequest = { method: endpoint.route.method, path, query: fromPlace, body: identified.bytes }
    const claim = toIdempotencyClaim(idempotencyKey, idempotentRequest, { organizationId, settlementId })
    // True while it is not known: a claim whose answer was lost would keep the key busy.
    state.holdsKey = true
    const claimed = await gate.claim(claim)
    state.holdsKey = claimed.kind === 'claimed'
    const replay = await toReplayedAnswer(claimed, endpoint.route)
    if (replay !== undefined) return replay
  }
  const address = query === '' ? `${base}${path}` : `${base}${path}?${query}`
  // A table of a page is made of the page's answer. One of the whole list is not kept: it would displace many others.
  const isCacheable = request.byAddress === true && csv?.isWhole !== true && place === undefined
  const toOwnHeaders = takesCursor(endpoint.route)
    ? (reply: Reply) => linkNext(findNextCursor(reply, { address, path, place }))
    : undefined
  const cacheable = { address, body: identified.bytes, isCacheable, toOwnHeaders }
  const call = responseCache.find(cacheable) ?? identified.call()
  const { creditsMin } = call
  checkCredits(caller, creditsMin)
  checkPrice(exchange, { creditsMin })
  exchange.checkSession?.(caller)

  let response: CachedResponse
  if ('read' in call) {
    const reader = { callerSignal: signal, organizationId, apiKeyId, requestedAtMs }
    concurrency.acquire(organizationId)
    try {
      if (call.prepare !== undefined) {
        const prepared = await deadlines.read({ budgetMs: call.budgetMs, read: call.prepare.bind(call) }, reader)
        // The last check, as below. From here on the change is made and kept, whether or not its caller stays.
        if (signal.aborted) return CALLER_LEFT
        state.prepared = prepared
        return { status: 200, body: null, credits: prepared.credits, headers: {} }
      }
      const receiptedCall = withReceipt(call, { exchange, accepted: identified, services })
      response = responseCache.store(cacheable, { answer: await deadlines.read(receiptedCall, reader), creditsMin })
    } finally {
      concurrency.release(organizationId)
    }
  } else response = call
  const { text, headers, credits } = response
  checkPrice(exchange, { credits })
  const body = withRequestId(text, requestId)
  // The last check: an answer to a closed connection is not charged.
  if (signal.aborted) return CALLER_LEFT
  if (csv === undefined) {
    if (method !== 'GET') return { status: 200, body, credits, headers }
    const etag = createTag(response, { organizationId, address })
    if (hasAnswer(exchange, etag)) return { status: 304, body: null, credits: 0, headers: { ...headers, etag } }
    return { status: 200, body, credits, headers: { ...headers, etag } }
  }
  return { status: 200, credits, ...writeTable(csv, { body, headers, place, tableHead }) }
}

/** True if the caller has this answer already, of the same blocks: it is neither sent nor charged again. */
function hasAnswer({ knownTags, idempotencyKey }: Exchange, etag: string): boolean {
  return idempotencyKey === undefined && knownTags?.includes(etag) === true
}

function linkNext(address: string | undefined): Readonly<Record<string, string>> {
  return address === undefined ? NO_LINK : { link: `<${address}>; rel="next"` }
}

const NO_LINK = {}

/** Wraps a call so that its answer has a receipt or a citation, if requested. */
function withReceipt(
  call: RouteCall,
  {
    exchange,
    accepted: identified,
    services,
  }: { exchange: Exchange; accepted: IdentifiedRequest; services: ExchangeServices },
): RouteCall {
  const kind = call.receipt
  const { match } = exchange
  const isCited = exchange.isCited === true && match.kind === 'endpoint' && supportsReceipt(match.endpoint.route.input)
  if (kind === undefined && !isCited) return call
  const { method, path, query, settlementId: id } = exchange
  const { receiptIssuer } = services
  if (kind !== undefined && receiptIssuer === undefined) throw new CodedError('INVALID_PARAMETER', NO_RECEIPTS)
  const statement = { method, path, query, body: identified.value() }
  const read =
    kind === undefined
      ? receiptIssuer?.readWithCitation(statement)
      : receiptIssuer?.readWithReceipt(statement, { kind, id, call })
  return read === undefined ? call : { ...call, read }
}

const NO_RECEIPTS = 'Cannot read parameter "receipt": expected nothing, this service issues no receipts'

interface BuiltAnswer {
  readonly admission: RecognizedCaller
  readonly answer: PreparedAnswer
}

function createSettlement(exchange: Exchange, { admission, answer }: BuiltAnswer, clock: Clock): Settlement {
  const { requestId, settlementId, method, path, match, loggedPath, startedMs } = exchange
  const template = match.kind === 'page' ? undefined : getTemplate(match)
  return {
    settlementId,
    requestId,
    caller: admission.caller,
    admitted: admission.kind === 'admitted',
    requestedAtMs: admission.requestedAtMs,
    method,
    path: loggedPath ?? template ?? path.slice(0, LOGGED_PATH_LENGTH_MAX),
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
  if (paid) return { answer, account, caller }
  const refused = shownFailure(isSuperseded ? supersededError() : insufficientCreditsError(caller, refusedBy), {
    badGateway: false,
  })
  return { answer: failureAnswer(refused, requestId), account, caller }
}

/** Throws 402 before the work if a limit cannot pay the minimum price of an answer. Changes nothing. */
function checkCredits(caller: Caller, creditsMin: number): void {
  const { credits, limits } = caller
  if (creditsMin > credits) throw insufficientCreditsError(caller, 'organization', formatShortage(creditsMin, credits))
  for (const { scope, spent, most } of limits) {
    if (most === undefined || BigInt(creditsMin) <= most - spent) continue
    throw insufficientCreditsError(caller, scope, formatShortage(creditsMin, spent < most ? most - spent : 0n))
  }
}

/**
 * Throws 402 if a call costs more than its own budget. As for the limits below, only the least price is told: the price
 * of an answer would reveal what a wallet holds.
 */
function checkPrice(
  { creditsMax }: { readonly creditsMax?: bigint },
  price: { readonly creditsMin: number } | { readonly credits: number },
): void {
  if (creditsMax === undefined) return
  if ('credits' in price) {
    if (BigInt(price.credits) > creditsMax) throw budgetError('it does not suffice')
  } else if (BigInt(price.creditsMin) > creditsMax) {
    throw budgetError(`it costs at least ${price.creditsMin} credits, ${creditsMax} are allowed`)
  }
}

function budgetError(reason: string): CodedError {
  return new CodedError('INSUFFICIENT_CREDITS', `Cannot pay for this call from its budget: ${reason}`)
}

/**
 * Creates the 402 of a limit. `price` is absent if the charge failed: the message must then hide the price, which would
 * reveal what a wallet holds.
 */
function insufficientCreditsError({ limits }: Caller, scope: LimitScope, price?: string): CodedError {
  const messagesByScope = {
    organization: () => `Cannot pay for this request: ${price ?? 'the balance does not suffice'}`,
    key: () => {
      const most = limits.find((limit) => limit.scope === 'key')?.most
      return `Cannot pay for this request: this key may spend ${most} credits a day (UTC), and too few of them are left`
    },
    session: () => `Cannot pay for this call from the budget of the session: ${price ?? 'it does not suffice'}`,
  }
  return new CodedError('INSUFFICIENT_CREDITS', messagesByScope[scope]())
}

function formatShortage(creditsMin: number, left: bigint): string {
  return `it costs at least ${creditsMin} credits, ${left} are left`
}
