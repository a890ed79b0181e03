import { describe, expect, test } from 'bun:test'
import { AbortedError, PendingError, UnavailableError, UpstreamError } from '../../../../src/lib/error.ts'
import { type Answer, type ClientRequest, createClient } from '../../../support/client.ts'
import { createFixture, type Fixture, WALLET } from '../../../support/http/fixture.ts'

const LIST = `/v1/positions/uniswap-v3?wallet=${WALLET}`
const ITEM = '/v1/positions/uniswap-v3/5'
const OBLIGATION = '/v1/lending/kamino/position/abc/yield'
const BATCH = '/v1/lending/aave-v3/batch'

/** One request, what it answers, and what the organization's log then holds. */
interface Scenario {
  readonly name: string
  readonly path: string
  readonly request?: ClientRequest
  readonly before?: (fixture: Fixture) => void
  readonly status: number
  readonly code?: string
  readonly message?: string
  /** Answer headers, exactly; null if one must be absent. */
  readonly headers?: Readonly<Record<string, string | null>>
  /** Path, status, credits and admission of the log's only row; null if the log stays empty. */
  readonly row: readonly [path: string, status: number, credits: number, admitted: boolean] | null
  /** How often a route has read. */
  readonly reads: number
}

const good = { key: 'good' }

const SCENARIOS: readonly Scenario[] = [
  {
    name: 'a list is charged by what its page holds',
    path: `${LIST}&limit=5&page=3`,
    request: good,
    status: 200,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-credits-charged': '4',
      'x-credits-remaining': '996',
      'x-ratelimit-limit': '1000',
      'x-ratelimit-remaining': '999',
      'x-ratelimit-reset': '1767323046',
      'x-as-of': '1:21000000,10:7',
      'retry-after': null,
      connection: null,
    },
    row: ['/v1/positions/uniswap-v3', 200, 4, true],
    reads: 1,
  },
  {
    name: 'an empty page costs nothing',
    path: `${LIST}&page=1000000000`,
    request: good,
    status: 200,
    headers: { 'x-credits-charged': '0', 'x-credits-remaining': '1000' },
    row: ['/v1/positions/uniswap-v3', 200, 0, true],
    reads: 1,
  },
  {
    name: 'an alias is the canonical path, in the log too',
    path: `/v1/positions/amm_a/5`,
    request: good,
    status: 200,
    headers: { 'x-as-of': null },
    row: ['/v1/positions/uniswap-v3/{id}', 200, 2, true],
    reads: 1,
  },
  {
    name: 'HEAD costs what GET costs',
    path: ITEM,
    request: { ...good, method: 'HEAD' },
    status: 200,
    headers: { 'x-credits-charged': '2' },
    row: ['/v1/positions/uniswap-v3/{id}', 200, 2, true],
    reads: 1,
  },
  {
    name: 'a body is read',
    path: BATCH,
    request: { ...good, method: 'POST', body: JSON.stringify({ wallets: [WALLET, WALLET.toLowerCase()] }) },
    status: 200,
    headers: { 'x-credits-charged': '30' },
    row: ['/v1/lending/aave-v3/batch', 200, 30, true],
    reads: 1,
  },

  ...(['GET', 'HEAD'] as const).map(
    (method): Scenario => ({
      name: `${method} with an unknown parameter is refused before any work, and not charged`,
      path: `${LIST}&chainid=10`,
      request: { ...good, method },
      status: 400,
      code: 'INVALID_PARAMETER',
      message: 'Unknown parameter "chainid": did you mean "chain_id"?',
      headers: { 'x-credits-charged': '0', 'x-credits-remaining': '1000' },
      row: ['/v1/positions/uniswap-v3', 400, 0, true],
      reads: 0,
    }),
  ),
  {
    name: 'an unknown parameter beside a body is refused',
    path: `${BATCH}?limits=5`,
    request: { ...good, method: 'POST', body: JSON.stringify({ wallets: [WALLET] }) },
    status: 400,
    code: 'INVALID_PARAMETER',
    message: 'Unknown parameter "limits": did you mean "limit"?',
    row: [BATCH, 400, 0, true],
    reads: 0,
  },
  {
    name: 'pages read no parameters, and take any',
    path: '/healthz?verbose',
    status: 200,
    row: null,
    reads: 0,
  },

  // Paths and methods.
  {
    name: 'an unknown path is 404 without a key, and not logged',
    path: '/v1/nothing',
    status: 404,
    code: 'NOT_FOUND',
    message: 'Cannot find this path, /docs lists all',
    headers: { 'x-ratelimit-limit': null, 'x-credits-charged': null },
    row: null,
    reads: 0,
  },
  {
    name: 'an unknown path with a bad key is 404 too',
    path: '/v1/nothing',
    request: { key: 'bad' },
    status: 404,
    code: 'NOT_FOUND',
    row: null,
    reads: 0,
  },
  {
    name: 'an unknown path with a good key is admitted and logged',
    path: `/v1/${'n'.repeat(300)}`,
    request: good,
    status: 404,
    code: 'NOT_FOUND',
    headers: { 'x-ratelimit-remaining': '999', 'x-credits-charged': '0' },
    row: [`/v1/${'n'.repeat(196)}`, 404, 0, true],
    reads: 0,
  },
  {
    name: 'a slash at the end is another path, and the nearest one is named',
    path: `${ITEM}/`,
    request: good,
    status: 404,
    code: 'NOT_FOUND',
    message: 'Cannot find this path, the nearest is /v1/positions/uniswap-v3/{id}, /docs lists all',
    row: [`${ITEM}/`, 404, 0, true],
    reads: 0,
  },
  {
    name: 'another method is 405 with Allow for an unknown caller',
    path: ITEM,
    request: { method: 'DELETE' },
    status: 405,
    code: 'INVALID_REQUEST',
    headers: { allow: 'GET, HEAD, OPTIONS' },
    row: null,
    reads: 0,
  },
  {
    name: 'another method with a good key is admitted and logged',
    path: BATCH,
    request: { ...good, method: 'GET' },
    status: 405,
    code: 'INVALID_REQUEST',
    headers: { allow: 'POST, OPTIONS', 'x-credits-charged': '0' },
    row: ['/v1/lending/aave-v3/batch', 405, 0, true],
    reads: 0,
  },
  {
    name: 'OPTIONS is 204 without a body',
    path: ITEM,
    request: { method: 'OPTIONS' },
    status: 204,
    headers: { allow: 'GET, HEAD, OPTIONS', 'content-type': null },
    row: null,
    reads: 0,
  },
  {
    name: 'OPTIONS with a good key is logged and free',
    path: ITEM,
    request: { ...good, method: 'OPTIONS' },
    status: 204,
    headers: { 'x-credits-charged': '0' },
    row: ['/v1/positions/uniswap-v3/{id}', 204, 0, true],
    reads: 0,
  },

  // Key and organization, before everything that follows.
  ...[
    ['no header', undefined],
    ['an unknown key', 'Bearer bad'],
    ['another scheme', 'Basic good'],
    ['two spaces', 'Bearer  good'],
    ['a space at the end', 'Bearer good x'],
    ['no key', 'Bearer '],
    ['two keys', 'Bearer good, Bearer good'],
    ['two keys without a space', 'Bearer good,good'],
    ['a key of 300 characters', `Bearer ${'g'.repeat(300)}`],
  ].map(
    ([name, authorization]): Scenario => ({
      name: `${name}: 401, with one and the same message`,
      path: `${LIST}&page=abc`,
      request: authorization === undefined ? {} : { headers: { authorization } },
      status: 401,
      code: 'INVALID_API_KEY',
      message: 'Cannot authenticate: expected a valid API key in the header "Authorization: Bearer <API key>"',
      headers: { 'x-ratelimit-limit': null, 'x-credits-remaining': null },
      row: null,
      reads: 0,
    }),
  ),
  {
    name: 'a deleted organization is 404 before its input is looked at',
    path: `${LIST}&page=abc`,
    request: { key: 'deleted' },
    status: 404,
    code: 'ORGANIZATION_NOT_FOUND',
    headers: { 'x-ratelimit-limit': '100', 'x-credits-charged': '0' },
    row: ['/v1/positions/uniswap-v3', 404, 0, false],
    reads: 0,
  },
  {
    name: 'a suspended organization is 403 before its input is looked at',
    path: `${LIST}&page=abc`,
    request: { key: 'suspended' },
    status: 403,
    code: 'ACCOUNT_SUSPENDED',
    headers: { 'x-credits-remaining': '5' },
    row: ['/v1/positions/uniswap-v3', 403, 0, false],
    reads: 0,
  },
  {
    name: 'a suspended organization is refused on unknown paths too',
    path: '/v1/nothing',
    request: { key: 'suspended' },
    status: 403,
    code: 'ACCOUNT_SUSPENDED',
    row: ['/v1/nothing', 403, 0, false],
    reads: 0,
  },
  {
    name: 'an endpoint that is switched off is 403 before its input is looked at',
    path: `${LIST}&page=abc`,
    request: good,
    before: ({ gate }) => gate.disabled.add('GET /v1/positions/uniswap-v3'),
    status: 403,
    code: 'ENDPOINT_DISABLED',
    row: ['/v1/positions/uniswap-v3', 403, 0, false],
    reads: 0,
  },
  {
    name: 'HEAD is switched off with GET',
    path: ITEM,
    request: { ...good, method: 'HEAD' },
    before: ({ gate }) => gate.disabled.add('GET /v1/positions/uniswap-v3/{id}'),
    status: 403,
    code: 'ENDPOINT_DISABLED',
    row: ['/v1/positions/uniswap-v3/{id}', 403, 0, false],
    reads: 0,
  },

  {
    name: 'a route of a feature that is switched off is 403 before its input is looked at',
    path: `${OBLIGATION}?target_health_factor=x`,
    request: good,
    before: ({ gate }) => gate.disabled.add('snapshots'),
    status: 403,
    code: 'FEATURE_DISABLED',
    message: 'Cannot answer: the operator has switched this feature off',
    headers: { 'x-credits-charged': '0' },
    row: ['/v1/lending/kamino/position/{obligation_address}/yield', 403, 0, false],
    reads: 0,
  },
  {
    name: 'routes without a feature do not feel its switch',
    path: ITEM,
    request: good,
    before: ({ gate }) => gate.disabled.add('snapshots').add('mcp'),
    status: 200,
    row: ['/v1/positions/uniswap-v3/{id}', 200, 2, true],
    reads: 1,
  },

  // Input, then balance, then work.
  {
    name: 'bad input comes before an empty balance',
    path: `${OBLIGATION}?target_health_factor=x`,
    request: { key: 'poor' },
    status: 400,
    code: 'INVALID_PARAMETER',
    message: 'Cannot read parameter "target_health_factor": expected a decimal number above 1 and at most 100, got "x"',
    headers: { 'x-credits-charged': '0', 'x-credits-remaining': '1' },
    row: ['/v1/lending/kamino/position/{obligation_address}/yield', 400, 0, true],
    reads: 0,
  },
  {
    name: 'who cannot pay the least is 402 before anything is read',
    path: ITEM,
    request: { key: 'poor' },
    status: 402,
    code: 'INSUFFICIENT_CREDITS',
    message: 'Cannot pay for this request: it costs at least 2 credits, 1 are left',
    headers: { 'x-credits-charged': '0', 'x-credits-remaining': '1' },
    row: ['/v1/positions/uniswap-v3/{id}', 402, 0, true],
    reads: 0,
  },
  {
    name: 'who cannot pay the exact price is 402 without data',
    // One position is within the balance, ten are not.
    path: `${LIST}&status=inactive`,
    request: { key: 'poor' },
    status: 402,
    code: 'INSUFFICIENT_CREDITS',
    // What it would have cost would tell how much the wallet holds.
    message: 'Cannot pay for this request: the balance does not suffice',
    headers: { 'x-credits-charged': '0', 'x-credits-remaining': '1', 'x-as-of': null },
    row: ['/v1/positions/uniswap-v3', 402, 0, true],
    reads: 1,
  },
  {
    name: 'an item that is not there is 404 and free',
    path: '/v1/positions/uniswap-v3/404',
    request: good,
    status: 404,
    code: 'NOT_FOUND',
    message: 'Cannot find position 404',
    headers: { 'x-credits-remaining': '1000' },
    row: ['/v1/positions/uniswap-v3/{id}', 404, 0, true],
    reads: 1,
  },

  // Failures of lower layers.
  {
    name: 'a chain that is away is 503 with Retry-After',
    path: ITEM,
    request: good,
    before: failing(new UnavailableError('Cannot read chain 1', { retryAfterSec: 7 })),
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    message: 'Cannot read chain 1',
    headers: { 'retry-after': '7', 'x-credits-charged': '0' },
    row: ['/v1/positions/uniswap-v3/{id}', 503, 0, true],
    reads: 1,
  },
  {
    name: 'an answer that is being prepared says how far it is',
    path: ITEM,
    request: good,
    before: failing(new PendingError('Wait', { progress: { percent: 37, left: { count: 1_234, unit: 'blocks' } } })),
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    headers: { 'retry-after': '1', 'x-progress': 'percent=37, left=1234, unit=blocks' },
    row: ['/v1/positions/uniswap-v3/{id}', 503, 0, true],
    reads: 1,
  },
  {
    name: 'one of which no more is known says so',
    path: ITEM,
    request: good,
    before: failing(new PendingError('Wait')),
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    headers: { 'x-progress': 'percent=0' },
    row: ['/v1/positions/uniswap-v3/{id}', 503, 0, true],
    reads: 1,
  },
  {
    name: 'an unusable upstream answer is 502 on a route that lists it',
    path: OBLIGATION,
    request: good,
    before: failing(new UpstreamError('Cannot use the answer of Solana')),
    status: 502,
    code: 'UPSTREAM_ERROR',
    headers: { 'x-credits-charged': '0' },
    row: ['/v1/lending/kamino/position/{obligation_address}/yield', 502, 0, true],
    reads: 1,
  },
  {
    name: 'an unusable upstream answer is 503 on any other route',
    path: ITEM,
    request: good,
    before: failing(new UpstreamError('Cannot use the answer of chain 1')),
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    headers: { 'retry-after': '1' },
    row: ['/v1/positions/uniswap-v3/{id}', 503, 0, true],
    reads: 1,
  },
  {
    name: 'an abort by the service is 503, not 499',
    path: ITEM,
    request: good,
    before: failing(new AbortedError('A shared read was given up')),
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    row: ['/v1/positions/uniswap-v3/{id}', 503, 0, true],
    reads: 1,
  },
  {
    name: 'an unexpected error is a generic 500 that shows nothing',
    path: ITEM,
    request: good,
    before: failing(new Error('secret https://rpc.example/key')),
    status: 500,
    code: 'INTERNAL_ERROR',
    message: 'Cannot answer because of an internal error',
    headers: { 'x-credits-charged': '0' },
    row: ['/v1/positions/uniswap-v3/{id}', 500, 0, true],
    reads: 1,
  },
  {
    name: 'an answer that cannot be written is 500 and free',
    path: LIST,
    request: good,
    before: ({ happenings }) => {
      happenings.data = { amount: 1n }
    },
    status: 500,
    code: 'INTERNAL_ERROR',
    headers: { 'x-credits-charged': '0', 'x-credits-remaining': '1000' },
    row: ['/v1/positions/uniswap-v3', 500, 0, true],
    reads: 1,
  },
  {
    name: 'a bad Host is 400 before anything else, and logged to a recognised key',
    path: ITEM,
    request: { ...good, headers: { host: 'a b' } },
    status: 400,
    code: 'INVALID_REQUEST',
    headers: { 'x-credits-charged': '0', 'x-ratelimit-limit': '1000' },
    row: ['/v1/positions/uniswap-v3/{id}', 400, 0, true],
    reads: 0,
  },
  {
    name: 'a bad Host is 400 without a key too, and not logged',
    path: ITEM,
    request: { headers: { host: 'a b' } },
    status: 400,
    code: 'INVALID_REQUEST',
    headers: { 'x-ratelimit-limit': null },
    row: null,
    reads: 0,
  },
  {
    name: 'a target that is too long is 400, and its beginning is logged',
    path: `/v1/${'a'.repeat(9_000)}`,
    request: good,
    status: 400,
    code: 'INVALID_REQUEST',
    message: 'Cannot read the request: expected at most 8192 characters of path and query',
    row: [`/v1/${'a'.repeat(196)}`, 400, 0, true],
    reads: 0,
  },
  {
    name: 'a body that is encoded is 415 before it is read, and logged',
    path: BATCH,
    request: { ...good, method: 'POST', body: 'x', headers: { 'content-encoding': 'gzip' } },
    status: 415,
    code: 'INVALID_REQUEST',
    message: 'Cannot read the body: expected it without Content-Encoding',
    headers: { 'accept-encoding': 'identity', connection: 'close', 'x-credits-charged': '0' },
    row: ['/v1/lending/aave-v3/batch', 415, 0, true],
    reads: 0,
  },
  ...['identity', 'Identity'].map((encoding) => ({
    name: `a body in the encoding "${encoding}" is one as it is`,
    path: BATCH,
    request: {
      ...good,
      method: 'POST',
      headers: { 'content-encoding': encoding },
      body: JSON.stringify({ wallets: [WALLET] }),
    },
    status: 200,
    row: ['/v1/lending/aave-v3/batch', 200, 15, true] as const,
    reads: 1,
  })),
  {
    name: 'a body that announces too much is 413 before the suspension of its sender, and logged',
    path: BATCH,
    request: { key: 'suspended', method: 'POST', headers: { 'content-length': '262145' }, body: '{}' },
    status: 413,
    code: 'INVALID_REQUEST',
    headers: { connection: 'close' },
    row: ['/v1/lending/aave-v3/batch', 413, 0, false],
    reads: 0,
  },
  {
    name: 'admission without a database is 503, unlogged',
    path: ITEM,
    request: good,
    before: ({ gate }) => {
      gate.failAdmit = new UnavailableError('Cannot reach the database')
    },
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    headers: { 'retry-after': '1', 'x-ratelimit-limit': null },
    row: null,
    reads: 0,
  },
  {
    name: 'settlement without a database is 503 without data',
    path: ITEM,
    request: good,
    before: ({ gate }) => {
      gate.failSettle = new UnavailableError('Cannot reach the database')
    },
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    headers: {
      'retry-after': '1',
      'x-credits-charged': '0',
      'x-credits-remaining': '1000',
      'x-ratelimit-limit': '1000',
    },
    row: null,
    reads: 1,
  },
  {
    name: 'an error that cannot be settled is 503',
    path: `${LIST}&page=abc`,
    request: good,
    before: ({ gate }) => {
      gate.failSettle = new UnavailableError('Cannot reach the database')
    },
    status: 503,
    code: 'SERVICE_UNAVAILABLE',
    row: null,
    reads: 0,
  },
]

