import { describe, expect, test } from 'bun:test'
import { noteUnwitnessed } from '../../../src/lib/async/work.ts'
import { WALLET } from '../../support/http/fixture.ts'
import { callTool } from '../../support/mcp.ts'
import {
  ACCEPT,
  BATCH,
  toCallMessage as call,
  ITEM,
  LIST,
  listRows as rows,
  createMcpScene as scene,
} from '../../support/mcp_scene.ts'

const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' }
const LISTS = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

describe('a client of the SDK', () => {
  test('finds one tool for each route, described by its literals', async () => {
    const { connect } = scene()
    const { tools } = await (await connect('good')).listTools()
    expect(tools.map(({ name }) => name).sort()).toEqual([ITEM, LIST, BATCH, 'read_lending_yield'].sort())
    const list = tools.find(({ name }) => name === LIST)
    expect(list?.description).toContain('Credits: ')
    expect(list?.annotations?.readOnlyHint).toBe(true)
    expect(list?.inputSchema).toMatchObject({
      type: 'object',
      properties: { wallet: { type: 'string' }, page: { type: 'integer', default: 1 } },
      required: ['wallet'],
    })
    // The client checks every answer by it.
    expect(list?.outputSchema).toMatchObject({ type: 'object', required: ['data'] })
    expect(tools.find(({ name }) => name === BATCH)?.inputSchema.required).toEqual(['wallets'])
  })

  test('reads with typed arguments, and pays what HTTP would', async () => {
    const made = scene()
    const client = await made.connect('good')
    const { data, structured, circumstances, meta, isError } = await callTool(client, LIST, {
      wallet: WALLET,
      limit: 5,
      page: 3,
    })
    expect(isError).toBe(false)
    expect(circumstances).toBe('As of 1:21000000, 10:7 (chain id:block). Charged 4 credits, 996 are left.')
    const http = await made.ask(`/v1/positions/uniswap-v3?wallet=${WALLET}&limit=5&page=3`, { key: 'good' })
    expect({ ...data, request_id: '' }).toEqual({ ...http.body, request_id: '' })
    expect(structured).toEqual(data)
    expect(meta).toEqual({
      'walletscope/as_of': '1:21000000,10:7',
      'walletscope/credits_charged': 4,
      'walletscope/credits_remaining': '996',
    })
    expect(rows(made).slice(-2)).toEqual([
      ['GET /mcp/v1/positions/uniswap-v3', 200, 4],
      ['GET /v1/positions/uniswap-v3', 200, 4],
    ])
  })

  test('says of which chains the word of one endpoint counts', async () => {
    const made = scene()
    made.happenings.instead = async (work) => noteUnwitnessed(work, [10])
    const client = await made.connect('good')
    const { circumstances, meta } = await callTool(client, LIST, { wallet: WALLET })
    expect(circumstances).toContain('(chain id:block). Rests on the word of one endpoint: chain 10. Charged')
    expect(meta?.['walletscope/unwitnessed']).toBe('10')
  })

  test('sends path parameters and bodies', async () => {
    const made = scene()
    const client = await made.connect('good')
    const id = (2n ** 200n).toString()
    expect((await callTool(client, ITEM, { id })).data.data.token_id).toBe(id)
    expect((await callTool(client, BATCH, { wallets: [WALLET, WALLET] })).data.data).toEqual([WALLET, WALLET])
    expect(rows(made).slice(-2)).toEqual([
      ['GET /mcp/v1/positions/uniswap-v3/{id}', 200, 2],
      ['POST /mcp/v1/lending/aave-v3/batch', 200, 30],
    ])
  })

  test('connects and lists for nothing, even with an empty balance', async () => {
    const made = scene()
    const organization = made.gate.organizations.get('poor')
    if (organization !== undefined) organization.credits = 0n
    await (await made.connect('poor')).listTools()
    expect(rows(made).every(([path, , credits]) => path === 'POST /mcp' || credits === 0)).toBe(true)
    const { isError, text } = await callTool(await made.connect('poor'), ITEM, { id: 5 })
    expect([isError, text.split(':')[0]]).toEqual([true, 'INSUFFICIENT_CREDITS'])
  })

  test('is told by a wrong key at once', async () => {
    const { connect } = scene()
    await expect(connect('unknown')).rejects.toThrow('INVALID_API_KEY')
  })
})

