import { describe, expect, test } from 'bun:test'
import { csvHeaders } from '../../../../src/http/openapi/headers.ts'
import { CodedError, PendingError, UnavailableError } from '../../../../src/lib/error.ts'
import { createClient } from '../../../support/client.ts'
import { createFixture, WALLET } from '../../../support/http/fixture.ts'
import { settle } from '../../../support/test_clock.ts'

const LIST = `/v1/positions/uniswap-v3?wallet=${WALLET}`
const ITEM = '/v1/positions/uniswap-v3/5'
const BATCH = '/v1/lending/aave-v3/batch'

describe('rate limit', () => {
  test('refuses requests above the limit with Retry-After, and then answers again', async () => {
    const { app, gate, time } = createFixture()
    const call = createClient(app.handler)
    expect((await call(ITEM, { key: 'slow' })).headers.get('x-ratelimit-remaining')).toBe('1')
    expect((await call(`${LIST}&page=abc`, { key: 'slow' })).status).toBe(400)
    const refused = await call(ITEM, { key: 'slow' })
    expect(refused.status).toBe(429)
    expect(refused.body.error.code).toBe('RATE_LIMIT_EXCEEDED')
    expect(refused.headers.get('x-ratelimit-limit')).toBe('2')
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(refused.headers.get('x-ratelimit-reset')).toBe(String(time.ms / 1000 + 1))
    expect(refused.headers.get('x-credits-charged')).toBe('0')
    expect(gate.rows.map((row) => [row.status, row.admitted])).toEqual([
      [200, true],
      [400, true],
      [429, false],
    ])
    time.ms += Number(refused.headers.get('retry-after')) * 1000
    expect((await call(ITEM, { key: 'slow' })).status).toBe(200)
  })

  test.each([[0], [1], [300], [500], [950], [999]])(
    'Retry-After is the wait rounded up once, %i ms into a second',
    async (fraction) => {
      const { app, time } = createFixture()
      const call = createClient(app.handler)
      time.ms += fraction
      await call(ITEM, { key: 'slow' })
      await call(ITEM, { key: 'slow' })
      time.ms += 30
      const refused = await call(ITEM, { key: 'slow' })
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
      expect(Number(refused.headers.get('x-ratelimit-reset'))).toBe(Math.ceil((time.ms + 970) / 1000))
      time.ms += 1000
      expect((await call(ITEM, { key: 'slow' })).status).toBe(200)
    },
  )
})

describe('request ids', () => {
  test('a valid one is kept, in the header, the body and the log', async () => {
    const { app, gate } = createFixture()
    const answer = await createClient(app.handler)(ITEM, { key: 'good', headers: { 'x-request-id': 'my-own_id-1' } })
    expect(answer.headers.get('x-request-id')).toBe('my-own_id-1')
    expect(answer.body.request_id).toBe('my-own_id-1')
    expect(gate.rows[0]?.requestId).toBe('my-own_id-1')
  })

  test.each([['short'], ['a'.repeat(65)], ['has space'], ['semi;colon;']])('%p is replaced', async (id) => {
    const { app } = createFixture()
    const answer = await createClient(app.handler)('/healthz', { headers: { 'x-request-id': id } })
    expect(answer.body.request_id).toMatch(/^req_/)
  })

  test('a repeated one is charged each time', async () => {
    const { app, gate } = createFixture()
    const call = createClient(app.handler)
    const headers = { 'x-request-id': 'always-the-same' }
    await call(ITEM, { key: 'good', headers })
    const second = await call(ITEM, { key: 'good', headers })
    expect(second.headers.get('x-credits-remaining')).toBe('996')
    expect(new Set(gate.rows.map((row) => row.settlementId)).size).toBe(2)
  })
})

describe('a caller that disconnects', () => {
  test('before the charge is not charged, is logged as 499, and ends the read', async () => {
    const { app, gate, happenings } = createFixture()
    const caller = new AbortController()
    let ended = false
    happenings.instead = (work) =>
      new Promise(() => {
        work.signal.addEventListener('abort', () => {
          ended = true
        })
        caller.abort()
      })
    await createClient(app.handler)(ITEM, { key: 'good', signal: caller.signal })
    expect(ended).toBe(true)
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([[499, 0]])
    expect(gate.organizations.get('good')?.credits).toBe(1_000n)
  })

  test('while the answer is made is not charged either', async () => {
    const { app, gate, happenings } = createFixture()
    const caller = new AbortController()
    happenings.data = { toJSON: () => caller.abort() }
    await createClient(app.handler)(LIST, { key: 'good', signal: caller.signal })
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([[499, 0]])
  })
})

