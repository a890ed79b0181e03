import * as v from 'valibot'
import { toHttpFailure } from '../../src/http/error.ts'
import { readParameters } from '../../src/http/request/parameters.ts'
import type { Reply, Route, RouteRequest } from '../../src/http/route/route.ts'
import { createWork } from '../../src/lib/async/work.ts'

/** One question to a route, as the app would put it. */
export interface RouteTestRequest {
  readonly params?: Readonly<Record<string, string>>
  /** Query without `?`. */
  readonly query?: string
  readonly body?: unknown
  /** Rows in place of a page, as for a table of the whole list. */
  readonly rows?: RouteRequest['rows']
  /** Blocks at which a list began that goes on. */
  readonly reads?: RouteRequest['reads']
}

/** The route's reply and price. */
export interface RouteTestAnswer {
  readonly reply: Reply
  readonly credits: number
  readonly creditsMin: number
}

/** The time that a request has by default. */
const BUDGET_MS = 60_000

/**
 * Runs a route without the gate and holds its answer to its own schema. Throws as the route does. `untilMs` is the
 * deadline by the monotonic time of the route's clock.
 */
export async function callRoute(
  route: Route,
  { params = {}, query = '', body, rows, reads }: RouteTestRequest,
  signal: AbortSignal = new AbortController().signal,
  untilMs: number = performance.now() + BUDGET_MS,
): Promise<RouteTestAnswer> {
  const accepted = await route.accept({
    parameters: () => readParameters(route.input, { params, query }),
    body: async () => ({ value: () => body }),
    rows,
    reads,
  })
  const call = accepted.call()
  const answer = await call.read({
    work: createWork(AbortSignal.any([signal])),
    untilMs,
    organizationId: 'organization',
    apiKeyId: 'key',
    requestedAtMs: 0,
  })
  const url = new URL(`https://api.example.org${route.path}${query === '' ? '' : `?${query}`}`)
  const reply = answer.present({ url })
  const { asOf: _, headers: __, unwitnessed: ___, ...wire } = reply
  v.assert(
    route.output,
    JSON.parse(JSON.stringify(wire, reply.fx === undefined ? undefined : withoutCurrency(reply.fx))),
  )
  return { reply, credits: answer.credits, creditsMin: call.creditsMin }
}

/** Leaves out what an answer tells in a currency, which its schema describes by a pattern of names. */
function withoutCurrency(fx: unknown) {
  const { currency } = fx as { readonly currency: string }
  const code = currency.toLowerCase()
  return (name: string, value: unknown) => (name === code || name.endsWith(`_${code}`) ? undefined : value)
}

/** A failure of this route as the app answers it. */
export function toRouteFailure(error: unknown, route: Route) {
  return toHttpFailure(error, { badGateway: route.errors?.includes(502) ?? false })
}