describe('a mistake in the input has the message of HTTP', () => {
  const cases: readonly [name: string, tool: string, given: Record<string, unknown>, path: string | null][] = [
    ['missing', LIST, {}, '/v1/positions/uniswap-v3'],
    ['null is missing', LIST, { wallet: null }, '/v1/positions/uniswap-v3'],
    ['empty is missing', LIST, { wallet: '' }, '/v1/positions/uniswap-v3?wallet='],
    ['not an address', LIST, { wallet: '0x12' }, '/v1/positions/uniswap-v3?wallet=0x12'],
    ['too high a limit', LIST, { wallet: WALLET, limit: 26 }, `/v1/positions/uniswap-v3?wallet=${WALLET}&limit=26`],
    ['a fraction', LIST, { wallet: WALLET, page: 1.5 }, `/v1/positions/uniswap-v3?wallet=${WALLET}&page=1.5`],
    ['too long', LIST, { wallet: 'a'.repeat(300) }, `/v1/positions/uniswap-v3?wallet=${'a'.repeat(300)}`],
    ['path parameter', ITEM, { id: 'a/b' }, '/v1/positions/uniswap-v3/a%2Fb'],
    ['a list', LIST, { wallet: [WALLET] }, null],
    ['an object', LIST, { wallet: { a: 1 } }, null],
    ['an object that is no text', LIST, { wallet: { toString: 1, valueOf: 1 } }, null],
    ['NUL', LIST, { wallet: 'a\0' }, null],
    ['half a character', LIST, { wallet: '\ud800' }, null],
    ['lost digits', ITEM, { id: 2 ** 60 }, null],
    ['unknown name', LIST, { wallet: WALLET, chainId: 1 }, null],
    ['constructor', LIST, { wallet: WALLET, constructor: 'x' }, null],
    ['unknown field of a body', BATCH, { wallets: [WALLET], walets: 1 }, null],
    ['empty list', BATCH, { wallets: [] }, null],
  ]
  test.each(cases)('%s', async (_, tool, given, path) => {
    const made = scene()
    const { body, status } = await made.post(call(tool, given))
    expect(status).toBe(200)
    expect(body.result.isError).toBe(true)
    const [{ text }] = body.result.content
    expect(text).toMatch(/^(MISSING|INVALID)_PARAMETER: (Cannot read parameter|Parameter|Unknown field) "/)
    expect(body.result._meta['walletscope/status']).toBe(400)
    expect(body.result.content).toHaveLength(1)
    if (path !== null) {
      const { error } = (await made.ask(path, { key: 'good' })).body
      expect(text).toStartWith(`${error.code}: ${error.message}. (request_id `)
    }
    expect(made.happenings.reads).toBe(0)
    expect(rows(made)[0]?.slice(1)).toEqual([400, 0])
    expect(rows(made)[0]?.[0]).toMatch(/ \/mcp\/v1\//)
  })
})

test.each([
  [LIST, { wallet: WALLET, chainId: 1 }, 'Unknown field "chainId": did you mean "chain_id"? (request_id'],
  [BATCH, { walets: [WALLET] }, 'Parameter "wallets" is missing'],
  [BATCH, { wallets: [WALLET], walets: 1 }, 'Unknown field "walets": did you mean "wallets"?'],
  ...['__proto__', 'constructor'].flatMap((name) => [
    [LIST, { wallet: WALLET, [name]: { limit: 1 } }, `Unknown field "${name}"`] as const,
    [BATCH, { wallets: [WALLET], [name]: 1 }, `Unknown field "${name}"`] as const,
  ]),
])('a mistyped argument of %s is refused, and the nearest one named', async (tool, given, says) => {
  const { body } = await scene().post(call(tool, given))
  expect(body.result.content[0].text).toContain(says)
})

describe('failures of the work are results with advice', () => {
  test('the rate limit with its wait', async () => {
    const made = scene()
    for (let sent = 0; sent < 2; sent += 1) await made.post(call(ITEM, { id: 1 }), { key: 'slow' })
    const { status, body, headers } = await made.post(call(ITEM, { id: 1 }), { key: 'slow' })
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, '0'])
    expect(body.result.content[0].text).toMatch(/^RATE_LIMIT_EXCEEDED: .* Try again in 1 s\. \(request_id /)
    expect(made.gate.rows.at(-1)).toMatchObject({ status: 429, path: '/mcp/v1/positions/uniswap-v3/{id}' })
    const listing = await made.post(LISTS, { key: 'slow' })
    expect([listing.status, listing.body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
  })

  test('20 calls of a key over its rate are refused as one request, each with a result', async () => {
    const made = scene()
    for (let sent = 0; sent < 2; sent += 1) await made.post(call(ITEM, { id: 1 }), { key: 'slow' })
    for (const key of ['slow', 'suspended']) {
      const before = made.gate.rows.length
      const { status, body, headers } = await made.post(
        Array.from({ length: 20 }, (_, id) => call(ITEM, { id: 1 }, id)),
        { key },
      )
      expect([status, headers.get('x-credits-charged')]).toEqual([200, '0'])
      expect(body.map(({ id }: { id: number }) => id)).toEqual(Array.from({ length: 20 }, (_, id) => id))
      for (const { result } of body)
        expect(result).toMatchObject({ isError: true, _meta: { 'walletscope/status': key === 'slow' ? 429 : 403 } })
      expect(made.gate.rows.length - before).toBe(1)
      const mixed = await made.post([call(ITEM, { id: 1 }, 1), { ...LISTS, id: 2 }], { key })
      expect(mixed.status).toBe(key === 'slow' ? 429 : 403)
    }
  })

  test('the admission before the calls is that of the first of them', async () => {
    const made = scene()
    const { body } = await made.post(
      [0, 1, 2].map((id) => call(ITEM, { id: 1 }, id)),
      { key: 'slow' },
    )
    const statuses = body.map(({ result }: { result: { _meta: object; isError?: true } }) => result.isError ?? false)
    expect(statuses).toEqual([false, false, true])
    expect(made.gate.rows.map(({ status }) => status).toSorted()).toEqual([200, 200, 429])
    // What the protocol refuses takes it too.
    const other = scene()
    for (let sent = 0; sent < 2; sent += 1)
      await other.post(call(ITEM, { id: 1 }), { key: 'slow', headers: { accept: 'text/html' } })
    expect(other.gate.rows.map(({ status }) => status)).toEqual([406, 406])
    expect((await other.post(LISTS, { key: 'slow' })).status).toBe(429)
  })

  test('suspended organizations and disabled endpoints', async () => {
    const made = scene()
    const suspended = await made.post(call(ITEM, { id: 1 }), { key: 'suspended' })
    expect(suspended.body.result.content[0].text).toStartWith('ACCOUNT_SUSPENDED: ')
    expect((await made.post(LISTS, { key: 'suspended' })).status).toBe(403)
    made.gate.disabled.add('GET /v1/positions/uniswap-v3/{id}')
    const disabled = await made.post(call(ITEM, { id: 1 }))
    expect(disabled.body.result.content[0].text).toStartWith('ENDPOINT_DISABLED: ')
    made.gate.disabled.add('POST /mcp')
    expect((await made.post(LISTS)).body.error.code).toBe('ENDPOINT_DISABLED')
  })

  test('a feature that is switched off: that of the tool, and MCP itself', async () => {
    const made = scene()
    made.gate.disabled.add('snapshots')
    const snapshot = await made.post(call('read_lending_yield', {}))
    expect(snapshot.body.result.content[0].text).toStartWith('FEATURE_DISABLED: ')
    expect((await made.post(call(ITEM, { id: 1 }))).body.result.isError).toBeUndefined()
    made.gate.disabled.add('mcp')
    for (const message of [call(ITEM, { id: 1 }), LISTS, [call(ITEM, { id: 1 })]]) {
      const { status, body } = await made.post(message)
      expect([status, body.error.code]).toEqual([403, 'FEATURE_DISABLED'])
    }
    expect(made.happenings.reads).toBe(1)
  })

  test('the database away, before and at the charge', async () => {
    const made = scene()
    made.gate.failSettle = new Error('away')
    const { body } = await made.post(call(ITEM, { id: 1 }))
    expect(body.result.content[0].text).toStartWith('INTERNAL_ERROR: ')
    expect(body.result.content).toHaveLength(1)
  })

  test('a caller who leaves is not charged', async () => {
    const made = scene()
    const leaving = new AbortController()
    made.happenings.held = new Promise(() => {})
    const asked = made.ask('/mcp', {
      method: 'POST',
      key: 'good',
      headers: ACCEPT,
      signal: leaving.signal,
      body: JSON.stringify(call(LIST, { wallet: WALLET })),
    })
    while (made.happenings.reads === 0) await Bun.sleep(1)
    leaving.abort()
    await asked
    expect(rows(made)).toEqual([['GET /mcp/v1/positions/uniswap-v3', 499, 0]])
    expect(made.app.inFlight()).toBe(0)
  })
})

describe('a budget', () => {
  const INITIALIZE = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }
  const within = (credits: string, session?: string) => ({
    key: 'good',
    headers: { 'x-budget-credits': credits, ...(session === undefined ? {} : { 'mcp-session-id': session }) },
  })

  const begin = async (made: ReturnType<typeof scene>, key = 'good', credits = '1000') => {
    const request = within(credits)
    return (await made.post(INITIALIZE, { ...request, key })).headers.get('mcp-session-id') ?? ''
  }

  test('bounds what a session is charged, to the credit, however many calls run at once', async () => {
    const made = scene()
    const begun = await made.post(INITIALIZE, within('7'))
    const session = begun.headers.get('mcp-session-id') ?? ''
    expect(session).toMatch(/^[0-9a-f-]{36}\.7$/)
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => made.post(call(ITEM, { id: 1 }), within('7', session))),
    )
    expect(answers.filter(({ body }) => body.result.isError !== true)).toHaveLength(3)
    expect(made.gate.organizations.get('good')?.credits).toBe(994n)
    const { text } = (await made.post(call(ITEM, { id: 1 }), within('7', session))).body.result.content[0]
    expect(text).toStartWith('INSUFFICIENT_CREDITS: Cannot pay for this call from the budget of the session: it costs')
    expect(made.gate.rows.at(-1)).toMatchObject({ status: 402, creditsCharged: 0 })
    const more = await made.post(call(ITEM, { id: 1 }), within('1000', session))
    expect(more.body.result.isError).toBe(true)
    const other = await made.post(call(ITEM, { id: 1 }), within('7', await begin(made)))
    expect(other.body.result.isError).toBeUndefined()
    expect((await made.post(call(ITEM, { id: 1 }))).body.result.isError).toBeUndefined()
  })

  test('named once at initialize is kept by requests that do not repeat it', async () => {
    const made = scene()
    const session = await begin(made, 'good', '20')
    const quiet = { key: 'good', headers: { 'mcp-session-id': session } }
    const answers = []
    for (let count = 0; count < 12; count++) answers.push(await made.post(call(ITEM, { id: 1 }), quiet))
    expect(answers.filter(({ body }) => body.result.isError !== true)).toHaveLength(10)
    expect(made.gate.organizations.get('good')?.credits).toBe(980n)
    const other = session.replace('.20', '.2000')
    expect((await made.post(LISTS, { key: 'good', headers: { 'mcp-session-id': other } })).status).toBe(404)
  })

  test('is the least that was ever named, and only the owner of the session lowers it', async () => {
    const made = scene()
    const session = await begin(made, 'good', '100')
    const spend = async (request: Parameters<typeof made.post>[1]) =>
      (await made.post(call(ITEM, { id: 1 }), request)).body.result?.isError !== true
    const quiet = { key: 'good', headers: { 'mcp-session-id': session } }
    // Another organization that has the id cannot lower it.
    expect((await made.post(LISTS, { ...within('0', session), key: 'slow' })).status).toBe(404)
    expect(await spend(quiet)).toBe(true)
    expect(await spend(within('5', session))).toBe(true)
    expect([await spend(quiet), await spend(within('100', session))]).toEqual([false, false])
    expect(made.gate.organizations.get('good')?.credits).toBe(996n)
  })

  test('is checked against the price, which may be more than the least', async () => {
    const made = scene()
    const list = call(LIST, { wallet: WALLET, limit: 5, page: 3 })
    const { text } = (await made.post(list, within('3', await begin(made)))).body.result.content[0]
    expect(text).toContain('from the budget of the session: it does not suffice.')
    expect((await made.post(list, within('4', await begin(made)))).body.result.isError).toBeUndefined()
    expect(made.gate.organizations.get('good')?.credits).toBe(996n)
  })

  test('gets back what was not charged', async () => {
    const made = scene()
    const session = await begin(made)
    made.gate.failSettle = new Error('away')
    await made.post(call(ITEM, { id: 1 }), within('2', session))
    made.gate.failSettle = undefined
    expect((await made.post(call(ITEM, { id: 1 }), within('2', session))).body.result.isError).toBeUndefined()
  })

  test('needs a session for all but initialize, and a number', async () => {
    const made = scene()
    for (const message of [call(ITEM, { id: 1 }), LISTS, [call(ITEM, { id: 1 })], INITIALIZED]) {
      const { status, body } = await made.post(message, within('7'))
      expect([status, body.error.code]).toEqual([400, 'INVALID_REQUEST'])
      expect(body.error.message).toStartWith('Cannot keep the budget: expected the header Mcp-Session-Id')
    }
    for (const credits of ['-1', '1.5', 'many']) {
      const { status, body } = await made.post(LISTS, within(credits, await begin(made)))
      expect([status, body.error.code]).toEqual([400, 'INVALID_PARAMETER'])
    }
    expect((await made.post(INITIALIZE)).headers.get('mcp-session-id')).toBeNull()
    expect(made.happenings.reads).toBe(0)
  })

  test.each([
    ['a notification', { jsonrpc: '2.0', method: 'initialize' }],
    ['one without its parameters', { jsonrpc: '2.0', id: 9, method: 'initialize', params: {} }],
  ])('is not escaped by an initialize beside calls: %s', async (_, initialize) => {
    const made = scene()
    const body = [initialize, call(ITEM, { id: 1 })]
    const session = await begin(made, 'good', '1')
    for (const request of [within('1'), { key: 'good', headers: { 'mcp-session-id': session } }])
      await made.post(body, request)
    expect(made.happenings.reads).toBe(0)
    expect(made.gate.organizations.get('good')?.credits).toBe(1_000n)
  })

  test('is of a started session: any other session is 404, after which clients start anew', async () => {
    const made = scene()
    const session = await begin(made)
    const others = [
      'never-begun',
      crypto.randomUUID(),
      'short',
      'a b c d e f',
      await begin(made, 'slow'),
      'x'.repeat(300),
    ]
    for (const other of others) {
      for (const request of [within('9', other), { key: 'good', headers: { 'mcp-session-id': other } }]) {
        for (const message of [
          call(ITEM, { id: 1 }),
          LISTS,
          [call(ITEM, { id: 1 }), { ...LISTS, id: 2 }],
          INITIALIZED,
        ]) {
          const { status, body } = await made.post(message, request)
          expect([other, status, body.error.code]).toEqual([other, 404, 'NOT_FOUND'])
          expect(body.error.message).toStartWith('Cannot find the session that Mcp-Session-Id names')
        }
      }
    }
    expect([made.happenings.reads, made.gate.organizations.get('good')?.credits]).toEqual([0, 1_000n])
    const free = { key: 'good', headers: { 'mcp-session-id': session } }
    for (const message of [LISTS, call(ITEM, { id: 1 }), INITIALIZED]) {
      expect((await made.post(message, free)).status).toBeLessThan(300)
    }
    // `initialize` begins one, whatever session a client still has.
    const anew = await made.post(INITIALIZE, within('9', 'never-begun'))
    expect([
      anew.status,
      (await made.post(LISTS, within('9', anew.headers.get('mcp-session-id') ?? ''))).status,
    ]).toEqual([200, 200])
  })
})

