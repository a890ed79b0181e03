import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Server } from 'bun'
import type { Page } from 'playwright-core'
import { testDatabase } from '../../support/database.ts'
import { runJson } from '../program/accounts.ts'
import { buildWhatIsStale } from '../program/builds.ts'
import { executableProgram, type Program, type Service, spawnService } from '../program/program.ts'
import { audit, BROWSER, openPage, overflow, type Watched } from './browser.ts'

await buildWhatIsStale()

const START_MS = 60_000
const ANSWER_MS = 20_000

describe.skipIf(BROWSER === undefined)('a session in a browser', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>
  let program: Program
  let service: Service
  let watched: Watched
  /** Another service of the same host, on another port, run by an attacker. */
  let thief: Server<undefined>
  /** Secrets that browsers sent it. */
  let stolen: { readonly cookie: string; readonly page: string | null }[]

  beforeAll(async () => {
    database = await testDatabase()
    // These tests reach no chain.
    program = executableProgram({ CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9', DATABASE_URL: database.url })
    service = await spawnService(program)
    thief = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch({ headers }) {
        stolen.push({ cookie: headers.get('cookie') ?? '', page: headers.get('x-session-page') })
        return new Response('<!doctype html><title>Elsewhere</title>', { headers: { 'content-type': 'text/html' } })
      },
    })
  }, START_MS)
  afterAll(async () => {
    await thief?.stop(true)
    await service?.stop()
    program?.remove()
    await database?.close()
  }, START_MS)
  afterEach(() => watched.close())

  const at = (path: string) => `http://127.0.0.1:${service.port}/${path}`

  /** Signs a new browser in by a link of the command line. */
  async function signIn(words: readonly string[], path: string): Promise<Page> {
    stolen = []
    watched = await openPage()
    const { page } = watched
    page.setDefaultTimeout(ANSWER_MS)
    const { url } = await runJson(program, ['login', ...words])
    await page.goto(at(`login${new URL(url).search}`))
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(at(path))
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    return page
  }

  const listNames = async () =>
    (await runJson(program, ['org', 'list'])).map(({ name }: { readonly name: string }) => name)

  /** Attacks from a page on the other port, and from its server with the secrets that it was sent. */
  async function attack(page: Page, plane: string): Promise<string[]> {
    const other = await page.context().newPage()
    await other.goto(`http://127.0.0.1:${thief.port}/${plane}/anything`)
    const outcomes = await other.evaluate(
      async ([target, plane]) => {
        const json = { 'content-type': 'application/json' }
        const body = '{"name":"by a thief"}'
        const tries: [string, RequestInit][] = [
          [`${plane}/session`, { credentials: 'include' }],
          [`${plane}/session`, { credentials: 'include', headers: { 'x-session-page': 'guessed' } }],
          [`${plane}/organizations`, { credentials: 'include', method: 'POST', headers: json, body }],
          [`${plane}/keys`, { credentials: 'include', method: 'POST', mode: 'no-cors', body }],
        ]
        const answers = tries.map(([path, init]) =>
          fetch(`${target}${path}`, init).then(
            ({ type, status }) => `${type} ${status}`,
            ({ name }) => name,
          ),
        )
        return [...(await Promise.all(answers)), `${sessionStorage.length} kept`]
      },
      [at(''), plane] as const,
    )
    await other.close()
    const [{ cookie, page: secret }] = stolen as [(typeof stolen)[0]]
    expect(secret).toBeNull()
    // The browser sent the cookie to the attacker, so the cookie alone must give no access.
    expect(cookie).toMatch(/^walletscope_(operator|session)=ws_session_\w{32}$/)
    const replayed = [
      ['GET', 'session', undefined],
      ['GET', 'organizations', undefined],
      ['POST', 'organizations', '{"name":"by a thief"}'],
      ['POST', 'keys', '{"name":"by a thief"}'],
      ['GET', 'logs', undefined],
      ['DELETE', 'session', undefined],
    ] as const
    for (const [method, path, body] of replayed) {
      const headers = { cookie, origin: at('').slice(0, -1), 'content-type': 'application/json' }
      const { status } = await fetch(at(`${plane}/${path}`), { method, headers, ...(body && { body }) })
      outcomes.push(`${method} ${path} ${status}`)
    }
    return outcomes
  }

  const REFUSED = [
    ...['TypeError', 'TypeError', 'TypeError', 'opaque 0', '0 kept'],
    ...['GET session 401', 'GET organizations 401', 'POST organizations 401'],
    ...['POST keys 401', 'GET logs 401', 'DELETE session 401'],
  ]

  test('of the operator gives no access to a server on another port of the host', async () => {
    const page = await signIn([], 'operator')
    const before = await listNames()
    expect(await attack(page, 'admin/v1')).toEqual(REFUSED)
    expect(await listNames()).toEqual(before)
    await page.getByLabel('Name of a new organization').fill('Honest')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Honest' }).waitFor()
    expect(await listNames()).toEqual(['Honest', ...before])
  }, 60_000)

  test('of an organization gives no access to it either', async () => {
    const { id } = await runJson(program, ['org', 'create', 'Acme'])
    const page = await signIn(['--org', id], 'usage')
    expect(await attack(page, 'dashboard/v1')).toEqual(REFUSED)
    await page.getByLabel('Name of a new key').fill('honest')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('rowheader', { name: 'honest' }).waitFor()
    expect(await page.getByRole('rowheader').allTextContents()).toEqual(['honest'])
  }, 60_000)

  test('belongs to a tab: it survives a reload, a duplicate shares it, a new tab shows how to get one', async () => {
    const page = await signIn([], 'operator')
    await page.reload()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    const [twin] = await Promise.all([page.context().waitForEvent('page'), page.evaluate("void open('operator')")])
    await twin.getByRole('button', { name: 'Sign out' }).waitFor()
    const fresh = await page.context().newPage()
    await fresh.goto(at('operator'))
    await fresh.getByText('A session belongs to one tab').waitFor()
    expect(await audit(fresh)).toEqual([])
    expect(await overflow(fresh)).toEqual([0, 0])
    // The second secret is in no URL, so in no history and no log.
    expect(watched.requests.filter((address) => address.includes('ws_page_'))).toEqual([])
    await page.goBack()
    expect(await page.content()).not.toContain('ws_page_')
    await page.goForward()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('A session belongs to one tab').waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    await twin.reload()
    await twin.getByText('A session belongs to one tab').waitFor()
    expect(watched.complaints).toEqual([])
  }, 60_000)
})
