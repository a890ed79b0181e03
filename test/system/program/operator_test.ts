import { afterEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mintKey } from '../../../src/account/key.ts'
import { startAnvil } from '../../devnet/anvil.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { RUNTIMES } from '../../support/cases.ts'
import { testDatabase } from '../../support/database.ts'
import { parseSignedIn } from '../../support/signed_in.ts'
import { waitFor } from '../../support/wait_for.ts'
import { runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask, type RawAnswer } from './http.ts'
import {
  executableProgram,
  giveDatabase,
  nodeProgram,
  type Program,
  runCommand,
  type Service,
  spawnService,
} from './program.ts'

describe('the operator', async () => {
  const KEY = /ws_sk_[0-9A-Za-z]{24}/
  /** No chain is ever reached here. */
  const CHAIN = { CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9/rpc-secret' }

  await buildWhatIsStale()
  let programs: Program[] = []

  afterEach(() => {
    for (const program of programs) program.remove()
    programs = []
  })

  function program(env: Readonly<Record<string, string>> = {}): Program {
    const made = executableProgram({ ...CHAIN, ...env })
    programs.push(made)
    return made
  }

  /** A port that another program has. */
  async function takenPort(): Promise<{ readonly port: number; free(): void }> {
    const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    return { port: server.port, free: () => server.stop(true) }
  }

  test.each([
    ['PORT', {}],
    ['OPERATOR_PORT', { PORT: '0' }],
  ])(
    'a first start whose %s another program has says so in one line and makes no key; the next start makes it',
    async (name, env) => {
      const other = await takenPort()
      const operated = program(env)
      await giveDatabase(operated)
      const failed = await runCommand(operated, ['serve'], { [name]: String(other.port) })
      other.free()
      expect(failed.status).toBe(1)
      expect(failed.stdout).not.toMatch(KEY)
      expect(failed.stderr.trim().split('\n').at(-1)).toBe(
        `walletscope: Cannot listen on HOST 127.0.0.1 ${name} ${other.port}: another program uses it`,
      )
      expect(await keyWorks(operated)).toBe(true)
    },
    120_000,
  )

  test('a first start with two mistakes has a line for each, shows no value and makes no key', async () => {
    const operated = program()
    await giveDatabase(operated)
    const wrong = { RPC_URL_1: 'https://user:%ZZ@rpc-secret.test', DRAIN_SECONDS: 'soon', PORT: '0' }
    const failed = await runCommand(operated, ['serve'], wrong)
    expect([failed.status, failed.stdout]).toEqual([1, ''])
    expect(failed.stderr).toMatch(
      /^walletscope: Cannot start with this configuration:\n {2}RPC_URL_1: expected [^\n]+\n {2}DRAIN_SECONDS: [^\n]+\n$/,
    )
    expect(failed.stderr).not.toContain('rpc-secret')
    expect(await keyWorks(operated)).toBe(true)
  }, 120_000)

  /** Starts the service: true if it prints a key, once, that is recognised. */
  async function keyWorks(operated: Program): Promise<boolean> {
    const service = await spawnService(operated, { PORT: '0' })
    await waitFor('the key is printed', () => KEY.test(service.stdout()))
    const headers = { Authorization: `Bearer ${KEY.exec(service.stdout())?.[0]}` }
    const { status } = await ask(service.port, { method: 'GET', target: '/v1/usage/logs', headers })
    await service.stop()
    return status === 200
  }

  describe.each(RUNTIMES)('OPERATOR_PORT on %s', (runtime) => {
    const get = (port: number, target: string, headers: Readonly<Record<string, string>> = {}) =>
      ask(port, { method: 'GET', target, headers })

    test('moves /metrics and /readyz there, and both ports are drained and closed at the end', async () => {
      const { operated, close } = await programOn(runtime, { OPERATOR_PORT: '0', DRAIN_SECONDS: '3' })
      const service = await spawnService(operated)
      const operator = Number(/"operatorPort":(\d+)/.exec(service.stderr())?.[1])
      expect(operator).toBeGreaterThan(0)
      await waitFor('the ports are printed', () => service.stdout().includes(`http://127.0.0.1:${operator}`))

      const statuses = async (port: number, targets: readonly string[]) =>
        Promise.all(targets.map(async (target) => (await get(port, target)).status))
      const moved = ['/metrics', '/readyz', '/v1/../metrics', '/v1/..\\readyz']
      expect(await statuses(service.port, ['/healthz', '/openapi.json', '/docs'])).toEqual([200, 200, 200])
      expect(await statuses(service.port, moved)).toEqual([404, 404, 400, 400])
      // No chain is reached here, so `/readyz` answers 503 anyway.
      expect(await statuses(operator, moved)).toEqual([200, 503, 400, 400])
      const elsewhere = ['/healthz', '/openapi.json', '/docs', '/v1/usage/logs', '/v1/nothing', '/']
      expect(await statuses(operator, elsewhere)).toEqual(elsewhere.map(() => 404))
      const posted = await ask(operator, { method: 'POST', target: '/metrics', headers: {} })
      expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS'])
      const { paths } = JSON.parse((await get(service.port, '/openapi.json')).body)
      expect(Object.keys(paths).filter((path) => !path.startsWith('/v1/'))).toEqual([
        '/.well-known/walletscope-keys.json',
        '/docs',
        '/formulas',
        '/healthz',
        '/openapi.json',
      ])
      await waitFor('the metrics count their own requests', async () =>
        (await get(operator, '/metrics')).body.includes('walletscope_http_requests_total{route="/metrics"'),
      )

      const stopped = service.stop()
      await waitFor('readiness is draining', async () => (await get(operator, '/readyz')).body.includes('"draining"'))
      expect((await stopped).status).toBe(0)
      for (const port of [service.port, operator]) {
        expect(await get(port, '/healthz').catch(() => 'closed')).toBe('closed')
      }
      await close()
    }, 120_000)
  })

  test.each(RUNTIMES)(
    'on %s a key for one network is known by the address that a trusted proxy tells',
    async (runtime) => {
      const trusting = { TRUSTED_PROXIES: '127.0.0.0/8', LOG_LEVEL: 'debug' }
      const { operated, close } = await programOn(runtime, trusting)
      const { id } = await runJson(operated, ['org', 'create', 'Acme'])
      await runJson(operated, ['credits', 'grant', id, '10', '--reason', 'welcome'])
      const { key } = await runJson(operated, ['key', 'create', id, '--allow-network', '192.0.2.0/24'])
      const statuses = async (service: Service, addresses: readonly string[]) => {
        const asked = addresses.map(async (address) => {
          const headers = { Authorization: `Bearer ${key}`, ...(address === '' ? {} : { 'X-Forwarded-For': address }) }
          let status = 503
          // It listens before it has reached its database, and without its chain it is never ready.
          await waitFor('an answer of the gate', async () => {
            status = (await ask(service.port, { method: 'GET', target: '/v1/usage/logs', headers })).status
            return status !== 503
          })
          return status
        })
        return Promise.all(asked)
      }
      const addresses = ['192.0.2.7', '198.51.100.1, 192.0.2.7', '192.0.2.7, 198.51.100.1', '']
      const behind = await spawnService(operated)
      expect(await statuses(behind, addresses)).toEqual([200, 200, 401, 401])
      expect(behind.stderr()).toContain('"from":"192.0.2.7"')
      await behind.stop()
      const alone = await spawnService(operated, { TRUSTED_PROXIES: '' })
      expect(await statuses(alone, addresses)).toEqual([401, 401, 401, 401])
      await alone.stop()
      await close()
    },
    120_000,
  )

  test('a service that others can reach warns if links follow the Host of each request', async () => {
    const warned = async (env: Readonly<Record<string, string>>) => {
      const service = await spawnService(program(env))
      await service.stop()
      return service.stderr().includes('PUBLIC_URL')
    }
    const base = { DATABASE_URL: 'postgres://me@127.0.0.1:1/x' }
    expect(await warned({ ...base, HOST: '0.0.0.0' })).toBe(true)
    expect(await warned({ ...base, HOST: '::' })).toBe(true)
    expect(await warned({ ...base, HOST: '0.0.0.0', PUBLIC_URL: 'https://api.example.org' })).toBe(false)
    for (const HOST of ['127.0.0.1', 'localhost', '::1']) expect(await warned({ ...base, HOST })).toBe(false)
  }, 120_000)

  test('endpoints that do not answer at the start are named by their places, once the service listens', async () => {
    const hanging = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const anvil = await startAnvil()
    const urls = [`http://127.0.0.1:${hanging.port}/rpc-secret`, anvil.rpcUrl, 'http://127.0.0.1:9/rpc-secret']
    const service = await spawnService(
      program({ DATABASE_URL: 'postgres://me@127.0.0.1:1/x', CHAINS: '1,101', RPC_URL_1: urls.join() }),
      { SOLANA_RPC_URL: 'http://127.0.0.1:9/rpc-secret' },
    )
    const named = () =>
      service
        .stderr()
        .trim()
        .split('\n')
        .filter((line) => /endpoints? of chain \d+/.test(line))
    await waitFor('both chains are told of', () => named().length === 2)
    await service.stop()
    await anvil.stop()
    hanging.stop(true)
    const lines = service.stderr().trim().split('\n')
    expect(lines.findIndex((line) => line.includes('"Listening"'))).toBeLessThan(lines.indexOf(named()[0] ?? ''))
    const told = named().map((line) => JSON.parse(line))
    expect(told.toSorted((a, b) => a.chainId - b.chainId)).toMatchObject([
      {
        level: 'warn',
        msg: '2 of 3 endpoints of chain 1 do not answer: set RPC_URL_1 to others',
        endpoints: [1, 3],
        of: 3,
      },
      { level: 'warn', msg: 'No endpoint of chain 101 answers: set SOLANA_RPC_URL to others', endpoints: [1], of: 1 },
    ])
    expect(service.stderr()).not.toContain('rpc-secret')
  }, 120_000)

  test('a database that is away has one line in the log, however many requests it fails', async () => {
    const service = await spawnService(program({ DATABASE_URL: 'postgres://me@127.0.0.1:1/x' }))
    const headers = { Authorization: `Bearer ${mintKey().key}` }
    for (let asked = 0; asked < 40; asked++) {
      expect((await ask(service.port, { method: 'GET', target: '/v1/usage/logs', headers })).status).toBe(503)
    }
    const metrics = await ask(service.port, { method: 'GET', target: '/metrics', headers: {} })
    expect(metrics.body).toContain('walletscope_http_requests_total{route="GET /v1/usage/logs",status="503"} 40')
    await service.stop()
    const told = service.stderr().split('\n')
    expect(told.filter((line) => line.includes('"The database is unreachable"'))).toHaveLength(1)
    expect(told.filter((line) => line.includes('Could not answer'))).toEqual([])
  }, 120_000)

  test('one command makes an organization with credits and a key, and commands take its name', async () => {
    const { operated, close } = await programOn('Bun')
    const { id, key, credits } = await runJson(operated, ['org', 'create', 'Shop, Ltd', '--credits', '1_000', '--key'])
    expect([key, credits]).toEqual([expect.stringMatching(KEY), 1_000])
    const [listed] = await runJson(operated, ['key', 'list', 'Shop, Ltd'])
    expect(listed.last4).toBe(key.slice(-4))
    expect(await runJson(operated, ['credits', 'show', 'Shop, Ltd'])).toMatchObject({ balance: '1000' })
    expect(await runJson(operated, ['org', 'limit', 'Shop, Ltd', '7'])).toMatchObject({ id, rate_limit: 7 })
    const refusal = async (...words: readonly string[]) => (await runCommand(operated, words)).stderr
    expect(await refusal('credits', 'show', 'Shopp')).toContain('Shopp')
    expect(await runJson(operated, ['login', '--org', 'Shop, Ltd'])).toMatchObject({ organization_id: id })
    expect(await runJson(operated, ['logout', '--org', 'Shop, Ltd'])).toEqual({ ended: 0 })
    for (const verb of ['login', 'logout']) expect(await refusal(verb, '--org', 'Shopp')).toContain('Shopp')
    expect(await refusal('org', 'create', 'Shop, Ltd')).toBe(
      'walletscope: Cannot call an organization "Shop, Ltd": another one has that name\n',
    )
    expect(await runJson(operated, ['org', 'suspend', 'Shop, Ltd'])).toMatchObject({ id })
    await close()
  }, 120_000)

  test('a negative number takes back credits, but never more than are left', async () => {
    const { operated, close } = await programOn('Bun')
    const { id } = await runJson(operated, ['org', 'create', 'Acme'])
    await runJson(operated, ['credits', 'grant', id, '10', '--reason', 'welcome'])
    expect(await runJson(operated, ['credits', 'grant', id, '-4', '--reason', 'mistake'])).toMatchObject({
      balance: '6',
    })
    const refused = await runCommand(operated, ['credits', 'grant', id, '-7', '--reason', 'too much'])
    expect({ ...refused, stdout: '' }).toEqual({
      status: 1,
      stdout: '',
      stderr: 'walletscope: Cannot take back 7 credits: the organization has 6 left\n',
    })
    await close()
  }, 120_000)

  test('a data directory that cannot be used is named, with the reason', async () => {
    const operated = program()
    const file = join(operated.directory, 'file')
    writeFileSync(file, '')
    const refused = await runCommand(operated, ['serve'], { DATA_DIR: file, PORT: '0' })
    expect([refused.status, refused.stderr]).toEqual([
      1,
      `walletscope: Cannot use data directory "${file}": it is not a directory (EEXIST)\n`,
    ])
  }, 120_000)

  test('a database that is away is named by commands with the reason, and serving starts and waits for it', async () => {
    const operated = program({ DATABASE_URL: 'postgres://me:s3cr3t@127.0.0.1:1/x' })
    const refused = await runCommand(operated, ['org', 'list'])
    expect(refused.stderr).toBe(
      'walletscope: Cannot use the database: it does not answer: the connection was refused, nothing listens there (ECONNREFUSED)\n',
    )
    const service = await spawnService(operated)
    const answers = await Promise.all(
      ['/healthz', '/readyz'].map((target) => ask(service.port, { method: 'GET', target, headers: {} })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 503])
    expect(JSON.parse(answers[1]?.body ?? '').database).toBe(false)
    expect(`${service.stdout()}${service.stderr()}`).not.toMatch(/s3cr3t|rpc-secret/)
    expect((await service.stop()).status).toBe(0)
  }, 120_000)

  test('what a command prints reaches a slow reader to the last byte, and a reader who leaves causes no failure', async () => {
    const operated = program()
    const whole = await runCommand(operated, ['openapi'])
    // More than a pipe holds, or this would prove nothing.
    expect(whole.stdout.length).toBeGreaterThan(65_536)
    const [slow, left] = await Promise.all(
      ['sleep 1; cat', 'head -c 1'].map((reader) =>
        runCommand(
          { ...operated, command: ['sh', '-c', `{ "$0" "$@"; echo $? >&2; } | { ${reader}; }`, ...operated.command] },
          ['openapi'],
        ),
      ),
    )
    expect([slow?.stdout === whole.stdout, slow?.stderr]).toEqual([true, '0\n'])
    expect([left?.stdout, left?.stderr]).toEqual(['{', '0\n'])
  }, 120_000)

  /** The executable, or the bundle on Node, with one of the tests' databases. */
  async function programOn(
    runtime: string,
    env: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly operated: Program; close(): Promise<void> }> {
    const database = await testDatabase()
    const close = () => database.close()
    if (runtime === 'Bun') return { operated: program({ ...env, DATABASE_URL: database.url }), close }
    const operated = nodeProgram({ ...CHAIN, ...env, DATABASE_URL: database.url })
    programs.push(operated)
    return { operated, close }
  }

  test.each(RUNTIMES)(
    'keeps serving on %s after the readers of its output and log have closed',
    async (runtime) => {
      const { operated, close } = await programOn(runtime, { LOG_LEVEL: 'debug' })
      // The reader takes the line with the port, and leaves at the first request.
      const reader = 'while read -r line; do echo "$line" >&2; case "$line" in *\\"port\\"*) exit;; esac; done'
      const serve = ['sh', '-c', `"$0" "$@" 2>&1 & echo $! >&2; wait`, ...operated.serve]
      const service = await spawnService({ ...operated, serve: ['sh', '-c', `"$0" "$@" | { ${reader}; }`, ...serve] })
      const pid = Number(/^\d+$/m.exec(service.stderr())?.[0])
      for (let request = 0; request < 5; request++) {
        const { status } = await ask(service.port, { method: 'GET', target: '/healthz', headers: {} })
        expect(status).toBe(200)
        await Bun.sleep(50)
      }
      process.kill(pid, 'SIGTERM')
      await service.exited
      await close()
    },
    120_000,
  )

  test('a chain whose newest block is a day old is not ready, unless its row allows that', async () => {
    const anvil = await startAnvil({ timestampSec: Math.floor(Date.now() / 1_000) - 86_400 })
    try {
      const { operated, close } = await programOn('Bun', { RPC_URL_1: anvil.rpcUrl })
      const ready = async (service: Service) => {
        const { status, body } = await ask(service.port, { method: 'GET', target: '/readyz', headers: {} })
        return { ...JSON.parse(body), status }
      }
      const frozen = await spawnService(operated)
      expect(await ready(frozen)).toMatchObject({ status: 503, database: true, chains: { 1: false } })
      await frozen.stop()
      writeFileSync(join(operated.directory, 'chains.json'), createChainsFile(anvil.rpcUrl))
      const tolerant = await spawnService(operated, { CHAINS_FILE: 'chains.json' })
      expect(await ready(tolerant)).toMatchObject({ status: 200, database: true, chains: { 1: true } })
      await tolerant.stop()
      await close()
    } finally {
      await anvil.stop()
    }
  }, 120_000)
})

describe('sessions', async () => {
  const TOKEN = 'the-operators-own-token'
  /** No chain is ever reached here. */
  const ENV = { CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9', ADMIN_TOKEN: TOKEN, PORT: '0' }

  await buildWhatIsStale()
  let programs: Program[] = []

  afterEach(() => {
    for (const program of programs) program.remove()
    programs = []
  })

  /** What a browser would send from a page on this port. */
  async function send(
    port: number,
    target: string,
    options: {
      readonly method?: string
      /** Headers of a session. */
      readonly session?: Readonly<Record<string, string>>
      readonly form?: string
      readonly json?: unknown
    } = {},
  ): Promise<RawAnswer> {
    const { method = 'GET', session = {}, form, json } = options
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded'
    const body = form ?? (json === undefined ? undefined : JSON.stringify(json))
    return ask(port, {
      method,
      target,
      headers: {
        ...session,
        ...(method === 'GET' ? {} : { Origin: `http://127.0.0.1:${port}` }),
        ...(body === undefined ? {} : { 'Content-Type': type }),
      },
      ...(body === undefined ? {} : { body }),
    })
  }

  test.each(RUNTIMES)(
    'on %s a printed link signs in once, and switches, keys and sessions act at once on both services of a database',
    async (runtime) => {
      const database = await testDatabase()
      const env = { ...ENV, DATABASE_URL: database.url }
      const program = runtime === 'Bun' ? executableProgram(env) : nodeProgram(env)
      programs.push(program)
      const [one, other] = await Promise.all([spawnService(program), spawnService(program)])
      const { id } = await runJson(program, ['org', 'create', 'Acme', '--rate-limit', '1000', '--credits', '100'])

      const { url } = await runJson(program, ['login', '--org', id])
      const secret = new URL(url).search.slice(1)
      expect((await send(one.port, `/login?${secret}`)).body).toContain(`value="${secret}"`)
      const used = await Promise.all(
        [one, other, one, other].map(({ port }) => send(port, '/login', { method: 'POST', form: `link=${secret}` })),
      )
      expect(used.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401])
      const opened = used.find(({ status }) => status === 200)
      const session = parseSignedIn({ setCookie: opened?.headers['set-cookie'], text: opened?.body ?? '' })
      expect(session.cookie).toStartWith('walletscope_session=ws_session_')

      const made = await send(other.port, '/dashboard/v1/keys', {
        method: 'POST',
        session: session.headers,
        json: { name: 'here', allowed_networks: ['127.0.0.0/8'], credits_per_day: 3 },
      })
      expect(made.status).toBe(201)
      const { key } = JSON.parse(made.body).data
      const elsewhere = await runJson(program, ['key', 'create', id, '--allow-network', '192.0.2.0/24'])
      const call = async (port: number, bearer: string) => {
        const { status, body } = await ask(port, {
          method: 'GET',
          target: '/v1/usage/logs',
          headers: { Authorization: `Bearer ${bearer}` },
        })
        return `${status} ${JSON.parse(body).error?.code ?? ''}`.trim()
      }
      expect(await call(one.port, key)).toBe('200')
      expect(await call(one.port, elsewhere.key)).toBe('401 INVALID_API_KEY')
      expect([await call(other.port, key), await call(one.port, key)]).toEqual(['200', '200'])
      expect([await call(other.port, key), await call(one.port, key)]).toEqual(
        Array(2).fill('402 INSUFFICIENT_CREDITS'),
      )

      await runJson(program, ['settings', 'off', 'GET /v1/usage/logs'])
      for (const { port } of [one, other]) expect(await call(port, key)).toBe('403 ENDPOINT_DISABLED')
      const byToken = await ask(other.port, {
        method: 'PUT',
        target: '/admin/v1/settings/switches',
        body: '{"name":"GET /v1/usage/logs","on":true}',
        headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      })
      expect(byToken.status).toBe(200)
      for (const { port } of [one, other]) expect(await call(port, key)).toBe('402 INSUFFICIENT_CREDITS')

      const seen = async (port: number) =>
        (await send(port, '/dashboard/v1/organization', { session: session.headers })).status
      expect([await seen(one.port), await seen(other.port)]).toEqual([200, 200])
      expect(await runJson(program, ['logout', '--all'])).toEqual({ ended: 1 })
      expect([await seen(one.port), await seen(other.port)]).toEqual([401, 401])
      for (const words of [['logout'], ['logout', '--all', '--org', id]]) {
        expect((await runCommand(program, words)).status).toBe(2)
      }
      const output = [one, other].map((service) => `${service.stdout()}${service.stderr()}`).join('')
      for (const hidden of [TOKEN, secret, session.value, session.secret, key]) expect(output).not.toContain(hidden)
      await Promise.all([one.stop(), other.stop()])
      await database.close()
    },
    120_000,
  )

  test('the first start prints links of the operator and of its organization, each on the port of its page', async () => {
    const program = executableProgram({ ...ENV, OPERATOR_PORT: '0' })
    programs.push(program)
    await giveDatabase(program)
    const service = await spawnService(program)
    const operatorPort = Number(/"operatorPort":(\d+)/.exec(service.stderr())?.[1])
    await waitFor('the links are printed', () => service.stdout().includes('listens on'))
    const links = [...service.stdout().matchAll(/http:\/\/127\.0\.0\.1:(\d+)\/login\?(\w+)/g)]
    expect(links.map(([, port]) => Number(port))).toEqual([service.port, operatorPort])
    const pages = await Promise.all(
      links.map(([, port, secret]) => send(Number(port), '/login', { method: 'POST', form: `link=${secret}` })),
    )
    const led = pages.map(({ status, body }) => [status, parseSignedIn({ setCookie: undefined, text: body }).page])
    expect(led).toEqual([
      [200, 'usage'],
      [200, 'operator'],
    ])
    await service.stop()
  }, 120_000)
})
