import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { grantCredits, readCredits } from '../../../src/account/credit.ts'
import { setOrganizationState, updateOrganization } from '../../../src/account/organization.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { IS_FULL } from '../../support/cases.ts'
import { emptyDatabase } from '../../support/database.ts'
import { callTool, connectMcp } from '../../support/mcp.ts'
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../../support/pgbouncer.ts'
import { parseSignedIn, type SignedIn } from '../../support/signed_in.ts'
import { type Accounts, createAccounts, openAccount, runJson, withDatabase } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { askInTurn, type ExampleRequest, type ExampleWorld, findId, startExampleWorld } from './examples.ts'
import { ask, type RawAnswer } from './http.ts'
import {
  executableProgram,
  giveDatabase,
  nodeProgram,
  type Program,
  runCommand,
  type Service,
  sourceProgram,
  startService,
} from './program.ts'
import { type Json, ORGANIZATIONS, type Scenario, scenarios } from './scenarios.ts'

describe('scenarios', async () => {
  await buildWhatIsStale()
  const devnet = await sharedDevnet()
  const TABLE = scenarios(devnet)

  const BEHIND_POOLER = 'the source behind PgBouncer in transaction mode'
  const PROGRAMS = [
    ['the executable alone', executableProgram, 'embedded'] as const,
    ...(IS_FULL
      ? [['the source', sourceProgram, 'embedded'] as const, ['the Node bundle alone', nodeProgram, 'server'] as const]
      : []),
    ...(IS_FULL && hasPgBouncer() ? [[BEHIND_POOLER, sourceProgram, 'pooler'] as const] : []),
  ]

  test.skipIf(!hasPgBouncer() || !IS_FULL)(
    `${BEHIND_POOLER} takes the table, too (needs the program "pgbouncer")`,
    () => {
      expect(PROGRAMS.map(([name]) => name)).toContain(BEHIND_POOLER)
    },
  )

  test('builds carry the licences of all that is in them', async () => {
    const [executable, bundle] = [executableProgram({}), nodeProgram({})]
    const [all, packages] = [await runCommand(executable, ['licenses']), await runCommand(bundle, ['licenses'])]
    expect([all.status, packages.status]).toEqual([0, 0])
    expect(all.stdout).toContain('PostgreSQL Global Development Group')
    expect(packages.stdout).not.toContain('PostgreSQL Global Development Group')
    for (const { stdout } of [all, packages]) expect(stdout).toMatch(/^viem \d.* \(MIT\)$/m)
  }, 120_000)

  describe.each(PROGRAMS)('%s', (_, createProgram, kind) => {
    let program: Program
    let service: Service
    let accounts: Accounts
    let database: Awaited<ReturnType<typeof emptyDatabase>> | undefined
    let pooler: PgBouncer | undefined

    beforeAll(async () => {
      database = kind === 'embedded' ? undefined : await emptyDatabase()
      pooler = kind === 'pooler' && database !== undefined ? await startPgBouncer(database.url) : undefined
      const url = pooler?.url ?? database?.url
      program = createProgram({
        CHAINS: '1',
        CHAINS_FILE: '../chains.json',
        ...(url === undefined ? {} : { DATABASE_URL: url }),
      })
      writeFileSync(join(program.directory, '../chains.json'), createChainsFile(devnet.rpcUrl))
      if (url === undefined) await giveDatabase(program)
      else await runJson(program, ['migrate'])
      service = await startService(program)
      accounts = await createAccounts(program)
    }, 120_000)

    afterAll(async () => {
      await service.stop()
      await pooler?.close()
      await database?.drop()
      program.remove()
    }, 120_000)

    for (const scenario of TABLE) {
      test(scenario.name, async () => {
        const answer = await ask(service.port, request(scenario, accounts))
        check(answer, scenario)
      })
    }

    test('the pages for people are there with every file that they load', async () => {
      for (const [page, script] of [
        ['/', 'explore/main.js'],
        ['/usage', 'usage/main.js'],
        ['/operator', 'operator/main.js'],
      ] as const) {
        const got = await ask(service.port, { method: 'GET', target: page, headers: {} })
        expect({ page, status: got.status, type: got.headers['content-type'] }).toEqual({
          page,
          status: 200,
          type: 'text/html; charset=utf-8',
        })
        const files = [...got.body.matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(([, file]) => `/${file}`)
        expect(files.some((file) => file.endsWith(script))).toBe(true)
        for (const file of files) {
          const { status, body } = await ask(service.port, { method: 'GET', target: file, headers: {} })
          expect({ file, status, isEmpty: body.length === 0 }).toEqual({ file, status: 200, isEmpty: false })
        }
      }
    })

    test('the log holds every request of every organization once, in order, with its charge', async () => {
      await withDatabase(program, async (db) => {
        await setOrganizationState(db, 'restore', { by: CLI_ACTOR, id: accounts.ids.suspended })
        await updateOrganization(db, { by: CLI_ACTOR, id: accounts.ids.limited, rateLimit: 1_000 })
        await grantCredits(db, {
          by: CLI_ACTOR,
          organizationId: accounts.ids.poor,
          credits: 5,
          reason: 'to read its log',
        })
      })
      for (const name of ['main', 'poor', 'limited', 'suspended'] as const) {
        const rows = TABLE.filter((each) => (each.key ?? 'main') === name && each.log !== null)
        const logged = await wholeLog(service, accounts.keys[name] ?? '')
        expect(logged).toEqual(
          rows
            .map((each) => ({
              method: each.method ?? 'GET',
              path: each.log?.path,
              status_code: each.status,
              credits_charged: each.log?.credits,
              api_key_name: name,
            }))
            .reverse(),
        )
      }
    }, 120_000)

    test('granted credits are what the log charged and what is left', async () => {
      for (const name of ['main', 'poor', 'limited', 'suspended'] as const) {
        const charged = TABLE.filter((each) => (each.key ?? 'main') === name)
          .map((each) => each.log?.credits ?? 0)
          .reduce((sum, credits) => sum + credits, 0)
        const shown = await withDatabase(program, (db) => readCredits(db, accounts.ids[name]))
        const read = pagesRead.get(accounts.keys[name] ?? '') ?? 0
        const granted = ORGANIZATIONS[name].credits + (name === 'poor' ? 5 : 0)
        expect({ name, balance: Number(shown.balance), granted: Number(shown.granted) }).toEqual({
          name,
          granted,
          balance: granted - charged - read,
        })
      }
    }, 120_000)

    test('SNAPSHOTS=off refuses every daily series at no cost, and nothing else', async () => {
      await service.stop()
      service = await startService(program, { SNAPSHOTS: 'off' })
      const of = async (target: string) => {
        const answer = await ask(service.port, request({ target }, accounts))
        return {
          status: answer.status,
          code: JSON.parse(answer.body).error?.code,
          cost: answer.headers['x-credits-charged'],
        }
      }
      const { provider } = devnet.wallets
      for (const target of [
        `/v1/portfolio/snapshots?wallet=${provider}&chain_id=1`,
        `/v1/lending/aave-v3/position/1/snapshots?wallet=${provider}`,
      ]) {
        expect({ target, ...(await of(target)) }).toEqual({ target, status: 403, code: 'FEATURE_DISABLED', cost: '0' })
      }
      expect(await of(`/v1/portfolio/balance?wallet=${provider}&allow_partial=true`)).toMatchObject({ status: 200 })
    }, 120_000)
  })

  /** Pages of the log that were read by each key; every one cost a credit. */
  const pagesRead = new Map<string, number>()

  function request(
    scenario: Pick<Scenario, 'target' | 'method' | 'key' | 'headers' | 'requestBody'>,
    accounts: Accounts,
  ) {
    const key = accounts.keys[scenario.key ?? 'main']
    return {
      method: scenario.method ?? 'GET',
      target: scenario.target,
      headers: { ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }), ...scenario.headers },
      ...(scenario.requestBody === undefined ? {} : { body: scenario.requestBody }),
    }
  }

  function check(answer: RawAnswer, scenario: Scenario): void {
    expect({ status: answer.status, body: answer.body.slice(0, 300) }).toMatchObject({ status: scenario.status })
    for (const [name, value] of Object.entries(scenario.answers ?? {})) {
      expect(answer.headers[name]).toEqual(typeof value === 'string' ? value : expect.stringMatching(value))
    }
    const { 'cache-control': kept = 'no-store' } = scenario.answers ?? {}
    expect(answer.headers).toMatchObject({ 'cache-control': kept, 'x-content-type-options': 'nosniff' })
    const recognised = scenario.log !== null || scenario.key === 'deleted'
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-credits-remaining']) {
      expect({ name, value: answer.headers[name] }).toEqual({
        name,
        value: recognised ? expect.stringMatching(/^\d+$/) : undefined,
      })
    }
    if (recognised) expect(answer.headers['x-credits-charged']).toBe(String(scenario.log?.credits ?? 0))
    checkBody(answer, scenario)
  }

  function checkBody(answer: RawAnswer, scenario: Scenario): void {
    const requestId = answer.headers['x-request-id']
    expect(requestId).toMatch(/^[A-Za-z0-9_-]{8,64}$/)
    if (scenario.method === 'HEAD' || answer.status === 204) {
      expect(answer.body).toBe('')
      return
    }
    const isJson = answer.headers['content-type']?.startsWith('application/json') === true
    if (isJson) expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    const body: Json = isJson ? JSON.parse(answer.body) : undefined
    if (scenario.status >= 400) {
      expect(body).toEqual({ error: { code: scenario.code, message: expect.any(String), request_id: requestId } })
      expect(body.error.message).not.toMatch(/\.$/)
      if (scenario.says !== undefined) {
        expect(body.error.message).toMatch(scenario.says)
      }
    } else if (scenario.target.startsWith('/v1/')) {
      expect(body.request_id).toBe(requestId)
    }
    scenario.body?.(body, answer)
  }

  /** Rows of an organization's log, newest first, over all pages; the rows of this reading are not in it. */
  async function wholeLog(service: Service, key: string): Promise<Json[]> {
    const rows: Json[] = []
    let target: string | null = '/v1/usage/logs?limit=25&range=1h'
    while (target !== null) {
      const { status, body } = await ask(service.port, {
        method: 'GET',
        target,
        headers: { Authorization: `Bearer ${key}` },
      })
      expect(status).toBe(200)
      pagesRead.set(key, (pagesRead.get(key) ?? 0) + 1)
      const { data, pagination }: Json = JSON.parse(body)
      for (const row of data) {
        const { method, path, status_code, credits_charged, api_key_name } = row
        rows.push({ method, path, status_code, credits_charged, api_key_name })
      }
      const next = pagination.next_page === null ? undefined : new URL(pagination.next_page)
      target = next === undefined ? null : `${next.pathname}${next.search}`
    }
    return rows
  }
})

describe('on Node', async () => {
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
    }, 120_000)

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
      expect(tools.length).toBeGreaterThan(15)
      const called = await callTool(client, tools.find(({ name }) => name === 'list_requests')?.name ?? '')
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
})
