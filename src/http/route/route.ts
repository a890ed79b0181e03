import type { GenericSchema } from 'valibot'
import type { Unwitnessed, Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { PinnedRead } from '../../lib/pinned_list.ts'
import { type Parameters, validateInput } from '../request/parameters.ts'
import type { Change, PreparedChange, Presenter } from './change.ts'
import { type Charge, computeCredits, getUnitCredits } from './charge.ts'
import {
  getRequestedReceipt,
  getRequestedTimeSec,
  type ReceiptKind,
  receiptBudgetMs,
  receiptCredits,
} from './receipt.ts'

/** Context of a read besides its typed input. */
export interface ReadContext {
  /** Ends when the caller disconnects, the service stops, or the request's budget is spent. */
  readonly work: Work
  /** Chains noted so far. @default those of `work` */
  readonly unwitnessed?: Unwitnessed
  /** End of the budget, milliseconds of the monotonic clock. */
  readonly untilMs: number
  readonly organizationId: string
  /** Id of the key, or the name of a job. */
  readonly apiKeyId: string
  /** When the request was admitted, milliseconds since the epoch, on the database's clock. */
  readonly requestedAtMs: number
  /** True if only state may be read: figures from logs are left out, and `Answer.uncovered` names them. */
  readonly isStateOnly?: boolean
}

/** The sender of a request to a plane: the holder of the operator's token, or a session. */
export interface Identity {
  readonly by: 'token' | 'session'
  /** Null for the token. */
  readonly sessionId: string | null
  /** The organization of a session; null for the operator. */
  readonly organizationId: string | null
}

/** Context of a free route besides its typed input. */
export interface ActContext extends PresentContext {
  readonly identity: Identity
  readonly clock: Clock
  /** When the request came, milliseconds since the epoch. */
  readonly nowMs: number
}

/** Context of presentation: pagination links need the caller's own address and parameters. */
export interface PresentContext {
  /** Absolute address of this request, canonical path, the caller's parameters kept. */
  readonly url: URL
}

/** The body of a success; the app adds `request_id`. */
export interface Reply {
  readonly data: unknown
  /** The rate by which figures of `data` were converted to a currency, if one was asked for. */
  readonly fx?: unknown
  /** How complete `data` is, if that varies. */
  readonly coverage?: unknown
  readonly pagination?: Pagination
  readonly counts?: unknown
  /** Receipt with which the figures can be recomputed, if requested. */
  readonly receipt?: unknown
  /** Sources of the figures, for agents. */
  readonly citation?: unknown
  /** Block at which each chain was read, for `X-As-Of`. */
  readonly asOf?: readonly {
    readonly chainId: number
    readonly blockNumber: bigint
    /** Its time, for cursors, where a block has one. */
    readonly timestampSec?: bigint
  }[]
  /**
   * Chains of which its figures of the past rest on the word of one endpoint, for `X-Unwitnessed`. What the work noted
   * is added to what a route names itself: stored figures that one endpoint alone gave. @default none
   */
  readonly unwitnessed?: readonly number[]
  /** True for a list, the newest first, to which entries come late: read on, it may tell some twice. @default false */
  readonly isLog?: boolean
  /** Headers of the route, by name in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Position of a page in its list, in answers. */
export interface Pagination {
  readonly page: number
  readonly limit: number
  readonly total: number
  readonly next_page: string | null
  readonly prev_page: string | null
}

/** Features that the operator can switch off. */
export const FEATURES = ['snapshots', 'mcp', 'history', 'triggers'] as const
export type Feature = (typeof FEATURES)[number]

/** Properties of every route, for the table of routes and OpenAPI. */
interface RouteFacts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Template with `:name` parameters, canonical names: `/v1/positions/uniswap-v3/:id`. */
  readonly path: string
  /** One sentence for OpenAPI. */
  readonly summary: string
  /** Schema of the whole success body without `request_id`, for OpenAPI and for tests of real answers. */
  readonly output: GenericSchema
}

interface ChargedFacts extends RouteFacts {
  readonly charge: Charge
  /**
   * Failures of its work, for OpenAPI. An unusable answer of a chain is 502 if listed, else 503. MISSING_PARAMETER: an
   * optional parameter may prove to be required. API_ENDPOINT_NOT_CONFIGURED: possible although no chain is read.
   */
  readonly errors?: readonly (404 | 502 | 503 | 504 | 'MISSING_PARAMETER' | 'API_ENDPOINT_NOT_CONFIGURED')[]
  /** True if it reads the page that is asked for, not a list of which a page is shown: its tables are pages too. */
  readonly readsPage?: true
  /** What its operation is named after in OpenAPI: `aave_events`; absent: its method and path. */
  readonly operation?: string
  /** Its tool for agents; absent: it is not one. */
  readonly tool?: ToolFacts
  /** False if no chain is read: answers have no `X-As-Of`. @default true */
  readonly asOf?: false
  /** Further description, for OpenAPI. */
  readonly description?: string
  /** Descriptions of its own headers by name, for OpenAPI. */
  readonly headers?: Readonly<Record<string, string>>
  /** Budget of its work in milliseconds, if it is more than the default. */
  readonly budgetMs?: number
  /** Its feature: 403 FEATURE_DISABLED if that is switched off. */
  readonly feature?: Feature
}

/** The work of a charged route that reads, from typed input to the wire. It changes nothing of the caller's. */
interface ChargedWork<Input, Result> extends ChargedFacts {
  readonly changes?: never
  readonly read: (input: Input, context: ReadContext) => Promise<Result>
  /** Number of units of `charge` in an answer. @default one */
  readonly count?: (result: Result, input: Input) => number
  readonly present: (result: Result, input: Input, context: PresentContext) => Reply
  /**
   * Until when the sources of a result are the newest, milliseconds of the monotonic clock: until then the same text
   * answers every equal request. Absent or 0: answers are not cached.
   */
  readonly untilMs?: (result: Result, input: Input) => number
  /** Parts of its answers that receipts do not cover, because receipts prove state, not logs. @default none */
  readonly uncovered?: {
    /** True if the answer has figures from logs. */
    readonly isAny: (input: Input) => boolean
    /** Paths of uncovered parts: `data.pnl`, `data[*].pnl` in each item, `data[3].pnl` in one. */
    readonly paths: (result: Result) => readonly string[]
  }
}

/**
 * The work of a charged route that changes data. It only prepares the change: the database makes it in the statement
 * that charges and logs the request, so that a request that is refused, unpaid, left or failed changes nothing.
 */
interface ChangingWork<Input> extends ChargedFacts {
  /** Agents ask before they call it. */
  readonly changes: true
  /** Checks the request and prepares its change; changes nothing. */
  readonly prepare: (input: Input, context: ReadContext) => Promise<Change>
  /**
   * Returns the function that presents the result of the change. Called before the change is made, because nothing that
   * can fail may follow it, and again for each repetition with the same idempotency key.
   */
  readonly presenter: () => Promise<Presenter>
}

interface FreeFacts extends RouteFacts {
  /** Status of a success: 201 if it creates an object. @default 200 */
  readonly status?: 200 | 201
  /** Failures of its work, for OpenAPI. */
  readonly errors?: readonly (403 | 404)[]
}

/** The work of a free route, without a `charge`: dates become ISO text, bigints decimal text. */
interface FreeWork<Input> extends FreeFacts {
  readonly act: (input: Input, context: ActContext) => Promise<Reply>
}

/** Schemas of a route: parameters, and a JSON body if it has one. The work receives both as one object. */
interface Schemas<Input, Body> {
  /** Schema of path and query parameters. */
  readonly input: GenericSchema<unknown, Input>
  readonly body?: GenericSchema<unknown, Body>
}

/** One request for a route, from HTTP, a tool or a test. */
export interface RouteRequest {
  /** Parameters come only from path and query, so the URL and body identify the answer. */
  readonly byAddress?: true
  /** Rows of the answer in place of the page that its parameters name, for a table of the whole list. */
  readonly rows?: { readonly page: number; readonly limit: number } | undefined
  /** Blocks at which a list began that goes on by a cursor; it is read at them unless its parameters name a moment. */
  readonly reads?: readonly PinnedRead[] | undefined
  readonly parameters: () => Parameters
  /** Reads the body. Only routes with a body call it, after their parameters are valid. */
  readonly body: () => Promise<RequestBody>
}

interface RequestBody {
  readonly bytes?: Buffer
  readonly value: () => unknown
}

/** A request whose content identifies it, before all of it is checked. */
export interface IdentifiedRequest {
  /** Bytes of the body, if the route has one and they are known. */
  readonly bytes: Buffer | undefined
  /** Parses the body as JSON, if the route has one. Throws as `RequestBody.value` does. */
  value(): unknown
  /**
   * Checks the remaining input. Throws `CodedError` MISSING_PARAMETER or INVALID_PARAMETER, or as `RequestBody.value`
   * does.
   */
  call(): RouteCall
}

/** A request whose input is valid. */
export interface RouteCall {
  /**
   * Credits that a caller must have, or is refused before any work: the minimum price of an answer that is not empty.
   * An empty answer may cost less, but reading is not free for the operator.
   */
  readonly creditsMin: number
  /** Budget of the work in milliseconds; undefined for the default. */
  readonly budgetMs: number | undefined
  readonly receipt: ReceiptKind | undefined
  /** True if some figures come from logs, which receipts do not cover. */
  readonly restsOnLogs: boolean
  /** The time that the answer is about, seconds since the epoch; undefined without `at_time`. */
  readonly atTimeSec: number | undefined
  /** Rejects if the route changes data. */
  read(context: ReadContext): Promise<Answer>
  /** Prepares the change; absent if the route reads. */
  prepare?(context: ReadContext): Promise<PreparedChange>
}

/** A result that is ready to be presented. */
export interface Answer {
  readonly credits: number
  /** Until when it may answer equal requests, milliseconds of the monotonic clock; 0: not at all. */
  readonly untilMs: number
  present(context: PresentContext): Reply
  /** Paths that an answer from state alone leaves out. @default none */
  readonly uncovered?: readonly string[]
}

/** One charged endpoint. Its types are erased: it accepts text or JSON and returns a reply and its price. */
export interface Route extends ChargedFacts, Schemas<unknown, unknown> {
  /** True if it changes data: its calls are prepared, not read. */
  readonly changes?: true
  /** Of a route that changes data: presents a result again. */
  readonly presenter?: () => Promise<Presenter>
  /**
   * Identifies a request: synchronously, or after reading the body if the route has one and the parameters are valid.
   * Throws `CodedError`, or as `request.body` does.
   */
  accept(request: RouteRequest): IdentifiedRequest | Promise<IdentifiedRequest>
}

/** One free endpoint. */
export interface FreeRoute extends FreeFacts, Schemas<unknown, unknown> {
  /** Checks parameters and body, and returns their work. Throws as `Route.accept` and its `call` do. */
  accept(request: RouteRequest): Promise<(context: ActContext) => Promise<Reply>>
}

/** Defines an endpoint: of the API with a `charge`, of a plane without. */
export function defineRoute<Input extends object, Body extends object, Result>(
  definition: ChargedWork<Input & Body, Result> & Schemas<Input, Body>,
): Route
/** Defines an endpoint of the API that changes data. */
export function defineRoute<Input extends object, Body extends object>(
  definition: ChangingWork<Input & Body> & Schemas<Input, Body>,
): Route
/** Defines a free endpoint. */
export function defineRoute<Input extends object, Body extends object>(
  definition: FreeWork<Input & Body> & Schemas<Input, Body>,
): FreeRoute
/** Defines a charged or a free endpoint. */
export function defineRoute<Input extends object, Body extends object, Result>(
  definition: (ChargedWork<Input & Body, Result> | ChangingWork<Input & Body> | FreeWork<Input & Body>) &
    Schemas<Input, Body>,
): Route | FreeRoute {
  if ('act' in definition) {
    const { act, ...facts } = definition
    return {
      ...facts,
      async accept(request) {
        const input = (await readRequest(definition, request)).check()
        return (context) => act(input, context)
      },
    }
  }
  if ('prepare' in definition) {
    const { prepare, ...facts } = definition
    return acceptWith(facts, definition, (valid) => new ChangeCall(definition, valid))
  }
  const { read, count, present, untilMs, uncovered, ...facts } = definition
  return acceptWith(facts, definition, (valid) => new WorkCall(definition, valid))
}

function acceptWith<Input extends object, Body extends object>(
  facts: Omit<Route, 'accept'>,
  schemas: Schemas<Input, Body>,
  toCall: (valid: Input & Body) => RouteCall,
): Route {
  return {
    ...facts,
    accept(request) {
      if (schemas.body !== undefined) return acceptBody(schemas, request, toCall)
      const call = () => {
        const valid = validateInput(schemas.input, request.parameters()) as Input & Body
        const { rows, reads } = request
        if (rows === undefined && reads === undefined) return toCall(valid)
        return toCall({ ...valid, ...rows, ...(reads && { reads }) })
      }
      return { bytes: undefined, value: nothing, call }
    },
  }
}

/** Checks the parameters and reads the body; returns its bytes and the check of the remaining input. */
async function readRequest<Input extends object, Body extends object>(
  { input, body }: Schemas<Input, Body>,
  request: RouteRequest,
): Promise<Pick<IdentifiedRequest, 'bytes' | 'value'> & { readonly check: () => Input & Body }> {
  const parameters = () => validateInput(input, request.parameters())
  if (body === undefined) {
    return { bytes: undefined, value: () => undefined, check: () => parameters() as Input & Body }
  }
  const valid = parameters()
  const { bytes, value } = await request.body()
  return { bytes, value, check: () => ({ ...valid, ...validateInput(body, { values: value() }) }) }
}

async function acceptBody<Input extends object, Body extends object>(
  schemas: Schemas<Input, Body>,
  request: RouteRequest,
  toCall: (valid: Input & Body) => RouteCall,
): Promise<IdentifiedRequest> {
  const { bytes, value, check } = await readRequest(schemas, request)
  return { bytes, value, call: () => toCall(check()) }
}

function nothing(): undefined {
  return undefined
}

/**
 * A valid input and its work. A class, like the answer, because a literal would allocate functions for each request.
 */
class WorkCall<Input extends object, Result> implements RouteCall {
  readonly creditsMin: number
  readonly budgetMs: number | undefined
  readonly receipt: ReceiptKind | undefined
  readonly restsOnLogs: boolean
  readonly atTimeSec: number | undefined
  readonly #work: ChargedWork<Input, Result>
  readonly #input: Input

  constructor(work: ChargedWork<Input, Result>, input: Input) {
    this.receipt = getRequestedReceipt(input)
    this.creditsMin = getUnitCredits(work.charge, input) + receiptCredits(this.receipt)
    this.budgetMs = receiptBudgetMs(this.receipt) ?? work.budgetMs
    this.restsOnLogs = work.uncovered?.isAny(input) ?? false
    this.atTimeSec = getRequestedTimeSec(input)
    this.#work = work
    this.#input = input
  }

  async read(context: ReadContext): Promise<Answer> {
    const { charge, count, untilMs, uncovered } = this.#work
    const result = await this.#work.read(this.#input, context)
    const units = count === undefined ? 1 : count(result, this.#input)
    const credits = computeCredits(charge, this.#input, units) + receiptCredits(this.receipt)
    if (!Number.isSafeInteger(credits) || credits < 0) throw new Error(`Cannot charge ${credits} credits`)
    const unwitnessed = context.unwitnessed ?? context.work.unwitnessed
    const until = untilMs?.(result, this.#input) ?? 0
    const answer = new WorkAnswer(this, result, { credits, untilMs: until, unwitnessed })
    if (!context.isStateOnly || !this.restsOnLogs) return answer
    return { ...answer, present: (presenting) => answer.present(presenting), uncovered: uncovered?.paths(result) ?? [] }
  }

  present(result: Result, context: PresentContext): Reply {
    return this.#work.present(result, this.#input, context)
  }
}

/** A valid input and the change that it asks for. */
class ChangeCall<Input extends object> implements RouteCall {
  readonly creditsMin: number
  readonly budgetMs: number | undefined
  readonly receipt = undefined
  readonly restsOnLogs = false
  readonly atTimeSec = undefined
  readonly #work: ChangingWork<Input>
  readonly #input: Input

  constructor(work: ChangingWork<Input>, input: Input) {
    this.creditsMin = getUnitCredits(work.charge, input)
    this.budgetMs = work.budgetMs
    this.#work = work
    this.#input = input
  }

  async read(): Promise<never> {
    throw new Error(`Cannot read ${this.#work.path}: it changes data`)
  }

  async prepare(context: ReadContext): Promise<PreparedChange> {
    const change = await this.#work.prepare(this.#input, context)
    return { change, credits: this.creditsMin, present: await this.#work.presenter() }
  }
}

class WorkAnswer<Input extends object, Result> implements Answer {
  readonly credits: number
  readonly untilMs: number
  readonly #call: WorkCall<Input, Result>
  readonly #result: Result
  readonly #unwitnessed: Unwitnessed

  constructor(
    call: WorkCall<Input, Result>,
    result: Result,
    { credits, untilMs, unwitnessed }: Pick<Answer, 'credits' | 'untilMs'> & { readonly unwitnessed: Unwitnessed },
  ) {
    this.credits = credits
    this.untilMs = untilMs
    this.#call = call
    this.#result = result
    this.#unwitnessed = unwitnessed
  }

  present(context: PresentContext): Reply {
    const reply = this.#call.present(this.#result, context)
    if (this.#unwitnessed.size === 0) return reply
    return { ...reply, unwitnessed: [...new Set([...(reply.unwitnessed ?? []), ...this.#unwitnessed])] }
  }
}

/** The tool of a route, for agents. Routes of several protocols that answer one question share a tool. */
interface ToolFacts {
  /** A verb and what it is about: `list_lending_positions`. Routes of one protocol each may have the same. */
  readonly name: string
  /** A name for people, of at most 48 characters. */
  readonly title: string
  /** What it reads, of every route that shares it. @default the summary of its route */
  readonly description?: string
  /** The protocol that the route reads: agents choose among those of their tool. */
  readonly protocol?: Protocol
  /** True for the one tool with which agents begin. */
  readonly isFirst?: true
}

/** A protocol as agents name it. */
interface Protocol {
  /** Path segment: `uniswap-v3`. */
  readonly code: string
  /** Its name for people, with the forks that it covers. */
  readonly name: string
}