describe('an answer whose blocks are the newest', () => {
  test('is sent again without reading, charged and logged like the first', async () => {
    const { app, gate, happenings } = createFixture()
    const call = createClient(app.handler)
    happenings.untilMs = Number.POSITIVE_INFINITY
    const first = await call(LIST, { key: 'good' })
    const second = await call(LIST, { key: 'good' })
    expect(happenings.reads).toBe(1)
    const { request_id: _, ...body } = first.body
    expect(second.body).toEqual({ ...body, request_id: second.headers.get('x-request-id') })
    expect(second.headers.get('x-as-of')).toBe('1:21000000,10:7')
    expect([first, second].map(({ headers }) => headers.get('x-credits-charged'))).toEqual(['20', '20'])
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([
      [200, 20],
      [200, 20],
    ])
  })

  test.each([
    ['another page', `${LIST}&page=2`],
    ['another wallet', LIST.toLowerCase().replace(/.$/, '6')],
  ])('is not given for %s', async (_, path) => {
    const { app, happenings } = createFixture()
    const call = createClient(app.handler)
    happenings.untilMs = Number.POSITIVE_INFINITY
    await call(LIST, { key: 'good' })
    await call(path, { key: 'good' })
    expect(happenings.reads).toBe(2)
  })

  test('is read again once they are not', async () => {
    const { app, happenings, clock } = createFixture()
    const call = createClient(app.handler)
    await clock.advance(10)
    for (const untilMs of [0, 9, 60_010, 0]) {
      happenings.untilMs = untilMs
      expect((await call(LIST, { key: 'good' })).status).toBe(200)
    }
    expect(happenings.reads).toBe(3)
  })

  test('is built once for callers that share its reading', async () => {
    const { app, happenings } = createFixture()
    const call = createClient(app.handler)
    happenings.untilMs = Number.POSITIVE_INFINITY
    const { promise, resolve } = Promise.withResolvers<void>()
    happenings.held = promise
    const answers = [call(LIST, { key: 'good' }), call(LIST, { key: 'good' })]
    happenings.data = ['first']
    resolve()
    const [first, second] = await Promise.all(answers)
    expect(happenings.reads).toBe(2)
    expect([first?.body.data, second?.body.data]).toEqual([['first'], ['first']])
    happenings.data = ['other']
    expect((await call(LIST, { key: 'good' })).body.data).toEqual(['first'])
  })

  test('is refused to a caller that cannot pay, and to one that has disconnected', async () => {
    const { app, gate, happenings } = createFixture()
    const call = createClient(app.handler)
    happenings.untilMs = Number.POSITIVE_INFINITY
    await call(LIST, { key: 'good' })
    expect((await call(LIST, { key: 'poor' })).status).toBe(402)
    await call(LIST, { key: 'good', signal: AbortSignal.abort() })
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([
      [200, 20],
      [402, 0],
      [499, 0],
    ])
    expect(happenings.reads).toBe(1)
  })
})

