import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { openAccount } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { executableProgram, type Program, runCommand, type Service, startService } from './program.ts'

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
}, 30_000)

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
