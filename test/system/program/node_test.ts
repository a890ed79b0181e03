import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyDatabase } from '../../support/database.ts'
import { callTool, connectMcp } from '../../support/mcp.ts'
import { parseSignedIn, type SignedIn } from '../../support/signed_in.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { askInTurn, type ExampleRequest, type ExampleWorld, findId, startExampleWorld } from './examples.ts'
import { ask, type RawAnswer } from './http.ts'
import { nodeProgram, type Program, type Service, startService } from './program.ts'

await buildWhatIsStale()
const ROOT = join(import.meta.dir, '../../..')

describe('the bundle', () => {
  const bundle = readFileSync(join(ROOT, 'dist/node/walletscope.mjs'), 'utf8')
  /** Not constructors, and yet with functions of their own. */
  const NAMESPACES = ['Atomics', 'JSON', 'Math', 'Reflect']

  /** Names of ES2024 and later, by TypeScript's library. Members of objects are left to `.ci/node`, which knows types. */
  function newerNames(): string[] {
    const library = join(ROOT, `node_modules/@typescript/typescript-${process.platform}-${process.arch}/lib`)
    const isNewer = (file: string) => /^lib\.es(202[4-9]|20[3-9]\d|next)\.\w+\.d\.ts$/.test(file)
    return readdirSync(library)
      .filter(isNewer)
      .flatMap((file) => {
        const text = readFileSync(join(library, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
        const declared = [...text.matchAll(/^declare (?:var|function|class) (\w+)/gm)].map(([, name = '']) => name)
        const interfaces = [...text.matchAll(/^interface (\w+?)(Constructor)?\b[^{]*\{([\s\S]*?)^\}/gm)]
        const members = interfaces.flatMap(([, owner = '', isConstructor, body = '']) =>
          isConstructor === undefined && !NAMESPACES.includes(owner)
            ? []
            : [...body.matchAll(/^ {4}(?:readonly )?(\w+)\s*[<(:]/gm)].map(([, name]) => `${owner}.${name}`),
        )
        return [...declared, ...members.filter((name) => !/\.(?:new|prototype)$/.test(name))]
      })
  }

  test('names nothing newer than Node 20, unless it asks before whether that is there', () => {
    const names = newerNames()
    const known = ['Promise.withResolvers', 'Promise.try', 'Map.groupBy', 'Object.groupBy', 'Array.fromAsync']
    expect(names).toEqual(expect.arrayContaining([...known, 'Math.f16round', 'Float16Array', 'RegExp.escape']))
    const used = names.filter((name) => new RegExp(`\\b${name.replace('.', '\\.')}\\b`).test(bundle))
    expect(used.filter((name) => !bundle.includes(`typeof ${name}===`))).toEqual([])
  })
})

describe('on Node', () => {
  const TOKEN = 'the-operators-own-token'
  let world: ExampleWorld
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let program: Program
  let service: Service
  let organization: string
  let key: string

  beforeAll(async () => {
    world = await startExampleWorld()
    database = await emptyDatabase()
    const env = { ...world.env, CHAINS_FILE: '../chains.json', DATABASE_URL: database.url, ADMIN_TOKEN: TOKEN }
    program = nodeProgram(env)
    writeFileSync(join(program.directory, '../chains.json'), world.chainsFile)
    await runJson(program, ['migrate'])
    service = await startService(program)
    ;({ id: organization, key } = await openAccount(program, { name: 'Acme', credits: 100_000, rateLimit: 1_000 }))
  }, 120_000)

  afterAll(async () => {
    await service.stop()
    await database.drop()
    program.remove()
    await world.stop()
  }, 60_000)

  interface Request {
    readonly target: string
    readonly method?: string
    readonly json?: object | undefined
    readonly headers?: Readonly<Record<string, string>>
  }

  async function send({ target, method = 'GET', json, headers = {} }: Request): Promise<RawAnswer> {
    const type = json === undefined ? {} : { 'Content-Type': 'application/json' }
    const body = json === undefined ? {} : { body: JSON.stringify(json) }
    return ask(service.port, { method, target, headers: { ...type, ...headers }, ...body })
  }

  async function listOperations(target: string): Promise<string[]> {
    const { paths } = JSON.parse((await send({ target })).body)
    return Object.entries<object>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
  }

  async function askByKey({ method, target, body }: ExampleRequest) {
    const answer = await send({ target, method, json: body, headers: { Authorization: `Bearer ${key}` } })
    return { status: answer.status, body: JSON.parse(answer.body), text: answer.body }
  }

  /** The id of a new webhook, or of a new trigger that posts to a new webhook. */
  async function newId(kind: 'webhooks' | 'triggers'): Promise<string> {
    const creation = `POST /v1/${kind}`
    const creations = kind === 'webhooks' ? [creation] : ['POST /v1/webhooks', creation]
    const made = await askInTurn(
      world.questions.filter(({ operation }) => creations.includes(operation)),
      askByKey,
    )
    return findId(made[creation]?.answer)
  }

  test('every operation of the document answers without cached data', async () => {
    await askInTurn(world.questions, askByKey)
    const asked = world.questions.map(({ operation }) => operation)
    for (const operation of await listOperations('/openapi.json')) {
      const [method = '', path = ''] = operation.split(' ')
      if (asked.includes(operation)) continue
      // Pages and probes, which need no key.
      expect({ operation, status: (await send({ target: path, method })).status }).toEqual({ operation, status: 200 })
    }
  }, 180_000)

  test('tools for agents answer', async () => {
    const url = `http://127.0.0.1:${service.port}/mcp`
    const client = await connectMcp({ url, headers: { authorization: `Bearer ${key}` } })
    const { tools } = await client.listTools()
    expect(tools.length).toBeGreaterThan(20)
    const called = await callTool(client, tools.find(({ name }) => name.includes('usage'))?.name ?? '')
    expect(called).toMatchObject({ isError: false })
    await client.close()
  })

  test('every operation of the operator and of an organization’s page answers', async () => {
    const signIn = async (words: readonly string[]): Promise<SignedIn> => {
      const { url } = await runJson(program, ['login', ...words])
      const { status, headers, body } = await ask(service.port, {
        method: 'POST',
        target: '/login',
        body: `link=${new URL(url).search.slice(1)}`,
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', Origin: 'https://walletscope.example' },
      })
      expect(status).toBe(200)
      return parseSignedIn({ setCookie: headers['set-cookie'], text: body })
    }
    const [operator, member] = [await signIn([]), await signIn(['--org', organization])]
    const token = { Authorization: `Bearer ${TOKEN}` }
    const origin = { Origin: 'https://walletscope.example' }
    for (const [prefix, headers, session] of [
      ['/admin/v1', token, operator],
      ['/dashboard/v1', { ...member.headers, ...origin }, member],
    ] as const) {
      const all = await listOperations(`${prefix}/openapi.json`)
      const made = { organization: organization, key: '' }
      const create = async (target: string, json: object) => {
        const answer = await send({ target, method: 'POST', json, headers })
        expect({ target, status: answer.status }).toEqual({ target, status: 201 })
        return JSON.parse(answer.body).data.id as string
      }
      if (prefix === '/admin/v1') made.organization = await create(`${prefix}/organizations`, { name: 'Other' })
      const keys = prefix === '/admin/v1' ? `${prefix}/organizations/${made.organization}/keys` : `${prefix}/keys`
      for (const operation of all.toSorted(lastOnes)) {
        const [method = '', path = ''] = operation.split(' ')
        if (path.includes('{key_id}')) made.key = await create(keys, { name: 'made' })
        const id = path.includes('{id}') ? await newId(path.includes('/triggers/') ? 'triggers' : 'webhooks') : ''
        const target = path
          .replace('{organization_id}', made.organization)
          .replace('{key_id}', made.key)
          .replace('{id}', id)
        // Some are those of callers.
        const asked = world.questions.find((each) => each.operation === operation.replace(prefix, '/v1'))
        const json = method === 'GET' || method === 'DELETE' ? undefined : (asked?.body ?? createBody(operation))
        const own = path.endsWith('/session') ? { ...session.headers, ...origin } : headers
        const { status, body } = await send({ target, method, json, headers: own })
        if (status >= 300) throw new Error(`${operation} answers ${status}: ${body}`)
      }
    }
  }, 120_000)

  /** Operations that end what others need come last, in this order. */
  const ENDS = [/\/suspend$/, /\/restore$/, /^DELETE .*\/keys/, /^DELETE .*\/organizations/, /^DELETE .*\/session$/]

  function lastOnes(a: string, b: string): number {
    const rank = (operation: string) => ENDS.findIndex((end) => end.test(operation))
    return rank(a) - rank(b)
  }

  function createBody(operation: string): object {
    if (operation.endsWith('/switches')) return { name: 'mcp', on: true }
    if (operation.endsWith('/credits') || operation.endsWith('/grants')) return { credits: 1, reason: 'again' }
    if (operation.endsWith('/organizations') || operation.endsWith('/keys')) return { name: 'One more' }
    return operation.startsWith('PATCH') ? { name: 'Renamed' } : {}
  }
})
