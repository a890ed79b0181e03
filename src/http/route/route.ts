import type { GenericSchema } from 'valibot'
import { type Parameters, validateInput } from '../request/parameters.ts'
import type { Charge } from './charge.ts'
import type { ReceiptKind } from './receipt.ts'
import { WorkCall } from './work_call.ts'

/** What a reader may use of the request besides its typed input. */
export interface ReadContext {
  /** Fires when the caller leaves, the service stops, or the request's budget is spent. */
  readonly signal: AbortSignal
  /** When that budget is spent, milliseconds of the monotonic clock. */
  readonly untilMs: number
  readonly organizationId: string
  /** Of the key that asks, or the name of a job. */
  readonly apiKeyId: string
  /** When the request was admitted, milliseconds since the epoch, on the database's clock. */
  readonly requestedAtMs: number
  /** True if nothing but state is to be read: figures that rest on logs are left out, and `Answer.uncovered` names them. */
  readonly stateAlone?: boolean
}

/** Who acts on a plane: whoever holds the operator's token, or somebody who is signed in. */
export interface Identity {
  readonly by: 'token' | 'session'
  /** Null for the token. */
  readonly sessionId: string | null
  /** The organization of a session; null for the operator. */
  readonly organizationId: string | null
}

/** What a route that costs nothing may use of the request besides its typed input. */
export interface ActContext extends PresentContext {
  readonly identity: Identity
  /** Milliseconds since the epoch. */
  readonly nowMs: number
}

/** What presentation may use: pagination links need the caller's own address and parameters. */
export interface PresentContext {
  /** Absolute address of this request, canonical path, the caller's parameters kept. */
  readonly url: URL
}

/** A success: `request_id` is added by the app. */
export interface Reply {
  readonly data: unknown
  /** How complete `data` is, if that is not always the same. */
  readonly coverage?: unknown
  readonly pagination?: Pagination
  readonly counts?: unknown
  /** With which anybody can count the figures again, if it was asked for. */
  readonly receipt?: unknown
  /** What the figures were read from, for agents. */
  readonly citation?: unknown
  /** Block at which each chain was read, for `X-As-Of`. */
  readonly asOf?: readonly { readonly chainId: number; readonly blockNumber: bigint }[]
  /** Headers of this route's own, by name in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Position of a page in its list, as answers show it. */
export interface Pagination {
  readonly page: number
  readonly limit: number
  readonly total: number
  readonly next_page: string | null
  readonly prev_page: string | null
}

/** What the operator can switch off as a whole. */
export const FEATURES = ['snapshots', 'mcp', 'history', 'triggers'] as const
export type Feature = (typeof FEATURES)[number]

/** What the table of routes and OpenAPI know about every route. */
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
   * What its work can fail with, for OpenAPI. An unusable answer of a chain is 502 if that is listed, else 503.
   * MISSING_PARAMETER: an optional parameter may turn out to be needed. API_ENDPOINT_NOT_CONFIGURED: although no chain is
   * read.
   */
  readonly errors?: readonly (404 | 502 | 503 | 504 | 'MISSING_PARAMETER' | 'API_ENDPOINT_NOT_CONFIGURED')[]
  /** Its name as a tool of agents, unique: `aave_events`; without one it is not a tool. */
  readonly tool?: string
  /** True if it changes something, so that agents ask before they call it. @default false */
  readonly changes?: true
  /** False if no chain is read: answers have no `X-As-Of`. @default true */
  readonly asOf?: false
  /** What a caller should know besides, for OpenAPI. */
  readonly description?: string
  /** Headers of its own, by name, with what they say, for OpenAPI. */
  readonly headers?: Readonly<Record<string, string>>
  /** How long its work may take, if that is more than usual, milliseconds. */
  readonly budgetMs?: number
  /** The feature that it belongs to: 403 FEATURE_DISABLED if that is switched off. */
  readonly feature?: Feature
}

/** The work of a route that callers pay for, from typed input to the wire. */
export interface ChargedWork<Input, Result> extends ChargedFacts {
  readonly read: (input: Input, context: ReadContext) => Promise<Result>
  /** How many an answer has of what `charge` counts. @default one */
  readonly count?: (result: Result, input: Input) => number
  readonly present: (result: Result, input: Input, context: PresentContext) => Reply
  /**
   * Until when all that a result was read from is the newest, milliseconds of the monotonic clock: the same text is then
   * given to all who send the same. Absent or 0: each request is answered anew.
   */
  readonly untilMs?: (result: Result, input: Input) => number
  /** What no receipt covers of its answers, since receipts are of state. @default nothing */
  readonly uncovered?: {
    /** True if the answer has figures that rest on logs. */
    readonly isAny: (input: Input) => boolean
    /** Paths of what is not covered: `data.pnl`, of each item `data[*].pnl`, of one `data[3].pnl`. */
    readonly paths: (result: Result) => readonly string[]
  }
}

interface FreeFacts extends RouteFacts {
  /** Status of a success: 201 if it makes something. @default 200 */
  readonly status?: 200 | 201
  /** What its work can fail with, for OpenAPI. */
  readonly errors?: readonly (403 | 404)[]
}

/** The work of a route that costs nothing, and so has no `charge`: dates become ISO text, bigints decimal text. */
interface FreeWork<Input> extends FreeFacts {
  readonly act: (input: Input, context: ActContext) => Promise<Reply>
}

