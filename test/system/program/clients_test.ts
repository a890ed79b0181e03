import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { IS_FULL } from '../../support/cases.ts'
import { emptyDatabase, type TestDatabase, testDatabase } from '../../support/database.ts'
import { callTool, connectMcp, connectNewMcp } from '../../support/mcp.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { executableProgram, nodeProgram, type Program, runCommand, type Service, startService } from './program.ts'

describe('agents', async () => {
  await buildWhatIsStale()
  const devnet = await sharedDevnet()
  const LIST = 'list_liquidity_positions'
  const ITEM = 'read_liquidity_position'
  const V3 = { protocol: 'uniswap-v3' }

  /**
   * What people settle: where messages are posted, and a trigger once it is there. Agents make, list and delete. Vaults they
   * see in portfolios.
   */
  function isForPeople({ path, method }: { readonly path: string; readonly method: string }): boolean {
    if (path.startsWith('/v1/positions/vaults')) return true
    return path.startsWith('/v1/webhooks') || (path.startsWith('/v1/triggers/{id}') && method !== 'delete')
  }

  const PROGRAMS = [
    ['the executable alone', executableProgram, 'embedded'],
    ['the Node bundle alone', nodeProgram, 'server'],
  ] as const
  describe.each(IS_FULL ? PROGRAMS : PROGRAMS.slice(0, 1))(
    "%s, asked by the SDK's client",
    (_, createProgram, kind) => {
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
      }, 120_000)

      afterAll(async () => {
        await client.close()
        await service.stop()
        await database?.drop()
        program.remove()
      }, 120_000)

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
        const protocols = tools.map(({ inputSchema }) => inputSchema.properties?.['protocol'] as { enum?: string[] })
        const routes = protocols.flatMap((protocol) => protocol?.enum ?? ['the only one'])
        expect(routes).toHaveLength(operations.length)
        expect(tools.length).toBeGreaterThan(5)
      })

      test('returns the same pages as HTTP, with block and price', async () => {
        const wallet = devnet.wallets.provider
        for (const full of [false, true]) {
          const { data, circumstances } = await callTool(client, LIST, { ...V3, wallet, full, limit: 2, page: 2 })
          // Profit and loss rests on logs, which one endpoint tells here.
          const witness = full ? ' Rests on the word of one endpoint: chain #.' : ''
          expect(circumstances.replace(/\d+/g, '#')).toBe(
            `As of #:# (chain id:block).${witness} Charged # credits, # are left.`,
          )
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
        const { data } = await callTool(client, 'list_requests', { path: '/mcp/v1/positions/amm_a', limit: 25 })
        const rows = data.data.map(({ method, path, status_code, credits_charged }: Record<string, unknown>) => [
          ...[method, path, status_code, credits_charged],
        ])
        expect(rows).toEqual([
          ['GET', '/mcp/v1/positions/uniswap-v3', 200, 30],
          ['GET', '/mcp/v1/positions/uniswap-v3', 200, 4],
        ])
        const protocol = await callTool(client, 'list_requests', { path: '/mcp' })
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
        const ids = Array.from({ length: 4 }, () => ({ ...V3, id: String(devnet.positions.inRange) }))
        const results = await Promise.all(ids.map((given) => callTool(limited, ITEM, given)))
        expect(results.filter(({ isError }) => !isError)).toHaveLength(2)
        for (const { text } of results.filter(({ isError }) => isError))
          expect(text).toContain('the budget of the session')
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
        const read = { name: ITEM, arguments: { ...V3, id: String(devnet.positions.inRange) } }
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

      test('serves a client that is pinned to 2026-07-28, and keeps its budget for each call', async () => {
        const connect = (headers: Record<string, string>) =>
          connectNewMcp(
            {
              url: `http://127.0.0.1:${service.port}/mcp`,
              headers: { authorization: `Bearer ${key}`, ...headers },
            },
            { pin: '2026-07-28' },
          )
        const given = { ...V3, id: String(devnet.positions.inRange) }
        const pinned = await connect({})
        expect((await pinned.listTools()).tools.map(({ name }) => name)).toContain(ITEM)
        expect(await callTool(pinned, ITEM, given)).toMatchObject({
          isError: false,
          meta: { 'walletscope/credits_charged': 2 },
        })
        const limited = await connect({ 'x-budget-credits': '1' })
        const { text } = await callTool(limited, ITEM, given)
        expect(text).toStartWith('INSUFFICIENT_CREDITS: Cannot pay for this call from its budget')
        await pinned.close()
        await limited.close()
      })

      test('explains how to correct a call, and stops at an empty balance', async () => {
        const wrong = await callTool(client, LIST, { ...V3, wallet: '0x1' })
        expect(wrong.text).toStartWith('INVALID_PARAMETER: Cannot read parameter "wallet": expected an EVM address')
        await callTool(client, LIST, { ...V3, wallet: devnet.wallets.provider, full: true, limit: 1 })
        const poor = await callTool(client, LIST, { ...V3, wallet: devnet.wallets.provider, full: true, limit: 2 })
        expect([poor.isError, poor.text.split(':')[0]]).toEqual([true, 'INSUFFICIENT_CREDITS'])
        await expect(client.callTool({ name: 'get_nothing' })).rejects.toThrow('Cannot find this tool')
      })
    },
  )
})

