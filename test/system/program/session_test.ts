import { afterEach, expect, test } from 'bun:test'
import { RUNTIMES } from '../../support/cases.ts'
import { testDatabase } from '../../support/database.ts'
import { parseSignedIn } from '../../support/signed_in.ts'
import { waitFor } from '../../support/wait_for.ts'
import { runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask, type RawAnswer } from './http.ts'
import { executableProgram, giveDatabase, nodeProgram, type Program, runCommand, spawnService } from './program.ts'

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
    expect([await call(other.port, key), await call(one.port, key)]).toEqual(Array(2).fill('402 INSUFFICIENT_CREDITS'))

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
  expect(links.map(([, port]) => Number(port))).toEqual([operatorPort, service.port])
  const pages = await Promise.all(
    links.map(([, port, secret]) => send(Number(port), '/login', { method: 'POST', form: `link=${secret}` })),
  )
  const led = pages.map(({ status, body }) => [status, parseSignedIn({ setCookie: undefined, text: body }).page])
  expect(led).toEqual([
    [200, 'operator'],
    [200, 'usage'],
  ])
  await service.stop()
}, 60_000)
