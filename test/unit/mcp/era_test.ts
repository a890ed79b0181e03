import { describe, expect, test } from 'bun:test'
import { WALLET } from '../../support/http/fixture.ts'
import { callTool, type Negotiation } from '../../support/mcp.ts'
import { BATCH, createMcpScene, ITEM, LIST, listRows, toCallMessage } from '../../support/mcp_scene.ts'

const NEW = '2026-07-28'
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': NEW,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

type Scene = ReturnType<typeof createMcpScene>

/** The same message in the era without sessions, with the headers that repeat it. */
function toNew(message: { readonly method: string; readonly params?: object }, headers: Record<string, string> = {}) {
  const params = { ...message.params, _meta: ENVELOPE }
  const name = 'name' in params ? { 'mcp-name': String(params.name) } : {}
  return [
    { jsonrpc: '2.0', id: 1, ...message, params },
    {
      key: 'good',
      headers: { 'mcp-protocol-version': NEW, 'mcp-method': message.method, ...name, ...headers },
    },
  ] as const
}

const callNew = (made: Scene, headers: Record<string, string> = {}, name = ITEM, given: object = { id: 1 }) =>
  made.post(...toNew(toCallMessage(name, given), headers))

describe('an official client of each generation', () => {
  const clients: readonly [name: string, mode: Negotiation | undefined, era: string | undefined][] = [
    ['1.x', undefined, undefined],
    ['2.x', 'default', 'legacy'],
    ['2.x legacy', 'legacy', 'legacy'],
    ['2.x auto', 'auto', 'modern'],
    [`2.x pinned to ${NEW}`, { pin: NEW }, 'modern'],
  ]

  test.each(clients)('%s connects and lists for nothing, and reads', async (_, mode, era) => {
    const made = createMcpScene()
    const client = mode === undefined ? await made.connect('good') : await made.connectNew('good', mode)
    if ('getProtocolEra' in client) expect(client.getProtocolEra()).toBe(era as 'legacy' | 'modern')
    expect(client.getInstructions()).toContain('Positions of wallets')
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain(LIST)
    const { data, circumstances } = await callTool(client, LIST, { wallet: WALLET, limit: 5, page: 3 })
    expect(data.data).toHaveLength(2)
    expect(circumstances).toBe('As of 1:21000000, 10:7 (chain id:block). Charged 4 credits, 996 are left.')
    const rows = listRows(made)
    expect(rows.at(-1)).toEqual(['GET /mcp/v1/positions/uniswap-v3', 200, 4])
    expect(rows.every(([path, status]) => path !== 'POST /mcp' || status === 200)).toBe(true)
    await client.close()
  })

  test.each(clients)('%s is told by a wrong key at once, by its type of error', async (_, mode) => {
    const made = createMcpScene()
    const connecting = mode === undefined ? made.connect('unknown') : made.connectNew('unknown', mode)
    const error = await connecting.catch((reason: unknown) => reason)
    if (mode === undefined)
      expect(error).toMatchObject({ code: 401, message: expect.stringContaining('INVALID_API_KEY') })
    else
      expect(error).toMatchObject({
        name: 'SdkHttpError',
        status: 401,
        data: { text: expect.stringContaining('INVALID_API_KEY') },
      })
    expect(made.gate.rows).toHaveLength(0)
  })

  test('of 2025 keeps its budget by its session; of 2026, each call by itself', async () => {
    for (const mode of ['legacy', 'auto'] as const) {
      const made = createMcpScene()
      const client = await made.connectNew('good', mode, { 'x-budget-credits': '3' })
      const answers = [1, 2].map(async (id) => (await callTool(client, ITEM, { id })).isError)
      expect((await Promise.all(answers)).toSorted()).toEqual(mode === 'legacy' ? [false, true] : [false, false])
      const { text } = await callTool(client, LIST, { wallet: WALLET, limit: 5, page: 3 })
      expect(text).toStartWith('INSUFFICIENT_CREDITS: Cannot pay for this call from ')
      expect(made.gate.organizations.get('good')?.credits).toBe(mode === 'legacy' ? 998n : 996n)
      await client.close()
    }
  })
})

describe('a budget in the era without sessions', () => {
  test('binds the call that names it, by the least price and by the price', async () => {
    const made = createMcpScene()
    const least = await callNew(made, { 'x-budget-credits': '1' })
    expect(least.body.result.content[0].text).toStartWith(
      'INSUFFICIENT_CREDITS: Cannot pay for this call from its budget: it costs at least 2 credits, 1 are allowed.',
    )
    expect(made.happenings.reads).toBe(0)
    const list = [LIST, { wallet: WALLET, limit: 5, page: 3 }] as const
    const more = await callNew(made, { 'x-budget-credits': '3' }, ...list)
    expect(more.body.result.content[0].text).toContain('Cannot pay for this call from its budget: it does not suffice.')
    expect(made.gate.rows.at(-1)).toMatchObject({ status: 402, creditsCharged: 0 })
    expect(made.gate.organizations.get('good')?.credits).toBe(1_000n)
    expect((await callNew(made, { 'x-budget-credits': '4' }, ...list)).body.result.isError).toBeUndefined()
    for (let count = 0; count < 3; count += 1)
      expect((await callNew(made, { 'x-budget-credits': '2' })).body.result.isError).toBeUndefined()
    expect(made.gate.organizations.get('good')?.credits).toBe(990n)
  })

  test('is never ignored: a malformed one, a session that is none, and a body of several messages are refused', async () => {
    const made = createMcpScene()
    expect((await callNew(made, { 'x-budget-credits': 'many' })).status).toBe(400)
    expect((await callNew(made, { 'x-budget-credits': '1', 'mcp-session-id': 'never-begun' })).status).toBe(404)
    const [message, request] = toNew(toCallMessage(ITEM, { id: 1 }), { 'x-budget-credits': '1' })
    expect((await made.post([message], request)).body.result.isError).toBe(true)
    expect((await made.post([message, { ...message, id: 2 }], request)).status).toBe(400)
    expect([made.happenings.reads, made.gate.organizations.get('good')?.credits]).toEqual([0, 1_000n])
  })
})