describe('the transport', () => {
  test('needs a key before anything else', async () => {
    const made = scene()
    for (const body of [LISTS, call(ITEM, { id: 1 }), 'not json', [LISTS]]) {
      for (const request of [{}, { key: 'unknown' }, { headers: { authorization: 'Basic abc' } }]) {
        const { status, body: answer, headers } = await made.post(body, request)
        expect([status, answer.error.code]).toEqual([401, 'INVALID_API_KEY'])
        expect(headers.get('www-authenticate')).toBe('Bearer')
      }
    }
    expect(made.happenings.reads).toBe(0)
  })

  test('reads no bodies of strangers', async () => {
    const made = scene()
    const hang = (key: string) =>
      made.app.handler({
        request: new Request('http://test.local/mcp', {
          method: 'POST',
          body: new ReadableStream(),
          duplex: 'half',
          headers: { ...ACCEPT, host: 'test.local', authorization: `Bearer ${key}` },
        }),
        ip: '127.0.0.1',
        platform: undefined,
        env: () => undefined,
        passThrough: () => {},
        waitUntil: () => {},
      })
    for (let count = 0; count < 300; count += 1) expect((await hang(`invented-${count}`)).status).toBe(401)
    expect((await made.post(LISTS)).status).toBe(200)
    // Each key has a limit of its own.
    for (let count = 0; count < 64; count += 1) void hang('good')
    expect((await made.post(LISTS)).status).toBe(503)
  })

  test('takes POST only', async () => {
    const made = scene()
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const { status, headers } = await made.ask('/mcp', { method, key: 'good', headers: ACCEPT })
      expect([status, headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
    }
    const options = await made.ask('/mcp', { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'POST, OPTIONS'])
    expect(rows(made).map(([path]) => path)).toEqual(['GET /mcp', 'DELETE /mcp', 'PUT /mcp'])
    expect((await made.ask('/mcp/', { key: 'good' })).status).toBe(404)
  })

  test('refuses pages of other origins, as DNS rebinding would make them', async () => {
    const made = scene()
    for (const origin of ['http://test.local', 'https://evil.example', 'null', 'https://app.example.evil.example']) {
      const { status, body } = await made.post(LISTS, { key: 'good', headers: { origin } })
      expect([origin, status, body.error.code]).toEqual([origin, 403, 'INVALID_REQUEST'])
    }
    expect((await made.post(LISTS, { key: 'good', headers: { origin: 'https://app.example' } })).status).toBe(200)
    expect(rows(made).map(([, status]) => status)).toEqual([403, 403, 403, 403, 200])
  })

  test.each(['application/json', '*/*', 'application/*;q=0.8', 'text/html, Application/JSON', ''])(
    'answers JSON to clients that accept %p',
    async (accept) => {
      const { status, body } = await scene().post(LISTS, { key: 'good', headers: { accept } })
      expect([accept, status, body.result.tools.length]).toEqual([accept, 200, 4])
    },
  )

  test('negotiates the version, and refuses one that it does not know', async () => {
    const { post } = scene()
    const initialize = (protocolVersion: string) =>
      post({
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      })
    for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
      expect((await initialize(version)).body.result.protocolVersion).toBe(version)
    }
    const { body } = await initialize('1999-01-01')
    expect(body.result).toMatchObject({ protocolVersion: '2025-11-25', capabilities: { tools: {} } })
    expect(body.result.serverInfo.name).toBe('walletscope')
    const wrong = await post(LISTS, { key: 'good', headers: { 'mcp-protocol-version': '1999-01-01' } })
    expect([wrong.status, wrong.body.error.code]).toEqual([400, -32000])
  })

  test('answers notifications with 202', async () => {
    const made = scene()
    const { status, text } = await made.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    expect([status, text]).toEqual([202, ''])
    expect(
      (await made.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })).status,
    ).toBe(202)
    expect(rows(made)).toEqual([
      ['POST /mcp', 200, 0],
      ['POST /mcp', 200, 0],
    ])
  })

  test('names unknown methods and tools', async () => {
    const made = scene()
    const tool = await made.post(call('get_everything', {}))
    expect([tool.status, tool.body.error.code]).toEqual([200, -32602])
    expect(tool.body.error.message).toBe('Cannot find this tool: tools/list names all of them')
    const method = await made.post({ jsonrpc: '2.0', id: 1, method: 'resources/list' })
    expect([method.status, method.body.error.code]).toEqual([200, -32601])
    expect(made.happenings.reads).toBe(0)
    expect(rows(made).map(([path, status]) => [path, status])).toEqual([
      ['POST /mcp', 404],
      ['POST /mcp', 200],
    ])
  })

  test('answers a call at once that asks for a task, which it does not offer, as the protocol wants it', async () => {
    const { body } = await scene().post({
      ...call(ITEM, { id: 1 }),
      params: { name: ITEM, arguments: { id: 1 }, task: {} },
    })
    expect(JSON.parse(body.result.content[0].text).data.token_id).toBe('1')
  })

  test.each([
    ['tools/call', undefined, 'params'],
    ['tools/call', {}, 'name'],
    ['tools/call', { name: 5 }, 'name'],
    ['tools/call', { name: ITEM, arguments: [] }, 'arguments'],
    ['tools/call', { name: ITEM, arguments: 'x' }, 'arguments'],
    ['tools/call', { name: ITEM, _meta: { progressToken: {} } }, '_meta.progressToken'],
    ['tools/list', { cursor: 5 }, 'cursor'],
    ['initialize', {}, 'protocolVersion'],
    ['initialize', { protocolVersion: '2025-06-18', capabilities: { sampling: 3 } }, 'capabilities.sampling'],
    ['ping', 5, 'params'],
  ])('answers %s with parameters %j in its own words', async (method, params, field) => {
    const { post, happenings } = scene()
    const { status, body } = await post({ jsonrpc: '2.0', id: 'a', method, params })
    expect([status, body]).toEqual([
      200,
      {
        jsonrpc: '2.0',
        id: 'a',
        error: { code: -32602, message: `Cannot read the parameters of "${method}": "${field}" is missing or wrong` },
      },
    ])
    expect(happenings.reads).toBe(0)
  })

  test('answers the other messages of a body that has one with wrong parameters', async () => {
    const { post } = scene()
    const { body } = await post([call(ITEM, { id: 1 }, 'a'), { ...call(ITEM, {}, 'b'), params: {} }])
    const byId = new Map(body.map((each: { id: unknown }) => [each.id, each]))
    expect(byId.get('a')).toHaveProperty('result')
    expect(byId.get('b')).toHaveProperty('error.code', -32602)
  })

  test('refuses malformed requests, and logs them', async () => {
    const made = scene()
    const deep = `${'['.repeat(20)}${']'.repeat(20)}`
    const cases: readonly [body: unknown, headers: Record<string, string>, status: number, code: unknown][] = [
      ['{', {}, 400, 'INVALID_REQUEST'],
      ['', {}, 400, 'INVALID_REQUEST'],
      ['3', {}, 400, 'INVALID_REQUEST'],
      ['[]', {}, 400, 'INVALID_REQUEST'],
      [deep, {}, 400, 'INVALID_REQUEST'],
      [LISTS, { 'content-type': 'text/plain' }, 400, 'INVALID_REQUEST'],
      [' '.repeat(300_000), {}, 413, 'INVALID_REQUEST'],
      [{ hello: 1 }, {}, 400, -32600],
      [{ ...call(ITEM, { id: 1 }), jsonrpc: '1.0' }, {}, 400, -32600],
      [call(ITEM, { id: 1 }), { accept: 'text/html' }, 406, -32000],
      [call(ITEM, { id: 1 }), { accept: 'text/event-stream' }, 406, -32000],
    ]
    for (const [body, headers, status, code] of cases) {
      const answer = await made.post(body, { key: 'good', headers })
      expect([body, answer.status, answer.body.error.code]).toEqual([body, status, code])
    }
    expect(made.happenings.reads).toBe(0)
    expect(rows(made).map(([, status]) => status)).toEqual(cases.map(([, , status]) => status))
  })
})