describe('limits', () => {
  test('a read beyond its budget is 503, even if it ignores its signal', async () => {
    const { app, gate, happenings, clock } = createFixture({ limits: { requestBudgetMs: 30 } })
    happenings.instead = () => new Promise(() => {})
    const asked = createClient(app.handler)(ITEM, { key: 'good' })
    await clock.advance(29)
    expect(app.inFlight()).toBe(1)
    await clock.advance(1)
    const answer = await asked
    expect(answer.status).toBe(503)
    expect(answer.body.error.message).toBe('Cannot answer within 0.03 s')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([[503, 0]])
  })

  test('a read that gives up in time is 504, and costs nothing', async () => {
    const { app, gate, happenings } = createFixture()
    happenings.instead = async () => {
      throw new CodedError('GATEWAY_TIMEOUT', 'Cannot answer: read 2 of 9 wallets in time; retry with fewer wallets')
    }
    const answer = await createClient(app.handler)(ITEM, { key: 'good' })
    expect([answer.status, answer.body.error.code]).toEqual([504, 'GATEWAY_TIMEOUT'])
    expect(gate.rows.map((row) => [row.status, row.creditsCharged])).toEqual([[504, 0]])
  })

  test('a read beyond its budget fails with its own timeout error, if it has set one', async () => {
    const { app, happenings, clock } = createFixture({ limits: { requestBudgetMs: 30 } })
    happenings.instead = (work) => {
      work.onTimeout(() => new PendingError('The history is being read: 40 % done', { retryAfterSec: 7 }))
      return new Promise(() => {})
    }
    const asked = createClient(app.handler)(ITEM, { key: 'good' })
    await clock.advance(30)
    const answer = await asked
    expect(answer.status).toBe(503)
    expect(answer.body.error.message).toBe('The history is being read: 40 % done')
    expect(answer.headers.get('retry-after')).toBe('7')
  })

  test('budgets that begin one after another all end', async () => {
    const { app, happenings, clock } = createFixture({ limits: { requestBudgetMs: 40 } })
    happenings.instead = () => new Promise(() => {})
    const call = createClient(app.handler)
    const statuses: Promise<number>[] = []
    for (let index = 0; index < 2; index += 1) {
      statuses.push(call(ITEM, { key: 'good' }).then(({ status }) => status))
      await clock.advance(25)
    }
    await clock.advance(14)
    expect(app.inFlight()).toBe(1)
    await clock.advance(1)
    expect(await Promise.all(statuses)).toEqual([503, 503])
  })

  test('an organization with too much work under way is 503 at once, another is not', async () => {
    const { app, happenings } = createFixture({ limits: { organizationConcurrencyMax: 2 } })
    const { promise, resolve } = Promise.withResolvers<void>()
    happenings.held = promise
    const call = createClient(app.handler)
    const held = [call(ITEM, { key: 'good' }), call(ITEM, { key: 'good' }), call(ITEM, { key: 'slow' })]
    await settle()
    const refused = await call(ITEM, { key: 'good' })
    expect([refused.status, refused.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
    resolve()
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await call(ITEM, { key: 'good' })).status).toBe(200)
  })

  test('a read is on behalf of its organization', async () => {
    const { app, happenings } = createFixture()
    const askers: string[][] = []
    happenings.instead = async (work) => {
      askers.push([...work.requesters])
      throw new UnavailableError('Enough')
    }
    const call = createClient(app.handler)
    for (const key of ['good', 'slow']) await call(ITEM, { key })
    expect(askers.map(({ length }) => length)).toEqual([1, 1])
    expect(askers[0]).not.toEqual(askers[1])
  })

  test('an organization has no more work under way than the process has slots left for others', async () => {
    const { app, happenings } = createFixture({ limits: { inFlightMax: 9 } })
    const { promise, resolve } = Promise.withResolvers<void>()
    happenings.held = promise
    const call = createClient(app.handler)
    const greedy: ReturnType<typeof call>[] = []
    for (let index = 0; index < 7; index++) {
      greedy.push(call(ITEM, { key: 'good' }))
      await settle()
    }
    const other = call(ITEM, { key: 'slow' })
    await settle()
    resolve()
    const statuses = (await Promise.all(greedy)).map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 503, 503])
    expect((await other).status).toBe(200)
  })

  test('a process with too much in flight is 503 at once, its probes still answer', async () => {
    const { app, happenings } = createFixture({ limits: { inFlightMax: 1 } })
    const { promise, resolve } = Promise.withResolvers<void>()
    happenings.held = promise
    const call = createClient(app.handler)
    const held = call(ITEM, { key: 'good' })
    await settle()
    expect(happenings.reads).toBe(1)
    expect((await call(ITEM, { key: 'good' })).status).toBe(503)
    expect((await call('/healthz')).status).toBe(200)
    resolve()
    expect((await held).status).toBe(200)
  })

  test.each([
    ['an announced length', { 'content-length': '262145' }, '{}'],
    ['its real length', {}, `{"wallets":[${' '.repeat(262_144)}]}`],
  ])('a body above 256 KiB is 413 by %s, and ends the connection', async (_name, headers, body) => {
    const { app } = createFixture()
    const answer = await createClient(app.handler)(BATCH, { key: 'good', method: 'POST', headers, body })
    expect([answer.status, answer.body.error.code]).toEqual([413, 'INVALID_REQUEST'])
    expect(answer.headers.get('connection')).toBe('close')
  })

  test('an answer that leaves a body unread ends the connection', async () => {
    const { app } = createFixture()
    const answer = await createClient(app.handler)(BATCH, { method: 'POST', body: '{}' })
    expect([answer.status, answer.headers.get('connection')]).toEqual([401, 'close'])
  })
})

