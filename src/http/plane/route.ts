import type { GenericSchema } from 'valibot'
import { type Parameters, validated } from '../request/parameters.ts'
import type { Pagination } from '../route/route.ts'

/** Who acts: whoever holds the operator's token, or somebody who is signed in. */
export interface Identity {
  readonly by: 'token' | 'session'
  /** Null for the token. */
  readonly sessionId: string | null
  /** The organization of a session; null for the operator. */
  readonly organizationId: string | null
}

/** What a route may use of the request besides its typed input. */
export interface ActContext {
  readonly identity: Identity
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  /** Absolute address of this request, the caller's parameters kept: pagination links need it. */
  readonly url: URL
}

/** A success: `request_id` is added by the plane. Dates become ISO text, bigints decimal text. */
export interface Acted {
  readonly data: unknown
  readonly pagination?: Pagination
  readonly headers?: Readonly<Record<string, string>>
}

/** What the table of routes and OpenAPI know about a route that costs nothing. */
interface ActFacts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Template with `:name` parameters: `/admin/v1/organizations/:id`. */
  readonly path: string
  /** One sentence for OpenAPI. */
  readonly summary: string
  /** Status of a success: 201 if it makes something. @default 200 */
  readonly status?: 200 | 201
  /** Schema of the whole success body without `request_id`. */
  readonly output: GenericSchema
  /** What its work can fail with, for OpenAPI. */
  readonly errors?: readonly (403 | 404)[]
}

/** The work of a route. */
interface ActWork<Input> extends ActFacts {
  readonly act: (input: Input, context: ActContext) => Promise<Acted>
}

/** One endpoint of a plane that takes no keys. Its types stay inside: it takes text or JSON and gives an answer. */
export interface ActRoute extends ActFacts {
  /** Schema of path and query parameters. */
  readonly input: GenericSchema
  /** Schema of a JSON body. */
  readonly body?: GenericSchema
  /** Checks parameters and body. Throws `CodedError` MISSING_PARAMETER, INVALID_PARAMETER, or as `body` does. */
  accept(asked: {
    readonly parameters: Parameters
    readonly body: () => Promise<unknown>
  }): Promise<(context: ActContext) => Promise<Acted>>
}

/** An endpoint without a body. */
export function actRoute<Input>(
  definition: ActWork<Input> & { readonly input: GenericSchema<unknown, Input> },
): ActRoute {
  return {
    ...factsOf(definition),
    input: definition.input,
    async accept({ parameters }) {
      const input = validated(definition.input, parameters)
      return (context) => definition.act(input, context)
    },
  }
}

/** An endpoint that also takes a JSON body. Both schemas check their part; `act` gets them as one object. */
export function actRouteWithBody<Input extends object, Body extends object>(
  definition: ActWork<Input & Body> & {
    readonly input: GenericSchema<unknown, Input>
    readonly body: GenericSchema<unknown, Body>
  },
): ActRoute {
  return {
    ...factsOf(definition),
    input: definition.input,
    body: definition.body,
    async accept({ parameters, body }) {
      const input = validated(definition.input, parameters)
      const whole = { ...input, ...validated(definition.body, { values: await body() }) }
      return (context) => definition.act(whole, context)
    },
  }
}

function factsOf({ method, path, summary, status = 200, output, errors = [] }: ActFacts): ActFacts {
  return { method, path, summary, status, output, errors }
}