describe('the era without sessions', () => {
  test('is found by a probe that costs nothing, also with a budget and without credits', async () => {
    const made = createMcpScene()
    const organization = made.gate.organizations.get('good')
    if (organization !== undefined) organization.credits = 0n
    const { status, body, headers } = await made.post(
      ...toNew({ method: 'server/discover' }, { 'x-budget-credits': '0' }),
    )
    expect([status, headers.get('x-credits-charged'), headers.get('mcp-session-id')]).toEqual([200, '0', null])
    expect(body.result).toMatchObject({ supportedVersions: [NEW], capabilities: { tools: {} } })
    expect(listRows(made)).toEqual([['POST /mcp', 200, 0]])
    const unknown = await made
      .post(...toNew({ method: 'server/discover' }))
      .then(() => made.post({ jsonrpc: '2.0', id: 1, method: 'server/discover' }, { key: 'unknown' }))
    expect([unknown.status, unknown.body.error.code]).toEqual([401, 'INVALID_API_KEY'])
  })

  test('refuses arguments as HTTP does, names that the SDK would drop too', async () => {
    const made = createMcpScene()
    for (const name of ['__proto__', 'constructor', 'chainId']) {
      const given = JSON.parse(`{"wallet": "${WALLET}", "${name}": {"limit": 1}}`)
      const { body } = await callNew(made, {}, LIST, given)
      expect(body.result.content[0].text).toContain(`Unknown field "${name}"`)
    }
    expect((await callNew(made, {}, BATCH, { wallets: [] })).body.result.isError).toBe(true)
    expect(made.happenings.reads).toBe(0)
  })

  test('answers mistakes in the protocol as it wants them, charges nothing, and logs each', async () => {
    const made = createMcpScene()
    const cases: readonly [request: ReturnType<typeof toNew>, status: number, code: number, says: string][] = [
      [toNew(toCallMessage('get_everything', {})), 200, -32602, 'Cannot find this tool: tools/list names all of them'],
      [
        toNew({ method: 'tools/call', params: { name: ITEM, arguments: 'x' } }),
        200,
        -32602,
        'Cannot read the parameters of "tools/call": "arguments" is missing or wrong',
      ],
      [toNew({ method: 'resources/list' }), 404, -32601, ''],
      [toNew({ method: 'ping' }), 404, -32601, ''],
      [toNew({ method: 'subscriptions/listen', params: { notifications: {} } }), 404, -32601, ''],
      [toNew(toCallMessage(ITEM, { id: 1 }), { 'mcp-method': 'tools/list' }), 400, -32020, ''],
      [toNew(toCallMessage(ITEM, { id: 1 }), { 'mcp-name': LIST }), 400, -32020, ''],
      [toNew(toCallMessage(ITEM, { id: 1 }), { 'mcp-protocol-version': '2025-06-18' }), 400, -32020, ''],
    ]
    for (const [[message, request], status, code, says] of cases) {
      const { body, ...answer } = await made.post(message, request)
      expect([message.method, answer.status, body.error.code]).toEqual([message.method, status, code])
      expect(body.error.message).toContain(says)
    }
    expect(made.happenings.reads).toBe(0)
    expect(listRows(made).every(([path, , credits]) => path === 'POST /mcp' && credits === 0)).toBe(true)
    expect(made.gate.rows).toHaveLength(cases.length)
  })

  test('names the versions that it serves to a client of one that it does not', async () => {
    const made = createMcpScene()
    const [message, request] = toNew(toCallMessage(ITEM, { id: 1 }), { 'mcp-protocol-version': '2031-01-01' })
    const meta = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2031-01-01' }
    const { status, body } = await made.post({ ...message, params: { ...message.params, _meta: meta } }, request)
    expect([status, body.error]).toEqual([
      400,
      expect.objectContaining({ code: -32022, data: { supported: [NEW], requested: '2031-01-01' } }),
    ])
    const old = { ...meta, 'io.modelcontextprotocol/protocolVersion': '2025-06-18' }
    const mixed = await made.post({ ...message, params: { ...message.params, _meta: old } })
    expect(mixed.status).toBe(400)
    expect(made.happenings.reads).toBe(0)
  })

  test('takes what only the caller’s key allows: its rate, its endpoints, its features', async () => {
    const made = createMcpScene()
    const [message, request] = toNew(toCallMessage(ITEM, { id: 1 }))
    for (let sent = 0; sent < 2; sent += 1) await made.post(message, { ...request, key: 'slow' })
    const { status, body } = await made.post(message, { ...request, key: 'slow' })
    expect([status, body.result.isError]).toEqual([200, true])
    expect(body.result.content[0].text).toMatch(/^RATE_LIMIT_EXCEEDED: .* Try again in 1 s\. \(request_id /)
    made.gate.disabled.add('mcp')
    const off = await made.post(message, request)
    expect([off.status, off.body.error.code]).toEqual([403, 'FEATURE_DISABLED'])
  })
})

test('a cancellation in the era without sessions needs none, with a budget or without', async () => {
  const made = createMcpScene()
  for (const headers of [{}, { 'x-budget-credits': '5' }]) {
    const [message, request] = toNew({ method: 'notifications/cancelled', params: { requestId: 1 } }, headers)
    const { id: _, ...notification } = message
    expect((await made.post(notification, request)).status).toBe(202)
  }
})
