import * as v from 'valibot'
import type { Database } from '../db/database.ts'
import { PARAMETER_LENGTH_MAX } from '../http/limits.ts'
import {
  choice,
  documented,
  instantFrom,
  instantTo,
  limit,
  page,
  shortText,
  wholeNumber,
} from '../http/request/input.ts'
import { isoTimestamp, listOutput } from '../http/request/schema.ts'
import { type Charge, PER_CALL } from '../http/route/charge.ts'
import { createPagination } from '../http/route/page.ts'
import { defineRoute, type Route } from '../http/route/route.ts'
import { CodedError } from '../lib/error.ts'
import { named, nonNegativeInteger, withWords } from '../lib/text/text_format.ts'
import { NO_ENDPOINT, readRequestLog } from './request_log.ts'

const MINUTE_MS = 60_000
const RANGE_MS = {
  '5m': 5 * MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  '24h': 1_440 * MINUTE_MS,
  '7d': 7 * 1_440 * MINUTE_MS,
  '30d': 30 * 1_440 * MINUTE_MS,
} as const
const CHARGE: Charge = { credits: 1, per: PER_CALL }
const RANGE_DEFAULT = '24h'

const usageInput = v.pipe(
  v.object({
    range: v.optional(
      v.pipe(
        choice(['5m', '1h', '24h', '7d', '30d']),
        v.description('How far back, instead of from and to; absent: 24h.'),
      ),
    ),
    from: v.optional(instantFrom),
    to: v.optional(instantTo),
    api_key_id: v.optional(
      v.pipe(shortText(64), v.description('Requests of this API key only, by its id.'), v.examples(['key_2vXbq7Yc'])),
    ),
    path: v.optional(
      v.pipe(
        shortText(PARAMETER_LENGTH_MAX),
        documented({
          type: 'string',
          maxLength: PARAMETER_LENGTH_MAX,
          description:
            'Template of an endpoint, or a path that leads to it; any other value: requests without a route.',
          examples: ['/v1/usage/logs'],
        }),
      ),
    ),
    status_code: v.optional(
      v.pipe(
        wholeNumber({ min: 100, max: 599, expected: 'expected an HTTP status from 100 to 599' }),
        v.description('Requests that were answered with this status only.'),
        v.examples([200]),
      ),
    ),
    errors: v.optional(
      v.pipe(choice(['all', 'success', 'errors']), v.description('Successes only, failures only, or all.')),
      'all',
    ),
    page,
    limit,
  }),
  v.check(
    ({ range, from, to }) => range === undefined || (from === undefined && to === undefined),
    'Cannot read parameter "range": expected either range, or from and to',
  ),
  v.check(
    ({ from, to }) => from === undefined || to === undefined || from.getTime() <= to.getTime(),
    'Cannot read parameter "to": expected a moment not before from',
  ),
)

type UsageInput = v.InferOutput<typeof usageInput>

const usageOutput = listOutput(
  named(
    'LoggedRequest',
    'A request of the organization',
    v.strictObject({
      method: withWords('Method of the request', v.string()),
      path: withWords('Template of its endpoint; a path without one is not logged as sent', v.string()),
      status_code: withWords('Status of the answer', nonNegativeInteger),
      latency_ms: withWords('Milliseconds from arrival to the answer', nonNegativeInteger),
      credits_charged: withWords('Credits that it cost', nonNegativeInteger),
      requested_at: withWords('When it arrived', isoTimestamp),
      api_key_id: withWords('Id of the key that it carried', v.string()),
      api_key_name: withWords('Name of that key', v.string()),
    }),
  ),
)

type UsagePage = Awaited<ReturnType<typeof readRequestLog>> & ReturnType<typeof toBounds>

/** A page of an organization's log, for the API and the dashboard: parameters, reading and presentation. */
export const logPage = {
  input: usageInput,
  output: usageOutput,
  /** Reads a page. `getTemplate` returns the endpoint's template of a path; undefined if it has none. */
  async read(
    db: Database,
    input: UsageInput,
    options: {
      readonly organizationId: string
      readonly requestedAtMs: number
      readonly getTemplate: (path: string) => string | undefined
    },
  ) {
    const { organizationId, requestedAtMs, getTemplate } = options
    const { fromMs, toMs } = toBounds(input, requestedAtMs)
    const result = await readRequestLog(db, {
      organizationId,
      fromMs,
      toMs,
      apiKeyId: input.api_key_id,
      path: input.path === undefined ? undefined : (getTemplate(input.path) ?? NO_ENDPOINT),
      statusCode: input.status_code,
      errors: input.errors,
      page: input.page,
      limit: input.limit,
    })
    return { ...result, fromMs, toMs }
  },
  /** Presents a page, whose links repeat its bounds: milliseconds since the epoch, `toMs` exclusive. */
  present({ entries, total, fromMs, toMs }: UsagePage, input: UsageInput, url: URL) {
    // The list grows with every call, so links repeat this page's bounds.
    const pinned = new URL(url.href)
    pinned.searchParams.delete('range')
    return {
      data: entries,
      // A call has a line once it is settled, under the time at which it came.
      isLog: true,
      pagination: createPagination({
        page: input.page,
        limit: input.limit,
        total,
        url: pinned,
        override: { from: iso(fromMs), to: iso(Math.max(fromMs, toMs - 1)) },
      }),
    }
  },
}

/**
 * `GET /v1/usage/logs`: the caller's own requests. `getTemplate` returns the endpoint's template of a path; undefined
 * if it has none.
 */
export function usageRoutes(options: {
  readonly db: () => Database
  readonly getTemplate: (path: string) => string | undefined
}): readonly Route[] {
  const { db, getTemplate } = options
  const logs = defineRoute({
    method: 'GET',
    path: '/v1/usage/logs',
    operation: 'usage_logs',
    tool: { name: 'list_requests', title: 'Requests of the own organization' },
    summary: "Request history of the caller's organization, newest first.",
    input: logPage.input,
    output: logPage.output,
    asOf: false,
    charge: CHARGE,
    read: (input, { organizationId, requestedAtMs }) =>
      logPage.read(db(), input, { organizationId, requestedAtMs, getTemplate }),
    present: (result, input, { url }) => logPage.present(result, input, url),
  })
  return [logs]
}

/**
 * Computes the requested range, which ends before the call itself. `from` without `to` ends now, `to` without `from`
 * begins one default range earlier. Throws `CodedError` if the range begins before 1970.
 */
function toBounds(input: UsageInput, requestedAtMs: number): { fromMs: number; toMs: number } {
  const { range, from, to } = input
  const toMs = to === undefined ? requestedAtMs : Math.min(requestedAtMs, to.getTime() + 1)
  const fromMs = from?.getTime() ?? toMs - RANGE_MS[range ?? RANGE_DEFAULT]
  if (fromMs < 0)
    throw new CodedError('INVALID_PARAMETER', 'Cannot read parameter "to": expected a moment after 1970-01-02')
  return { fromMs, toMs: Math.max(fromMs, toMs) }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
