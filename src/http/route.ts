import type { GenericSchema } from 'valibot'

/** What a reader may use of the request besides its typed input. */
export interface ReadContext {
  /** Fires when the caller leaves, the service stops, or the request's budget is spent. */
  readonly signal: AbortSignal
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
}

/** Where a page stands in its list, as an answer says it. */
export interface Pagination {
  readonly page: number
  readonly limit: number
  readonly total: number
  readonly next_page: string | null
  readonly prev_page: string | null
}

/**
 * One endpoint. `input` validates path and query parameters together (all strings), `body` a JSON body; both reach
 * `read` as one object. Everything that is equal between routes is in `app.ts`.
 */
export interface RouteDefinition<Input, Body, Result> {
  readonly method: 'GET' | 'POST'
  /** Template with `:name` parameters, canonical names: `/v1/positions/uniswap-v3/:id`. */
  readonly path: string
  /** One sentence for OpenAPI. */
  readonly summary: string
  readonly input: GenericSchema<unknown, Input>
  readonly body?: GenericSchema<unknown, Body>
  /** Schema of the whole success body without `request_id`, for OpenAPI and for tests of real answers. */
  readonly output: GenericSchema
  /** What its work can fail with, for OpenAPI; an unusable answer of a chain is 502 only where that is listed, else 503. */
  readonly errors?: readonly (404 | 502 | 503 | 504)[]
  /** False where no chain is read, so that no answer carries `X-As-Of`. @default true */
  readonly asOf?: false
  /** How the price is reckoned, one sentence for OpenAPI. */
  readonly price: string
  /** The least a 2xx can cost with this input: who cannot pay it is refused before any work. */
  readonly creditsMin: (input: Input & Body) => number
  readonly read: (input: Input & Body, context: ReadContext) => Promise<Result>
  readonly credits: (result: Result, input: Input & Body) => number
  readonly present: (result: Result, input: Input & Body, context: PresentContext) => Reply
}

/** A route whose types have been checked by `route()` and forgotten, so that different ones fit one table. */
export type Route = RouteDefinition<never, never, never>

/** Checks one endpoint's types from `read` to `present` and makes it fit the table of routes. */
export function route<Input, Body = unknown, Result = unknown>(
  definition: RouteDefinition<Input, Body, Result>,
): Route {
  return definition as unknown as Route
}
