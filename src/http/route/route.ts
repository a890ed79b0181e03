import type { GenericSchema } from 'valibot'
import { createChecks } from '../request/checked.ts'
import { type Parameters, validated } from '../request/parameters.ts'

/** What a reader may use of the request besides its typed input. */
export interface ReadContext {
  /** Fires when the caller leaves, the service stops, or the request's budget is spent. */
  readonly signal: AbortSignal
  /** When that budget is spent, milliseconds of the monotonic clock. */
  readonly untilMs: number
  readonly organizationId: string
  /** When the request was admitted, milliseconds since the epoch, on the database's clock. */
  readonly requestedAtMs: number
}

/** What presentation may use: pagination links need the caller's own address and parameters. */
export interface PresentContext {
  /** Absolute address of this request, canonical path, the caller's parameters kept. */
  readonly url: URL
}

/** A success: `request_id` is added by the app. */
export interface Reply {
  readonly data: unknown
  readonly pagination?: Pagination
  readonly counts?: unknown
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
export const FEATURES = ['snapshots', 'mcp', 'history'] as const
export type Feature = (typeof FEATURES)[number]

/** What the table of routes, OpenAPI and the operator know about a route. */
interface RouteFacts {
  readonly method: 'GET' | 'POST'
  /** Template with `:name` parameters, canonical names: `/v1/positions/uniswap-v3/:id`. */
  readonly path: string
  /** Its name as a tool of agents, unique: `aave_events`; without one it is no tool. */
  readonly tool?: string
  /** One sentence for OpenAPI. */
  readonly summary: string
  /** Schema of the whole success body without `request_id`, for OpenAPI and for tests of real answers. */
  readonly output: GenericSchema
  /**
   * What its work can fail with, for OpenAPI. An unusable answer of a chain is 502 if that is listed, else 503.
   * MISSING_PARAMETER: an optional parameter may turn out to be needed.
   */
  readonly errors?: readonly (404 | 502 | 503 | 504 | 'MISSING_PARAMETER')[]
  /** False if no chain is read: answers have no `X-As-Of`. @default true */
  readonly asOf?: false
  /** What a caller should know besides, for OpenAPI. */
  readonly description?: string
  /** Headers of its own, by name, with what they say, for OpenAPI. */
  readonly headers?: Readonly<Record<string, string>>
  /** The feature that it belongs to: 403 FEATURE_DISABLED if that is switched off. */
  readonly feature?: Feature
  /** How the price is computed, one sentence for OpenAPI. */
  readonly price: string
}

/** The work of a route, from typed input to the wire. */
interface RouteWork<Input, Result> extends RouteFacts {
  /**
   * What a caller must have for this input, or is refused before any work: the least that an answer with something in it
   * costs. One that finds nothing may cost less, but reading is not free for the operator.
   */
  readonly creditsMin: (input: Input) => number
  readonly read: (input: Input, context: ReadContext) => Promise<Result>
  readonly credits: (result: Result, input: Input) => number
  readonly present: (result: Result, input: Input, context: PresentContext) => Reply
}

/** One request for a route, whether it came over HTTP, from a tool or from a test. */
export interface Asked {
  /** Text that the parameters are made from, if there is one: the same text is checked once. */
  readonly text?: string
  /** Path and query parameters together. */
  readonly parameters: () => Parameters
  /** Reads the body. Only routes with a body call it, after their parameters are valid. */
  readonly body: () => Promise<AskedBody>
}

/** A body as JSON, and its bytes if they are known. */
interface AskedBody {
  readonly bytes?: Buffer
  readonly value: () => unknown
}

/** A request whose input is valid. */
export interface Call {
  /** The same object for the same text, while it is remembered. */
  readonly input: object
  /** The least that a success with something in it can cost. */
  readonly creditsMin: number
  /** The readings that the answer would be made of, if all of them are kept. */
  kept(): readonly object[] | undefined
  read(context: ReadContext): Promise<Answer>
}

/** A result that is ready to be shown. */
export interface Answer {
  readonly credits: number
  /** The readings that it is made of; undefined if more than they, the input and the address decides what it says. */
  readonly madeOf: readonly object[] | undefined
  present(context: PresentContext): Reply
}

/** How an answer depends on readings, for a route whose answers can be given again while they are kept. */
interface Repeatable<Input, Result> {
  /** The readings that are kept for this input, each the object that a result would be made of; undefined if any is not. */
  readonly kept: (input: Input) => readonly object[] | undefined
  /** The readings of a result, in the same order, if they, the input and the address alone decide the answer. */
  readonly madeOf: (result: Result) => readonly object[] | undefined
}

/** One endpoint. Its types stay inside: it takes text or JSON and gives a reply and its price. */
export interface Route extends RouteFacts {
  /** Schema of path and query parameters. */
  readonly input: GenericSchema
  /** Schema of a JSON body. */
  readonly body?: GenericSchema
  /** Checks parameters and body. Throws `CodedError` MISSING_PARAMETER, INVALID_PARAMETER, or as `asked.body` does. */
  accept(asked: Asked): Promise<Call>
}

/** An endpoint without a body: its input is strings in path and query. */
export function route<Input extends object, Result>(
  definition: RouteWork<Input, Result> & {
    readonly input: GenericSchema<unknown, Input>
    readonly repeatable?: Repeatable<Input, Result>
  },
): Route {
  const { input } = definition
  const checked = createChecks<Input>()
  return {
    ...factsOf(definition),
    input,
    accept: async ({ text, parameters }) =>
      callOf(
        definition,
        checked(text === undefined ? undefined : { text }, () => validated(input, parameters())),
      ),
  }
}

/** An endpoint that also takes a JSON body. Both schemas check their part; `read` gets them as one object. */
export function routeWithBody<Input extends object, Body extends object, Result>(
  definition: RouteWork<Input & Body, Result> & {
    readonly input: GenericSchema<unknown, Input>
    readonly body: GenericSchema<unknown, Body>
    readonly repeatable?: Repeatable<Input & Body, Result>
  },
): Route {
  const checkedParameters = createChecks<Input>()
  const checked = createChecks<Input & Body>()
  return {
    ...factsOf(definition),
    input: definition.input,
    body: definition.body,
    async accept({ text, parameters, body }) {
      const known = text === undefined ? undefined : { text }
      const input = checkedParameters(known, () => validated(definition.input, parameters()))
      const { bytes, value } = await body()
      const sent = known && bytes && { ...known, body: bytes }
      const both = () => ({ ...input, ...validated(definition.body, { values: value() }) })
      return callOf(definition, checked(sent, both))
    },
  }
}

function factsOf(facts: RouteFacts): RouteFacts {
  const { method, path, tool, summary, output, errors, asOf, description, headers, feature, price } = facts
  return {
    method,
    path,
    summary,
    output,
    price,
    ...(tool === undefined ? {} : { tool }),
    ...(errors === undefined ? {} : { errors }),
    ...(asOf === undefined ? {} : { asOf }),
    ...(description === undefined ? {} : { description }),
    ...(headers === undefined ? {} : { headers }),
    ...(feature === undefined ? {} : { feature }),
  }
}

function callOf<Input extends object, Result>(
  work: RouteWork<Input, Result> & { readonly repeatable?: Repeatable<Input, Result> },
  input: Input,
): Call {
  const { repeatable } = work
  return {
    input,
    creditsMin: work.creditsMin(input),
    kept: () => repeatable?.kept(input),
    async read(context) {
      const result = await work.read(input, context)
      const credits = work.credits(result, input)
      if (!Number.isSafeInteger(credits) || credits < 0) throw new Error(`Cannot charge ${credits} credits`)
      const madeOf = repeatable?.madeOf(result)
      return { credits, madeOf, present: (presenting) => work.present(result, input, presenting) }
    },
  }
}