describe('stopping', () => {
  test('drain() turns readiness off and nothing else', async () => {
    const { app } = createFixture()
    const call = createClient(app.handler)
    expect((await call('/readyz')).status).toBe(200)
    app.drain()
    const answer = await call('/readyz')
    expect([answer.status, answer.body.status, answer.headers.get('retry-after')]).toEqual([503, 'draining', '1'])
    expect((await call(ITEM, { key: 'good' })).status).toBe(200)
    expect((await call('/healthz')).status).toBe(200)
  })

  test('idle() waits for requests in flight, but not beyond its deadline', async () => {
    const { app, happenings, clock } = createFixture()
    expect(await app.idle({ deadlineMs: 0 })).toBe(true)
    const { promise, resolve } = Promise.withResolvers<void>()
    happenings.held = promise
    const held = createClient(app.handler)(ITEM, { key: 'good' })
    expect(app.inFlight()).toBe(1)
    const late = app.idle({ deadlineMs: 20 })
    await clock.advance(20)
    expect(await late).toBe(false)
    const idle = app.idle({ deadlineMs: 5_000 })
    resolve()
    expect(await idle).toBe(true)
    expect((await held).status).toBe(200)
  })

  test('cancel() ends every read with 503', async () => {
    const { app, happenings, gate } = createFixture()
    happenings.instead = () => new Promise(() => {})
    const held = createClient(app.handler)(ITEM, { key: 'good' })
    await settle()
    app.cancel()
    expect((await held).status).toBe(503)
    expect(gate.rows.map((row) => row.status)).toEqual([503])
  })
})

