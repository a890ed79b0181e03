import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { emptyDatabase } from '../../support/database.ts'
import { callTool, connectMcp } from '../../support/mcp.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { executableProgram, nodeProgram, type Program, type Service, startService } from './program.ts'

await buildWhatIsStale()
const devnet = await sharedDevnet()
const LIST = 'uniswap_positions'

/** What people settle: where messages are posted, and a trigger once it is there. Agents make, list and delete. */
function isForPeople({ path, method }: { readonly path: string; readonly method: string }): boolean {
  return path.startsWith('/v1/webhooks') || (path.startsWith('/v1/triggers/{id}') && method !== 'delete')
}

describe.each([
  ['the executable alone', executableProgram, 'embedded'],
  ['the Node bundle alone', nodeProgram, 'server'],
] as const)("%s, asked by the SDK's client", (_, createProgram, kind) => {
  let program: Program
  let service: Service
  let client: Client
  let key: string
  let database: Awaited<ReturnType<typeof emptyDatabase>> | undefined

  beforeAll(async () => {
    database = kind === 'server' ? await emptyDatabase() : undefined
    program = createProgram({
      CHAINS: '1',
      CHAINS_FILE: '../chains.json',
      ...(database === undefined ? {} : { DATABASE_URL: database.url }),
    })
    writeFileSync(join(program.directory, '../chains.json'), createChainsFile(devnet.rpcUrl))
    if (database !== undefined) await runJson(program, ['migrate'])
    service = await startService(program)
    key = (await openAccount(program, { name: 'agents', credits: 100, rateLimit: 1_000 })).key
    client = await connectMcp({
      url: `http://127.0.0.1:${service.port}/mcp`,
      headers: { authorization: `Bearer ${key}` },
    })
  }, 60_000)

  afterAll(async () => {
    await client.close()
    await service.stop()
    await database?.drop()
    program.remove()
  }, 30_000)

  async function http(path: string): Promise<ReturnType<typeof JSON.parse>> {
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    return response.json()
  }

  test('has a tool for every operation of the OpenAPI document that needs a key and is for agents', async () => {
    const { paths } = await http('/openapi.json')
    const operations = Object.entries<Record<string, { summary: string; security?: [] }>>(paths)
      .flatMap(([path, methods]) => Object.entries(methods).map(([method, each]) => ({ path, method, ...each })))
      .filter((each) => each.security === undefined && !isForPeople(each))
    const { tools } = await client.listTools()
    expect(tools.map(({ title }) => title).sort()).toEqual(operations.map(({ summary }) => summary).sort())
    expect(tools.length).toBeGreaterThan(5)
  })

  test('returns the same pages as HTTP, with block and price', async () => {
    const wallet = devnet.wallets.provider
    for (const full of [false, true]) {
      const { data, circumstances } = await callTool(client, LIST, { wallet, full, limit: 2, page: 2 })
      expect(circumstances).toMatch(/^As of 1:\d+ \(chain id:block\)\. Charged \d+ credits, \d+ are left\.$/)
      const answer = await http(`/v1/positions/uniswap-v3?wallet=${wallet}&full=${full}&limit=2&page=2`)
      expect(omitCitation(data)).toEqual(omitCitation(answer))
      const [cited] = data.citation
      expect(circumstances).toStartWith(`As of ${cited.chain_id}:${cited.block_number} `)
      expect('citation' in answer).toBe(false)
      for (const item of [...data.data, ...answer.data]) expect('pnl' in item).toBe(full)
      expect(data.pagination.next_page).toContain('/v1/positions/uniswap-v3?')
    }
  })

  /** Without profits: histories are read meanwhile, so the later answer may know more. Only tools cite. */
  function omitCitation({
    data,
    citation: _,
    ...rest
  }: {
    readonly data: readonly object[]
    citation?: unknown
  }): object {
    return { ...rest, data: data.map((item) => ({ ...item, pnl: undefined })), request_id: '' }
  }

  test('is charged and logged under its endpoint', async () => {
    const { data } = await callTool(client, 'usage_logs', { path: '/mcp/v1/positions/amm_a', limit: 25 })
    const rows = data.data.map(({ method, path, status_code, credits_charged }: Record<string, unknown>) => [
      ...[method, path, status_code, credits_charged],
    ])
    expect(rows).toEqual([
      ['GET', '/mcp/v1/positions/uniswap-v3', 200, 30],
      ['GET', '/mcp/v1/positions/uniswap-v3', 200, 4],
    ])
    const protocol = await callTool(client, 'usage_logs', { path: '/mcp' })
    expect(protocol.data.pagination.total).toBeGreaterThan(2)
    expect(protocol.data.data).toContainEqual(expect.objectContaining({ method: 'POST', status_code: 200 }))
    // The client requests a stream at any time, and gets the response that there is none.
    for (const row of protocol.data.data) expect(row).toMatchObject({ path: '/mcp', credits_charged: 0 })
  })

  test('keeps the budget of a session, exactly and also for calls at the same time', async () => {
    const limited = await connectMcp({
      url: `http://127.0.0.1:${service.port}/mcp`,
      headers: { authorization: `Bearer ${key}`, 'x-budget-credits': '5' },
    })
    const ids = Array.from({ length: 4 }, () => ({ id: String(devnet.positions.inRange) }))
    const results = await Promise.all(ids.map((given) => callTool(limited, 'uniswap_position', given)))
    expect(results.filter(({ isError }) => !isError)).toHaveLength(2)
    for (const { text } of results.filter(({ isError }) => isError)) expect(text).toContain('the budget of the session')
    await limited.close()
    const post = (message: object, headers: Record<string, string>) =>
      fetch(`http://127.0.0.1:${service.port}/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: '*/*', ...headers },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      })
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'once', version: '1' } }
    const begun = await post({ method: 'initialize', params }, { 'x-budget-credits': '5' })
    const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' }
    const read = { name: 'uniswap_position', arguments: { id: String(devnet.positions.inRange) } }
    const quiet = await Promise.all(ids.map(() => post({ method: 'tools/call', params: read }, session)))
    const charged = quiet.map(({ headers }) => Number(headers.get('x-credits-charged')))
    expect(charged.toSorted()).toEqual([0, 0, 2, 2])
    const stranger = await fetch(`http://127.0.0.1:${service.port}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'mcp-session-id': crypto.randomUUID(),
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
    expect(stranger.status).toBe(404)
    expect(await stranger.text()).toContain('"code":"NOT_FOUND"')
  })

  test('explains how to correct a call, and stops at an empty balance', async () => {
    const wrong = await callTool(client, LIST, { wallet: '0x1' })
    expect(wrong.text).toStartWith('INVALID_PARAMETER: Cannot read parameter "wallet": expected an EVM address')
    await callTool(client, LIST, { wallet: devnet.wallets.provider, full: true, limit: 1 })
    const poor = await callTool(client, LIST, { wallet: devnet.wallets.provider, full: true, limit: 2 })
    expect([poor.isError, poor.text.split(':')[0]]).toEqual([true, 'INSUFFICIENT_CREDITS'])
    await expect(client.callTool({ name: 'get_nothing' })).rejects.toThrow('Cannot find this tool')
  })
})
