import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as v from 'valibot'
import { CLI_ACTOR } from '../../../../src/account/audit.ts'
import { type AccountGate, createGate } from '../../../../src/account/gate/gate.ts'
import { setOrganizationState } from '../../../../src/account/organization.ts'
import { readRequestLog } from '../../../../src/account/request_log.ts'
import type { Database } from '../../../../src/db/database.ts'
import type { Invocation, SettledAnswer } from '../../../../src/http/exchange/exchange.ts'
import type { Principal } from '../../../../src/http/exchange/gate.ts'
import { toParameters } from '../../../../src/http/request/parameters.ts'
import { defineRoute } from '../../../../src/http/route/route.ts'
import { toRouteEndpoint } from '../../../../src/http/route/route_table.ts'
import { type App, createApp } from '../../../../src/http/server/app.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import { createRequestIdGenerator } from '../../../../src/lib/request_id.ts'
import { ageRateWindow, createAccount, readBooks } from '../../../support/account/scene.ts'
import { createClient } from '../../../support/client.ts'
import { temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { slowClock } from '../../../support/test_clock.ts'

/*
 * A caller that is no HTTP request, as a job is: there is no key, no `Request` and no header, and the same gate, prices
 * and log.
 */

/** Costs what it is asked for. */
const counting = defineRoute({
  method: 'GET',
  path: '/v1/test/:price',
  summary: 'Costs what it is asked for.',
  input: v.object({ price: v.pipe(v.string(), v.regex(/^\d+$/, 'expected a number'), v.transform(Number)) }),
  output: v.object({ data: v.number() }),
  charge: { credits: 1 },
  read: async ({ price }, { work }) => {
    work.signal.throwIfAborted()
    return price
  },
  count: (price) => price,
  present: (price, _input, { url }) => ({ data: price, counts: url.pathname }),
})
const endpoint = toRouteEndpoint(counting)

let db: Database
let gate: AccountGate
let app: App

beforeAll(async () => {
  db = (await testDatabase()).db
  const shared = { clock: slowClock, log: silentLog }
  gate = await createGate({ ...shared, db, journalDir: temporaryDirectory() })
  app = createApp({
    ...shared,
    routes: [counting],
    aliases: new Map(),
    gate,
    hostNames: ['test.local'],
    corsOrigins: [],
    openapi: () => '{}',
    metrics: createMetrics(),
    probes: { database: async () => true, chains: new Map() },
    requestId: createRequestIdGenerator({ clock: systemClock, fill: (bytes) => crypto.getRandomValues(bytes) }),
  })
}, 60_000)

afterAll(() => gate.close(2_000), 60_000)

function invocation(price: unknown): Invocation {
  return {
    endpoint,
    getRequest: () => ({
      parameters: () => toParameters(counting.input, { price }),
      body: async () => ({ value: () => ({}) }),
    }),
    path: `/v1/test/${price}`,
    query: '',
  }
}

function createJobPrincipal(organizationId: string): Principal {
  return { kind: 'job', organizationId, name: 'job_test' }
}

function invoke(organizationId: string, price: unknown): Promise<SettledAnswer> {
  return app.invoke(invocation(price), {
    principal: createJobPrincipal(organizationId),
    signal: new AbortController().signal,
  })
}

function parseCode({ answer }: SettledAnswer): unknown {
  return JSON.parse(answer.body ?? '{}').error?.code
}

test('a job runs a route without a request, and is charged and logged as a caller over HTTP is', async () => {
  const { organizationId, key } = await createAccount(db, { credits: 20 })
  const { answer, account } = await invoke(organizationId, '7')
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.body ?? '')).toMatchObject({ data: 7, counts: '/v1/test/7' })
  expect(account).toMatchObject({ creditsCharged: 7, creditsRemaining: 13n })
  const overHttp = await createClient(app.handler)('/v1/test/7', { key })
  expect(overHttp.body).toEqual({ ...JSON.parse(answer.body ?? ''), request_id: overHttp.body.request_id })
  expect(overHttp.headers.get('x-credits-remaining')).toBe('6')

  expect(parseCode(await invoke(organizationId, 'x'))).toBe('INVALID_PARAMETER')
  expect(parseCode(await invoke(organizationId, '8'))).toBe('INSUFFICIENT_CREDITS')
  expect(await readBooks(db, organizationId)).toMatchObject({ balance: 6, statuses: { 200: 2, 400: 1, 402: 1 } })
  const { entries } = await readRequestLog(db, {
    organizationId,
    fromMs: 0,
    toMs: Date.now() + 60_000,
    apiKeyId: 'job_test',
    errors: 'all',
    page: 1,
    limit: 10,
  })
  expect(entries.map((each) => [each.api_key_name, each.path, each.status_code, each.credits_charged])).toEqual([
    ['job_test', '/v1/test/{price}', 402, 0],
    ['job_test', '/v1/test/{price}', 400, 0],
    ['job_test', '/v1/test/{price}', 200, 7],
  ])
})

test('a job keeps to the limits of its organization: its rate, what is switched off, and being suspended', async () => {
  const { organizationId, key } = await createAccount(db, { rateLimit: 2 })
  // One window for jobs and keys.
  expect((await createClient(app.handler)('/v1/test/1', { key })).status).toBe(200)
  expect((await invoke(organizationId, '1')).answer.status).toBe(200)
  expect(parseCode(await invoke(organizationId, '1'))).toBe('RATE_LIMIT_EXCEEDED')
  await setOrganizationState(db, 'suspend', { id: organizationId, by: CLI_ACTOR })
  expect(parseCode(await invoke(organizationId, '1'))).toBe('ACCOUNT_SUSPENDED')
  await setOrganizationState(db, 'restore', { id: organizationId, by: CLI_ACTOR })
  await ageRateWindow(db, organizationId, 1_000)
  expect((await invoke(organizationId, '1')).answer.status).toBe(200)
  const nobody = await invoke('org_that_never_was', '1')
  expect([nobody.answer.status, nobody.account]).toEqual([401, undefined])
})

test('a job that is stopped is not charged', async () => {
  const { organizationId } = await createAccount(db, { credits: 20 })
  const { answer } = await app.invoke(invocation('5'), {
    principal: createJobPrincipal(organizationId),
    signal: AbortSignal.abort(),
  })
  expect(answer.status).toBe(499)
  expect(await readBooks(db, organizationId)).toMatchObject({ balance: 20, statuses: { 499: 1 } })
})