describe('pages without a key', () => {
  test('/readyz requires the database and one chain', async () => {
    for (const [database, chain, status] of [
      [true, true, 200],
      [false, true, 503],
      [true, false, 503],
    ] as const) {
      const { app, ready } = createFixture()
      Object.assign(ready, { database, chain })
      const answer = await createClient(app.handler)('/readyz')
      expect([answer.status, answer.body.database, answer.body.chains]).toEqual([
        status,
        database,
        { '1': chain, '10': false },
      ])
    }
  })

  test('/metrics counts by template, status and credits, never by what callers send', async () => {
    const { app } = createFixture()
    const call = createClient(app.handler)
    for (const id of ['5', '6', '404']) await call(`/v1/positions/uniswap-v3/${id}`, { key: 'good' })
    await call('/v1/invented-by-caller')
    const answer = await call('/metrics')
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(answer.text).toContain(
      'walletscope_http_requests_total{route="GET /v1/positions/uniswap-v3/{id}",status="200"} 2\n',
    )
    expect(answer.text).toContain('walletscope_http_requests_total{route="unknown",status="404"} 1\n')
    expect(answer.text).toContain('walletscope_credits_charged_total{route="GET /v1/positions/uniswap-v3/{id}"} 4\n')
    expect(answer.text).toContain('walletscope_http_requests_in_flight 1\n')
    expect(answer.text).not.toContain('invented')
  })

  test('another method is 405, and a good key is logged', async () => {
    const { app, gate } = createFixture()
    const call = createClient(app.handler)
    expect((await call('/healthz', { method: 'POST' })).headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    await call('/healthz', { method: 'POST', key: 'good' })
    expect(gate.rows.map((row) => [row.path, row.status])).toEqual([['/healthz', 405]])
  })
})

describe('browsers', () => {
  test('get no permission if no origin is configured', async () => {
    const { app } = createFixture()
    const answer = await createClient(app.handler)(ITEM, { key: 'good', headers: { origin: 'https://a.example' } })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    expect(answer.headers.get('vary')).toBeNull()
  })

  test('get permission for configured origins only, errors and preflights included', async () => {
    const { app } = createFixture({ corsOrigins: ['https://a.example'] })
    const call = createClient(app.handler)
    for (const [method, key] of [
      ['GET', 'good'],
      ['GET', 'bad'],
      ['OPTIONS', ''],
    ] as const) {
      const mine = await call(ITEM, { method, key, headers: { origin: 'https://a.example' } })
      expect(mine.headers.get('access-control-allow-origin')).toBe('https://a.example')
      expect(mine.headers.get('vary')).toBe('origin')
      const other = await call(ITEM, { method, key, headers: { origin: 'https://b.example' } })
      expect(other.headers.get('access-control-allow-origin')).toBeNull()
    }
    const { headers } = await call(ITEM, { key: 'good', headers: { origin: 'https://a.example' } })
    const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? []
    const tableHeaders = csvHeaders({ properties: { pagination: {}, coverage: {}, counts: {}, fx: {} } })
    expect(tableHeaders.filter((name) => !exposed.includes(name.toLowerCase()))).toEqual([])
    const preflight = await call(ITEM, { method: 'OPTIONS', headers: { origin: 'https://a.example' } })
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization')
  })
})

describe('a name that is not the service’s', () => {
  test('is refused on every port: figures, pages, probes and preflights', async () => {
    const { app, gate, happenings } = createFixture({ hostNames: ['api.example'] })
    const headers = { host: 'evil.example:8080' }
    const message =
      'Cannot answer for host "evil.example": expected an address, localhost, the name in PUBLIC_URL or one in ALLOWED_HOSTS'
    for (const handler of [app.handler, app.operator]) {
      const call = createClient(handler)
      for (const path of [LIST, '/docs', '/openapi.json', '/healthz', '/readyz', '/metrics', '/nothing']) {
        for (const request of [{ headers }, { headers, key: 'good' }, { headers, method: 'OPTIONS' }]) {
          const answer = await call(path, request)
          expect([path, answer.status, answer.body.error.code]).toEqual([path, 400, 'INVALID_REQUEST'])
          expect(answer.body.error.message).toBe(message)
        }
      }
    }
    expect(happenings.reads).toBe(0)
    // A key that is recognised finds its refusals in its log.
    expect(gate.rows.every(({ status, creditsCharged }) => status === 400 && creditsCharged === 0)).toBe(true)
    for (const host of ['api.example', 'localhost:9090', '10.1.2.3', '[::1]:80']) {
      expect((await createClient(app.handler)('/healthz', { headers: { host } })).status).toBe(200)
    }
  })
})

describe('links', () => {
  test('start with the public address, and name the canonical path', async () => {
    const { app } = createFixture({ publicUrl: 'https://api.example/base/' })
    const answer = await createClient(app.handler)(`/v1/positions/amm_a?wallet=${WALLET}&limit=5`, { key: 'good' })
    expect(answer.body.pagination.next_page).toBe(
      `https://api.example/base/v1/positions/uniswap-v3?wallet=${WALLET}&limit=5&page=2`,
    )
  })

  test('start with the host of the request if there is no public address', async () => {
    const { app } = createFixture()
    const answer = await createClient(app.handler)(LIST, { key: 'good', headers: { host: 'me.example:8080' } })
    expect(answer.body.pagination.next_page).toStartWith('http://me.example:8080/v1/positions/uniswap-v3?')
  })
})

describe('the log', () => {
  test('has the stack of an unexpected error and its request id, once', async () => {
    const { app, happenings, lines } = createFixture()
    happenings.instead = () => Promise.reject(new Error('boom'))
    const answer = await createClient(app.handler)(ITEM, { key: 'good' })
    const errors = lines.map((line) => JSON.parse(line)).filter((line) => line.level === 'error')
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatchObject({
      msg: 'Failed to answer a request',
      requestId: answer.body.error.request_id,
      route: 'GET /v1/positions/uniswap-v3/{id}',
      error: { message: 'boom', stack: expect.stringContaining('life_test.ts') },
    })
  })

  test('never holds a key', async () => {
    const { app, lines } = createFixture()
    const call = createClient(app.handler)
    for (const key of ['good', 'ws_sk_secretsecretsecretsecret']) await call(`${LIST}&page=abc`, { key })
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join('')).not.toMatch(/ws_sk_|Bearer|"good"/)
  })
})
