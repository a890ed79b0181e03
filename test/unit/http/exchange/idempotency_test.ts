import { describe, expect, test } from 'bun:test'
import { CodedError, UnavailableError } from '../../../../src/lib/error.ts'
import { createMcp } from '../../../../src/mcp/gateway.ts'
import { createClient } from '../../../support/client.ts'
import { createFixture, WALLET } from '../../../support/http/fixture.ts'
import { createTestClock, settle } from '../../../support/test_clock.ts'

const LIST = `/v1/positions/uniswap-v3?wallet=${WALLET}`
const ITEM = '/v1/positions/uniswap-v3/5'
const BATCH = '/v1/lending/aave-v3/batch'

function keyed(idempotencyKey: string, request: Parameters<ReturnType<typeof createClient>>[1] = {}) {
  return { key: 'good', ...request, headers: { ...request.headers, 'idempotency-key': idempotencyKey } }
}

describe('a request with an Idempotency-Key that is repeated', () => {
  test('gets its first answer again, which is charged once, and logged each time', async () => {
    const { app, gate, happenings } = createFixture()
    const call = createClient(app.handler)
    const first = await call(LIST, keyed('one'))
    const second = await call(LIST, keyed('one'))
    expect([first.status, second.status]).toEqual([200, 200])
    expect(second.text).toBe(first.text)
    expect(happenings.reads).toBe(1)
    expect(second.headers.get('x-as-of')).toBe(first.headers.get('x-as-of'))
    expect([first, second].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true'])
    expect([first, second].map(({ headers }) => headers.get('x-credits-charged'))).toEqual(['20', '0'])
    expect(second.headers.get('x-credits-remaining')).toBe('980')
    expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([
      [200, 20],
      [200, 0],
    ])
  })

  test('is answered even with an empty balance', async () => {
    const { app, gate } = createFixture()
    const call = createClient(app.handler)
    const first = await call(LIST, keyed('paid'))
    const organization = gate.organizations.get('good')
    if (organization !== undefined) organization.credits = 0n
    expect((await call(LIST, keyed('paid'))).text).toBe(first.text)
    expect((await call(LIST, keyed('unpaid'))).status).toBe(402)
  })

  test('may quote the key, as in the specification', async () => {
    const { app, happenings } = createFixture()
    const call = createClient(app.handler)
    for (const key of ['"a"', 'a', '"a\\"b"', '"a\\\\b"']) expect((await call(ITEM, keyed(key))).status).toBe(200)
    expect(happenings.reads).toBe(3)
  })

  test.each([
    ['another path', LIST, ITEM, {}],
    ['another query', LIST, `${LIST}&page=2`, {}],
    ['another body', BATCH, BATCH, { method: 'POST', body: JSON.stringify({ wallets: [WALLET, WALLET] }) }],
  ])('and asks %s gets 422 and is charged nothing', async (_, path, other, request) => {
    const { app, gate } = createFixture()
    const call = createClient(app.handler)
    const body = 'method' in request ? { method: 'POST', body: JSON.stringify({ wallets: [WALLET] }) } : {}
    expect((await call(path, keyed('same', body))).status).toBe(200)
    const answer = await call(other, keyed('same', request))
    expect([answer.status, answer.body.error.code]).toEqual([422, 'INVALID_REQUEST'])
    expect(gate.rows.map((row) => [row.status, row.creditsCharged > 0])).toEqual([
      [200, true],
      [422, false],
    ])
  })

  test('and asks for a table instead of JSON gets 422; JSON by name is the same request', async () => {
    const { app } = createFixture()
    const call = createClient(app.handler)
    expect((await call(`${LIST}&format=csv`, keyed('table'))).headers.get('content-type')).toContain('text/csv')
    for (const path of [LIST, `${LIST}&format=json`]) expect((await call(path, keyed('table'))).status).toBe(422)
    const first = await call(LIST, keyed('json'))
    const again = await call(`${LIST}&format=json`, keyed('json'))
    expect([again.status, again.text]).toEqual([200, first.text])
    expect((await call(LIST, keyed('json', { headers: { accept: 'text/csv' } }))).status).toBe(422)
  })

  test('gets 409 with Retry-After while the first is under way', async () => {
    const { app, happenings } = createFixture()
    const call = createClient(app.handler)
    let finish = () => {}
    happenings.held = new Promise((resolve) => {
      finish = resolve
    })
    const first = call(ITEM, keyed('slow'))
    await settle()
    expect(happenings.reads).toBe(1)
    const early = await call(ITEM, keyed('slow'))
    expect([early.status, early.body.error.code]).toEqual([409, 'INVALID_REQUEST'])
    expect(early.headers.get('retry-after')).toBe('1')
    finish()
    const { text } = await first
    expect((await call(ITEM, keyed('slow'))).text).toBe(text)
    expect(happenings.reads).toBe(1)
  })

  test('is answered again after a failure: only successes are stored', async () => {
    const { app, gate, happenings } = createFixture()
    const call = createClient(app.handler)
    for (const error of [new UnavailableError('away'), new CodedError('NOT_FOUND', 'gone')]) {
      happenings.instead = () => Promise.reject(error)
      expect((await call(ITEM, keyed('retry'))).status).toBeGreaterThan(400)
    }
    happenings.instead = undefined
    gate.failSettle = new UnavailableError('no database')
    expect((await call(ITEM, keyed('retry'))).status).toBe(503)
    gate.failSettle = undefined
    const answer = await call(ITEM, keyed('retry'))
    expect([answer.status, answer.headers.get('x-credits-charged')]).toEqual([200, '2'])
  })

  test('belongs to its organization only', async () => {
    const { app } = createFixture()
    const call = createClient(app.handler)
    await call(ITEM, keyed('mine'))
    const other = await call(ITEM, keyed('mine', { key: 'slow' }))
    expect([other.status, other.headers.get('x-credits-charged')]).toEqual([200, '2'])
  })
})

test.each([[''], ['a'.repeat(256)], ['a b'], ['"a'], ['"'], ['""'], ['a, a'], ['"a\\b"'], ['a"b']])(
  '%p is no key: 400, charged nothing',
  async (idempotencyKey) => {
    const { app, gate } = createFixture()
    const answer = await createClient(app.handler)(ITEM, keyed(idempotencyKey))
    expect([answer.status, answer.body.error.code]).toEqual([400, 'INVALID_PARAMETER'])
    expect(answer.body.error.message).toContain('Idempotency-Key')
    expect(gate.rows.map((row) => row.creditsCharged)).toEqual([0])
  },
)

test('255 characters are a key', async () => {
  const { app } = createFixture()
  expect((await createClient(app.handler)(ITEM, keyed('~'.repeat(255)))).status).toBe(200)
})

const MCP_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

test('tools take none: one request may hold several calls', async () => {
  const { app, happenings } = createFixture({
    gateway: (routes) => createMcp({ routes, origins: [], sessionId: () => 'session', clock: createTestClock() }),
  })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const request = { method: 'POST', body, headers: MCP_HEADERS }
  const call = createClient(app.handler)
  const refused = await call('/mcp', keyed('one', request))
  expect([refused.status, refused.body.error.code]).toEqual([400, 'INVALID_REQUEST'])
  expect((await call('/mcp', { key: 'good', ...request })).status).toBe(200)
  expect(happenings.reads).toBe(0)
})