describe('several messages in one body', () => {
  test('are each admitted, charged and logged', async () => {
    const made = scene()
    const { body, headers } = await made.post([call(ITEM, { id: 1 }, 'a'), call(ITEM, { id: 2 }, 'b'), LISTS])
    expect([headers.get('x-credits-charged'), headers.get('x-credits-remaining')]).toEqual(['4', '996'])
    expect(body.map(({ id }: { id: unknown }) => id).sort()).toEqual([1, 'a', 'b'])
    expect(rows(made).sort()).toEqual([
      ['GET /mcp/v1/positions/uniswap-v3/{id}', 200, 2],
      ['GET /mcp/v1/positions/uniswap-v3/{id}', 200, 2],
      ['POST /mcp', 200, 0],
    ])
    expect(made.gate.organizations.get('good')?.credits).toBe(996n)
    expect(new Set(made.gate.rows.map(({ settlementId }) => settlementId)).size).toBe(3)
  })

  test('are answered together though the window is full after those that were charged', async () => {
    const made = scene()
    const { status, body } = await made.post(
      [call(ITEM, { id: 1 }, 1), call(ITEM, { id: 2 }, 2), { ...LISTS, id: 3 }],
      {
        key: 'slow',
      },
    )
    expect([status, body.length]).toEqual([200, 3])
    expect(made.gate.organizations.get('slow')?.credits).toBe(996n)
    expect(rows(made).at(-1)).toEqual(['POST /mcp', 429, 0])
  })

  test('are at most twenty, with different ids', async () => {
    const made = scene()
    const many = Array.from({ length: 21 }, (_, id) => call(ITEM, { id: 1 }, id))
    expect((await made.post(many)).status).toBe(400)
    const twenty = await made.post(many.slice(1))
    expect(twenty.body).toHaveLength(20)
    expect([twenty.headers.get('x-credits-charged'), twenty.headers.get('x-credits-remaining')]).toEqual(['40', '960'])
    expect((await made.post([call(ITEM, { id: 1 }), call(ITEM, { id: 2 })])).status).toBe(400)
  })

  test('cannot cancel each other, which would leave the request without an answer', async () => {
    const { post } = scene()
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    const { body } = await post([call(ITEM, { id: 1 }), cancel])
    expect(JSON.parse(body.result.content[0].text).data.token_id).toBe('1')
  })
})
