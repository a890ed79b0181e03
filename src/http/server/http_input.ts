import type { Clock } from '../../lib/clock.ts'
import { readJson } from '../request/body.ts'
import { type Parameters, type RawInput, readParameters } from '../request/parameters.ts'
import type { Route, RouteRequest } from '../route/route.ts'

type SentInput = RawInput & { readonly clock: Clock } & Pick<RouteRequest, 'rows' | 'reads'>

/** Parameters and body of an HTTP request. A class, because a literal would allocate functions for each request. */
export class HttpInput implements RouteRequest {
  readonly byAddress = true
  readonly rows: RouteRequest['rows']
  readonly reads: RouteRequest['reads']
  readonly #request: Request
  readonly #schema: Route['input']
  readonly #sent: SentInput

  constructor(request: Request, schema: Route['input'], sent: SentInput) {
    this.#request = request
    this.#schema = schema
    this.#sent = sent
    this.rows = sent.rows
    this.reads = sent.reads
  }

  parameters(): Parameters {
    return readParameters(this.#schema, this.#sent)
  }

  body(): ReturnType<RouteRequest['body']> {
    return readJson(this.#request, this.#sent.clock)
  }
}