/** What a route takes: parameters, and a JSON body if it has a schema. Each checks its part, the work gets them as one. */
interface Schemas<Input, Body> {
  /** Of path and query parameters. */
  readonly input: GenericSchema<unknown, Input>
  readonly body?: GenericSchema<unknown, Body>
}

/** One request for a route, whether it came over HTTP, from a tool or from a test. */
export interface RouteRequest {
  /** Path and query alone make the parameters: whoever asks at the same address with the same body is answered alike. */
  readonly byAddress?: true
  readonly parameters: () => Parameters
  /** Reads the body. Only routes with a body call it, after their parameters are valid. */
  readonly body: () => Promise<RequestBody>
}

interface RequestBody {
  readonly bytes?: Buffer
  readonly value: () => unknown
}

/** A request that is known by what it sent, before all of it is checked. */
export interface IdentifiedRequest {
  /** Bytes of the body, if the route takes one and they are known. */
  readonly bytes: Buffer | undefined
  /** The body as JSON, if the route takes one. Throws as `RequestBody.value`. */
  value(): unknown
  /** Checks the rest. Throws `CodedError` MISSING_PARAMETER or INVALID_PARAMETER, or as `RequestBody.value` does. */
  call(): RouteCall
}

/** A request whose input is valid. */
export interface RouteCall {
  /**
   * What a caller must have, or is refused before any work: the least that an answer with something in it costs. One that
   * finds nothing may cost less, but reading is not free for the operator.
   */
  readonly creditsMin: number
  /** How long the work may take, milliseconds; undefined: as usual. */
  readonly budgetMs: number | undefined
  readonly receipt: ReceiptKind | undefined
  /** Some of its figures rest on logs, which no receipt covers. */
  readonly restsOnLogs: boolean
  read(context: ReadContext): Promise<Answer>
}

/** A result that is ready to be shown. */
export interface Answer {
  readonly credits: number
  /** Until when it may be given again to whoever sends the same, milliseconds of the monotonic clock; 0: not at all. */
  readonly untilMs: number
  present(context: PresentContext): Reply
  /** Paths of what an answer from state alone leaves out. @default nothing */
  readonly uncovered?: readonly string[]
}

/** One endpoint that callers pay for. Its types stay inside: it takes text or JSON and gives a reply and its price. */
export interface Route extends ChargedFacts, Schemas<unknown, unknown> {
  /**
   * At once, or reads the body if it takes one, after the parameters are valid. Throws `CodedError`, or as `asked.body`
   * does.
   */
  accept(asked: RouteRequest): IdentifiedRequest | Promise<IdentifiedRequest>
}

/** One endpoint that costs nothing. */
export interface FreeRoute extends FreeFacts, Schemas<unknown, unknown> {
  /** Checks parameters and body, and gives the work on them. Throws as that of `Route` and its `call`. */
  accept(asked: RouteRequest): Promise<(context: ActContext) => Promise<Reply>>
}

/** An endpoint: with a `charge` one of the API, for keys; without one of a plane, which takes no keys. */
export function defineRoute<Input extends object, Body extends object, Result>(
  definition: ChargedWork<Input & Body, Result> & Schemas<Input, Body>,
): Route
/** One that costs nothing. */
export function defineRoute<Input extends object, Body extends object>(
  definition: FreeWork<Input & Body> & Schemas<Input, Body>,
): FreeRoute
/** Either. */
export function defineRoute<Input extends object, Body extends object, Result>(
  definition: (ChargedWork<Input & Body, Result> | FreeWork<Input & Body>) & Schemas<Input, Body>,
): Route | FreeRoute {
  if ('act' in definition) {
    const { act, ...facts } = definition
    return {
      ...facts,
      async accept(asked) {
        const input = (await given(definition, asked)).check()
        return (context) => act(input, context)
      },
    }
  }
  const { read, count, present, untilMs, uncovered, ...facts } = definition
  return {
    ...facts,
    accept(asked) {
      const { input, body } = definition
      if (body !== undefined) return acceptBody(definition, asked)
      const call = () => new WorkCall(definition, validateInput(input, asked.parameters()) as Input & Body)
      return { bytes: undefined, value: nothing, call }
    },
  }
}

/** What was sent: the bytes of a body, whose parameters are valid, and the check of the rest. */
async function given<Input extends object, Body extends object>(
  { input, body }: Schemas<Input, Body>,
  asked: RouteRequest,
): Promise<Pick<IdentifiedRequest, 'bytes' | 'value'> & { readonly check: () => Input & Body }> {
  const parameters = () => validateInput(input, asked.parameters())
  if (body === undefined) {
    return { bytes: undefined, value: () => undefined, check: () => parameters() as Input & Body }
  }
  const valid = parameters()
  const { bytes, value } = await asked.body()
  return { bytes, value, check: () => ({ ...valid, ...validateInput(body, { values: value() }) }) }
}

async function acceptBody<Input extends object, Body extends object, Result>(
  definition: ChargedWork<Input & Body, Result> & Schemas<Input, Body>,
  asked: RouteRequest,
): Promise<IdentifiedRequest> {
  const { bytes, value, check } = await given(definition, asked)
  return { bytes, value, call: () => new WorkCall(definition, check()) }
}

function nothing(): undefined {
  return undefined
}
