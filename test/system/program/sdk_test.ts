import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { openAccount } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { executableProgram, type Program, type Service, startService } from './program.ts'

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
}, 30_000)

describe.each(Object.entries(SDKS))('%s', (name, { generate, use }) => {
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