describe('one request', () => {
  test.each(SCENARIOS.map((scenario): [string, Scenario] => [scenario.name, scenario]))(
    '%s',
    async (_name, scenario) => {
      const fixture = createFixture()
      scenario.before?.(fixture)
      const answer = await createClient(fixture.app.handler)(scenario.path, scenario.request)

      expect(answer.status).toBe(scenario.status)
      for (const [name, value] of Object.entries(scenario.headers ?? {})) {
        expect([name, answer.headers.get(name)]).toEqual([name, value])
      }
      expectEnvelope(answer, scenario)
      const rows = fixture.gate.rows.map((row) => [row.path, row.status, row.creditsCharged, row.admitted])
      expect(rows).toEqual(scenario.row === null ? [] : [[...scenario.row]])
      expect(fixture.gate.rows.every((row) => row.method === (scenario.request?.method ?? 'GET'))).toBe(true)
      expect(fixture.happenings.reads).toBe(scenario.reads)
      expect(fixture.app.inFlight()).toBe(0)
    },
  )
})

function failing(error: Error): (fixture: Fixture) => void {
  return ({ happenings }) => {
    happenings.instead = () => Promise.reject(error)
  }
}

function expectEnvelope(answer: Answer, { status, code, message }: Scenario): void {
  const id = answer.headers.get('x-request-id')
  expect(id).toMatch(/^req_[0-9A-Z]{26}$/)
  if (status === 204) {
    expect(answer.text).toBe('')
  } else if (code === undefined) {
    expect(answer.body.request_id).toBe(id)
    expect(answer.body.error).toBeUndefined()
  } else {
    expect(answer.body).toEqual({ error: { code, message: message ?? expect.any(String), request_id: id } })
    expect(answer.text).not.toMatch(/secret|rpc\.example|node_modules|\.ts:/)
  }
}