describe('the printed client', async () => {
  await buildWhatIsStale()
  const devnet = await sharedDevnet()

  let database: TestDatabase
  let program: Program
  let service: Service
  // biome-ignore lint/suspicious/noExplicitAny: the printed client is typed for its users; a test of it checks values.
  let client: any
  // biome-ignore lint/suspicious/noExplicitAny: the same.
  let createClient: any

  beforeAll(async () => {
    database = await testDatabase()
    program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: database.url })
    writeFileSync(join(program.directory, '../chains.json'), createChainsFile(devnet.rpcUrl))
    service = await startService(program)
    const { key } = await openAccount(program, { name: 'clients', credits: 100, rateLimit: 1_000 })
    const { stdout } = await runCommand(program, ['openapi', '--client'])
    const path = join(program.directory, '../client.ts')
    writeFileSync(path, stdout)
    createClient = (await import(path)).createClient
    client = createClient({ baseUrl: `http://127.0.0.1:${service.port}/`, key })
  }, 120_000)

  afterAll(async () => {
    await service?.stop()
    program?.remove()
    await database?.close()
  }, 120_000)

  test('the client that the executable prints reads lists, single things and bodies', async () => {
    const wallet = devnet.wallets.provider
    const list = await client.GET('/v1/positions/uniswap-v3', { params: { query: { wallet, limit: 2, page: 2 } } })
    expect(list.error).toBeUndefined()
    expect(list.data.pagination).toMatchObject({ page: 2, limit: 2, total: 8 })
    expect(list.response.headers.get('x-credits-charged')).toBe('4')
    const id = String(devnet.positions.inRange)
    const one = await client.GET('/v1/positions/uniswap-v3/{id}', { params: { path: { id }, query: { chain_id: 1 } } })
    expect(one.data.data.token_id).toBe(id)
    const batch = await client.POST('/v1/lending/aave-v3/batch', { body: { wallets: [wallet, '0x1'] } })
    expect(batch.error.error.message).toStartWith('Cannot read parameter "wallets[1]": expected an EVM address')
    expect((await client.GET('/v1/usage/logs')).data.pagination.total).toBe(3)
  })

  test('each() pages by itself, and throws failures', async () => {
    const wallet = devnet.wallets.provider
    const ids: string[] = []
    for await (const { token_id } of client.each('/v1/positions/uniswap-v3', {
      params: { query: { wallet, limit: 3 } },
    })) {
      ids.push(token_id)
    }
    expect([ids.length, new Set(ids).size]).toEqual([8, 8])
    const failing = client.each('/v1/positions/uniswap-v3', { params: { query: { wallet: '0x1' } } })
    await expect(failing.next()).rejects.toMatchObject({ name: 'ApiError', status: 400, code: 'INVALID_PARAMETER' })
  })

  test('a call with a key of its own is charged once, however often it is repeated', async () => {
    const params = { query: { wallet: devnet.wallets.provider, limit: 1 } }
    const idempotencyKey = crypto.randomUUID()
    const calls = [0, 1].map(() => client.GET('/v1/positions/uniswap-v3', { params, idempotencyKey }))
    const [first, second] = await Promise.all(calls)
    expect(second.data).toEqual(first.data)
    const charged = [first, second].map(({ response }) => response.headers.get('x-credits-charged')).toSorted()
    expect(charged).toEqual(['0', '2'])
  })

  test('a failure is a result with its code, even if a proxy has answered', async () => {
    const { data, error, response } = await client.GET('/v1/positions/uniswap-v3/{id}', {
      params: { path: { id: 'a/b' } },
    })
    expect([data, response.status]).toEqual([undefined, 400])
    expect(error.error).toMatchObject({ code: 'INVALID_PARAMETER', message: expect.stringContaining('"a/b"') })
    const answered = async () => new Response('<h1>Bad gateway</h1>', { status: 502 })
    const proxied = createClient({ baseUrl: 'http://h', key: 'k', fetch: answered, retries: 0 })
    expect((await proxied.GET('/v1/usage/logs')).error.error.code).toBe('INTERNAL_ERROR')
  })
})

