import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as v from 'valibot'
import { createKey } from '../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { type AccountGate, createGate } from '../../../src/account/gate/gate.ts'
import { usageRoutes } from '../../../src/account/routes.ts'
import type { Database } from '../../../src/db/database.ts'
import { TABLE_PIECE_ROWS } from '../../../src/http/limits.ts'
import { openapiDocument } from '../../../src/http/openapi/document.ts'
import type { Route } from '../../../src/http/route/route.ts'
import { createRouteTable } from '../../../src/http/route/route_table.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { createRequestIdGenerator } from '../../../src/lib/request_id.ts'
import { type Account, createAccount, readBooks, settlement } from '../../support/account/scene.ts'
import { createClient } from '../../support/client.ts'
import { temporaryDirectory, testDatabase } from '../../support/database.ts'
import { fixtureRoutes } from '../../support/http/fixture.ts'
import { slowClock } from '../../support/test_clock.ts'

const PATH = '/v1/usage/logs'
const DAY_MS = 86_400_000

let db: Database
let gate: AccountGate
let call: ReturnType<typeof createClient>
let routes: readonly Route[]

beforeAll(async () => {
  db = (await testDatabase()).db
  gate = await createGate({ db, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
  const aliases = new Map([
    ['amm_a', 'uniswap-v3'],
    ['lending_a', 'aave-v3'],
  ])
  const happenings = { reads: 0, held: undefined, instead: undefined, data: undefined, untilMs: 0, total: 12 }
  routes = [
    ...usageRoutes({ db: () => db, getTemplate: (path) => table.getTemplate(path) }),
    ...fixtureRoutes(happenings),
  ]
  const table = createRouteTable(routes, aliases)
  const app = createApp({
    routes,
    aliases,
    gate,
    clock: slowClock,
    log: silentLog,
    metrics: createMetrics(),
    hostNames: ['test.local'],
    corsOrigins: [],
    probes: { database: async () => true, chains: new Map() },
    openapi: () => '{}',
    requestId: createRequestIdGenerator({ clock: systemClock, fill: (bytes) => crypto.getRandomValues(bytes) }),
  })
  call = createClient(app.handler)
}, 60_000)

afterAll(async () => {
  await gate.close(2_000)
}, 60_000)

/** An account whose log holds one request per entry, so many milliseconds before `now`. */
async function accountWith(
  requests: readonly {
    readonly agoMs: number
    readonly path?: string
    readonly routed?: boolean
    readonly status?: number
  }[],
  now = Date.now(),
): Promise<Account> {
  const account = await createAccount(db)
  for (const { agoMs, path = '/v1/positions/uniswap-v3', routed = true, status = 200 } of requests) {
    const requestedAtMs = now - agoMs
    const credits = status === 200 ? 1 : 0
    await gate.settle(settlement(account.caller, { requestedAtMs, path, routed, status, credits }))
  }
  return account
}

test('GET /v1/usage/logs shows the own requests newest first, for 1 credit, and not the call itself', async () => {
  const account = await accountWith([{ agoMs: 60_000 }, { agoMs: 30_000, status: 404 }])
  const answer = await call(PATH, { key: account.key })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-credits-charged')).toBe('1')
  expect(answer.body.pagination).toEqual({ page: 1, limit: 10, total: 2, next_page: null, prev_page: null })
  expect(answer.body.data).toEqual([
    {
      method: 'GET',
      path: '/v1/positions/uniswap-v3',
      status_code: 404,
      latency_ms: 3,
      credits_charged: 0,
      requested_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      api_key_id: account.apiKeyId,
      api_key_name: 'main',
    },
    expect.objectContaining({ status_code: 200, credits_charged: 1 }),
  ])
  const [logs] = routes
  const { request_id: _, ...body } = answer.body
  expect(v.is(logs?.output ?? v.never(), body)).toBe(true)
  // The call shows up in the next answer, and the books are right.
  const next = await call(PATH, { key: account.key })
  expect(next.body.data[0]).toMatchObject({ path: PATH, status_code: 200, credits_charged: 1 })
  expect(await readBooks(db, account.organizationId)).toMatchObject({ charged: 3, logged: 4 })
})

test('as a table has every row once, though the table itself adds rows, and is charged exactly for each piece', async () => {
  const account = await createAccount(db)
  const total = 2 * TABLE_PIECE_ROWS + 7
  const from = Date.now() - 3_600_000
  const rows = Array.from({ length: total }, (_, latencyMs) =>
    settlement(account.caller, { requestedAtMs: from + latencyMs, status: 404, credits: 0, latencyMs }),
  )
  await Promise.all(rows.map((row) => gate.settle(row)))
  const { status, text, headers } = await call(`${PATH}?format=csv`, { key: account.key })
  const [names = '', ...lines] = text.split('\r\n').slice(0, -1)
  const place = names.split(',').indexOf('latency_ms')
  expect([status, headers.get('x-total-count')]).toEqual([200, String(total)])
  expect(lines.map((line) => Number(line.split(',')[place]))).toEqual(rows.map(({ latencyMs }) => latencyMs).reverse())
  expect(await readBooks(db, account.organizationId)).toMatchObject({ charged: 3, logged: total + 3, balance: 997 })
})

test('range, from and to choose the time; the default is the last 24 hours', async () => {
  const day = new Date(Date.now() - 3 * DAY_MS).toISOString().slice(0, 10)
  const dayMs = Date.parse(day)
  const now = Date.now()
  const agosMs = [
    60_000,
    30 * 60_000,
    20 * 3_600_000,
    now - dayMs,
    now - (dayMs + DAY_MS - 1),
    now - (dayMs + DAY_MS),
    29 * DAY_MS,
    40 * DAY_MS,
  ]
  const account = await accountWith(
    agosMs.map((agoMs) => ({ agoMs })),
    now,
  )
  const total = async (query: string) => {
    const answer = await call(`${PATH}?api_key_id=${account.apiKeyId}&path=/v1/positions/uniswap-v3${query}`, {
      key: account.key,
    })
    return answer.status === 200 ? answer.body.pagination.total : answer.body.error.code
  }
  expect(await total('')).toBe(3)
  expect(await total('&range=5m')).toBe(1)
  expect(await total('&range=1h')).toBe(2)
  expect(await total('&range=24h')).toBe(3)
  expect(await total('&range=7d')).toBe(6)
  expect(await total('&range=30d')).toBe(7)
  expect(await total(`&from=${day}&to=${day}`)).toBe(2)
  expect(await total('&from=1970-01-01')).toBe(8)
  expect(await total(`&from=${new Date(now - 3_600_000).toISOString()}`)).toBe(2)
  expect(await total('&from=2199-01-01')).toBe(0)
  expect(await total(`&to=${new Date(now - 10 * DAY_MS).toISOString().slice(0, 19)}`)).toBe(0)
  for (const wrong of [
    '&range=24h&from=2024-01-01',
    '&range=1d',
    '&from=2024-02-30',
    '&from=2024-1-1',
    '&from=yesterday',
    '&from=2024-02-02&to=2024-02-01',
    '&errors=none',
    '&status_code=99',
    '&status_code=2e2',
    '&page=0',
    '&limit=26',
  ]) {
    expect([wrong, await total(wrong)]).toEqual([wrong, 'INVALID_PARAMETER'])
  }
})

test('filters by path, by status, by errors, and by key', async () => {
  const account = await accountWith([
    { agoMs: 1_000, path: '/v1/positions/uniswap-v3' },
    { agoMs: 2_000, path: '/v1/positions/uniswap-v3/{id}', status: 404 },
    { agoMs: 3_000, path: '/v1/positions/uniswap-v3/{id}', status: 503 },
    { agoMs: 4_000, path: '/v1/positions/uniswap-v3/7/x', routed: false, status: 400 },
  ])
  const reader = await createKey(db, { by: CLI_ACTOR, organizationId: account.organizationId, name: 'reader' })
  const statuses = async (query: string) => {
    const answer = await call(`${PATH}?api_key_id=${account.apiKeyId}&${query}`, { key: reader.key })
    expect(answer.body.pagination.total).toBe(answer.body.data.length)
    return answer.body.data.map((entry: { status_code: number }) => entry.status_code)
  }
  // The template, and paths that lead to it.
  for (const path of ['%7Bid%7D', '{id}', '7', '007', 'x%20y', '%252e']) {
    expect([path, await statuses(`path=/v1/positions/uniswap-v3/${path}`)]).toEqual([path, [404, 503]])
    expect([path, await statuses(`path=/v1/positions/amm_a/${path}`)]).toEqual([path, [404, 503]])
  }
  expect(await statuses('path=/v1/positions/amm_a')).toEqual([200])
  // A path without an endpoint stands for all such paths.
  for (const path of ['/v1/positions/uniswap-v3/', '/v1/positions/uniswap-v3/7/x', '/nothing', 'v1', '*']) {
    expect([path, await statuses(`path=${path}`)]).toEqual([path, [400]])
  }
  expect(await statuses('path=/v1/lending/aave-v3/batch')).toEqual([])
  expect(await statuses('status_code=404')).toEqual([404])
  expect(await statuses('errors=errors')).toEqual([404, 503, 400])
  expect(await statuses('errors=success&status_code=404')).toEqual([])
  expect(await statuses('errors=success')).toEqual([200])
})

test('the path of every entry finds that entry, and no entry of another endpoint', async () => {
  const account = await createAccount(db)
  const asked = [
    ['GET', '/v1/positions/amm_a/5'],
    ['GET', '/v1/positions/uniswap-v3?wallet=x'],
    ['DELETE', '/v1/positions/uniswap-v3/5'],
    ['GET', '/v1/lending/lending_a/batch'],
    ['POST', '/v1/lending/aave-v3/batch'],
    ['GET', '/v1/lending/kamino/position/abc/yield'],
    ['POST', '/healthz'],
    ['GET', '/v1/nothing'],
  ]
  for (const [method = '', path = ''] of asked) await call(path, { method, key: account.key })
  // The log of a call ends before the call's own millisecond.
  await Bun.sleep(2)
  const logs = async (path: string) => (await call(`${PATH}?limit=25${path}`, { key: account.key })).body
  const { data } = await logs('')
  const paths: readonly string[] = data.map((entry: { path: string }) => entry.path)
  expect(new Set(paths).size).toBe(6)
  for (const path of paths) {
    const found = await logs(`&path=${encodeURIComponent(path)}`)
    const foundPaths = new Set(found.data.map((entry: { path: string }) => entry.path))
    const nowhere = ['/v1/nothing', '/healthz']
    expect([path, foundPaths]).toEqual([path, new Set(nowhere.includes(path) ? nowhere : [path])])
    expect(found.pagination.total).toBe(found.data.length)
  }
})

test('a key of another organization gives an empty page', async () => {
  const mine = await accountWith([{ agoMs: 1_000 }])
  const foreign = await accountWith([{ agoMs: 1_000 }])
  const answer = await call(`${PATH}?api_key_id=${foreign.apiKeyId}`, { key: mine.key })
  expect([answer.status, answer.body.data, answer.body.pagination.total]).toEqual([200, [], 0])
  expect(answer.text).not.toContain(foreign.organizationId)
})

test('the links pin the range of the first page, so that a growing log shifts nothing', async () => {
  const account = await accountWith(Array.from({ length: 9 }, (_, index) => ({ agoMs: 1_000 * (index + 1) })))
  const seen: string[] = []
  let path: string | null = `${PATH}?range=1h&limit=4&path=/v1/positions/uniswap-v3&errors=all`
  const first = await call(path, { key: account.key })
  expect(first.body.pagination.next_page).toMatch(/^http:\/\/test\.local\/v1\/usage\/logs\?/)
  while (path !== null) {
    const answer = await call(path, { key: account.key })
    expect(answer.status).toBe(200)
    expect(answer.body.pagination.total).toBe(9)
    seen.push(...answer.body.data.map((entry: { requested_at: string }) => entry.requested_at))
    await gate.settle(settlement(account.caller, { path: '/v1/positions/uniswap-v3' }))
    const next: string | null = answer.body.pagination.next_page
    path = next === null ? null : next.replace('http://test.local', '')
  }
  expect(seen).toHaveLength(9)
  expect(new Set(seen).size).toBe(9)
  expect(seen).toEqual(seen.toSorted().reverse())
})

test('an empty balance is 402, logged and free', async () => {
  const account = await createAccount(db, { credits: 1 })
  expect((await call(PATH, { key: account.key })).status).toBe(200)
  const refused = await call(PATH, { key: account.key })
  expect([refused.status, refused.body.error.code]).toEqual([402, 'INSUFFICIENT_CREDITS'])
  expect(await readBooks(db, account.organizationId)).toMatchObject({ balance: 0, statuses: { 200: 1, 402: 1 } })
})

test('the route describes itself in OpenAPI', () => {
  const { parameters, responses } = JSON.parse(openapiDocument({ routes })).paths[PATH].get
  // No chain is read here.
  expect(responses[200].headers).not.toHaveProperty('X-As-Of')
  expect(parameters.map((parameter: { name: string }) => parameter.name)).toEqual([
    'range',
    'from',
    'to',
    'api_key_id',
    'path',
    'status_code',
    'errors',
    'page',
    'limit',
    'cursor',
    'format',
    'Idempotency-Key',
  ])
})