describe('generated clients', async () => {
  await buildWhatIsStale()

  const ROOT = join(import.meta.dir, '../../..')
  const devnet = await sharedDevnet()
  const WALLET = devnet.wallets.provider

  // Inside the checkout, so that types of the runtime are found from there. The generators are not dependencies of ours:
  // one of them needs another TypeScript, and all of them together are a hundred megabytes.
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true })
  const directory = mkdtempSync(join(ROOT, 'node_modules/.cache/sdk-'))

  const TSCONFIG = {
    compilerOptions: {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: ['bun-types'],
      target: 'ES2023',
      module: 'ESNext',
      moduleResolution: 'bundler',
      lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    },
    include: ['*.ts'],
  }

  /** Arguments of each generator, and code that calls the generated client: a list, and a refused body. */
  const SDKS = {
    'openapi-typescript and openapi-fetch': {
      generate: ['openapi-typescript', 'openapi.json', '-o', 'schema.ts'],
      use: `
import createClient from 'openapi-fetch'
import type { paths } from './schema.ts'

const { BASE = '', KEY = '', WALLET = '' } = process.env
const client = createClient<paths>({ baseUrl: BASE, headers: { authorization: \`Bearer \${KEY}\` } })
const query = { wallet: WALLET, chain_id: 1, limit: 2 }
const list = await client.GET('/v1/positions/uniswap-v3', { params: { query } })
// With \`format=csv\` the answer is a text.
const total: number | undefined = typeof list.data === 'object' ? list.data.pagination.total : undefined
const batch = await client.POST('/v1/lending/aave-v3/batch', { body: { wallets: [] } })
const code: string | undefined = batch.error?.error.code
console.log(JSON.stringify({ total, code }))
`,
    },
    'hey-api': {
      generate: ['openapi-ts', '-i', 'openapi.json', '-o', 'hey', '-c', '@hey-api/client-fetch'],
      use: `
import { client } from './hey/client.gen.ts'
import { batchAavePositions, listUniswapPositions } from './hey/sdk.gen.ts'

const { BASE = '', KEY = '', WALLET = '' } = process.env
client.setConfig({ baseUrl: BASE, auth: KEY })
const list = await listUniswapPositions({ query: { wallet: WALLET, chain_id: 1, limit: 2 } })
const total: number | undefined = list.data?.pagination.total
const batch = await batchAavePositions({ body: { wallets: [] } })
const code: string | undefined = batch.error?.error.code
console.log(JSON.stringify({ total, code }))
`,
    },
    orval: {
      generate: ['orval', '--config', 'orval.config.json'],
      use: `
import { batchAavePositions, listUniswapPositions } from './orval/api.ts'

const { KEY = '', WALLET = '' } = process.env
const headers = { authorization: \`Bearer \${KEY}\` }
const list = await listUniswapPositions({ wallet: WALLET, chain_id: 1, limit: 2 }, { headers })
const { data } = list
const total: number | undefined = list.status === 200 && typeof data === 'object' && 'pagination' in data ? data.pagination.total : undefined
const batch = await batchAavePositions({ wallets: [] }, undefined, { headers })
const code: string | undefined = batch.status === 400 ? batch.data.error.code : undefined
console.log(JSON.stringify({ total, code }))
`,
    },
  } as const

  let database: TestDatabase
  let program: Program
  let service: Service
  let environment: Record<string, string> = {}

  /** Runs a command in the directory of the generators; its output and its errors. */
  async function run(command: readonly string[]): Promise<{ readonly status: number; readonly said: string }> {
    const env = { ...process.env, ...environment }
    const child = Bun.spawn([...command], { cwd: directory, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    const status = await child.exited
    return { status, said: status === 0 ? out : out + err }
  }

  beforeAll(async () => {
    database = await testDatabase()
    program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: database.url })
    writeFileSync(join(program.directory, '../chains.json'), createChainsFile(devnet.rpcUrl))
    service = await startService(program)
    const { key } = await openAccount(program, { name: 'clients', credits: 100, rateLimit: 1_000 })
    const base = `http://127.0.0.1:${service.port}`
    environment = { BASE: base, KEY: key, WALLET }
    for (const file of ['package.json', 'bun.lock']) cpSync(join(import.meta.dir, 'sdk', file), join(directory, file))
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    writeFileSync(join(directory, 'openapi.json'), await (await fetch(`${base}/openapi.json`)).text())
    const output = { target: './orval/api.ts', client: 'fetch', baseUrl: base }
    writeFileSync(join(directory, 'orval.config.json'), JSON.stringify({ api: { input: './openapi.json', output } }))
    const installed = await run([process.execPath, 'install', '--frozen-lockfile'])
    expect(installed).toMatchObject({ status: 0 })
  }, 180_000)

  afterAll(async () => {
    await service?.stop()
    program?.remove()
    await database?.close()
    rmSync(directory, { recursive: true, force: true })
  }, 120_000)

  // The other generators with `SEEDS=full`.
  describe.each(Object.entries(SDKS).slice(0, IS_FULL ? undefined : 1))('%s', (name, { generate, use }) => {
    test('generates a client that compiles strictly, and calls', async () => {
      const file = `${name.replaceAll(/\W+/g, '_')}.ts`
      const [command, ...words] = generate
      expect(await run([process.execPath, join('node_modules/.bin', command), ...words])).toMatchObject({ status: 0 })
      writeFileSync(join(directory, file), use)
      expect(await run([join(ROOT, 'node_modules/.bin/tsc'), '-p', '.'])).toEqual({ status: 0, said: '' })
      const { status, said } = await run([process.execPath, file])
      expect({ status, said }).toMatchObject({ status: 0 })
      expect(JSON.parse(said)).toEqual({ total: 8, code: 'INVALID_PARAMETER' })
    }, 120_000)
  })
})
