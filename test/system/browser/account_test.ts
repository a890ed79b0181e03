import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Server } from 'bun'
import type { Page } from 'playwright-core'
import { readConfig } from '../../../src/config/config.ts'
import { createServicePages } from '../../../src/service/mod.ts'
import { describeServices } from '../../../src/service/routes.ts'
import { testDatabase } from '../../support/database.ts'
import { createFixedClock } from '../../support/test_clock.ts'
import { waitFor } from '../../support/wait_for.ts'
import { runJson } from '../program/accounts.ts'
import { buildWhatIsStale } from '../program/builds.ts'
import { executableProgram, type Program, type Service, spawnService } from '../program/program.ts'
import { audit, BROWSER, focused, openPage, overflow, tabTo, type Watched } from './browser.ts'
import { DEAD_CHAIN } from './scene.ts'
import { setStage } from './stage.ts'

describe('an account', async () => {
  const START_MS = 180_000
  const ANSWER_MS = 60_000
  const LIST = 'v1/positions/uniswap-v3'

  describe.skipIf(BROWSER === undefined)('pages with a session', () => {
    const stage = setStage({ lending: false, startMs: START_MS, answerMs: ANSWER_MS })

    /** Opens a page; with `words`, signs in through a login link of the command line first. */
    async function open(path: string, words?: readonly string[]): Promise<Page> {
      const page = await stage.open()
      if (words === undefined) {
        await page.goto(`${stage.scene.url}${path}`)
        return page
      }
      const { url } = await runJson(stage.scene.program, ['login', ...words])
      await page.goto(`${stage.scene.url}login${new URL(url).search}`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL(`${stage.scene.url}${path.split('#')[0]}`)
      if (path.includes('#')) await page.goto(`${stage.scene.url}${path}`)
      return page
    }

    /** Status of a call with a key, and the code of its error. */
    async function call(
      key: string | undefined,
      target = `${LIST}?wallet=${stage.scene.devnet.wallets.single}&chain_id=1`,
    ) {
      const response = await fetch(`${stage.scene.url}${target}`, { headers: { authorization: `Bearer ${key}` } })
      const body = (await response.json()) as { readonly error?: { readonly code: string } }
      return [response.status, body.error?.code].filter((each) => each !== undefined).join(' ')
    }

    const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

    test.each(['usage', 'operator'])(
      '/%s shows how to sign in',
      async (path) => {
        const page = await open(path)
        await page.getByText('walletscope login').waitFor()
        expect(await audit(page)).toEqual([])
        expect(await overflow(page)).toEqual([0, 0])
      },
      120_000,
    )

    test('an organization sees its balance, requests, latency, and its log as it grows', async () => {
      const { keys, ids } = stage.scene.accounts
      for (let calls = 0; calls < 6; calls++) await call(keys.main)
      await call(keys.main, `${LIST}?wallet=invalid&chain_id=1`)
      await call(keys.main, `${LIST}/99999?chain_id=1`)
      const page = await open('usage', ['--org', ids.main])
      const { balance } = await runJson(stage.scene.program, ['credits', 'show', ids.main])
      await card(page, 'Balance').getByText(Number(balance).toLocaleString('en')).first().waitFor()
      const rows = page.locator('.log tbody tr')
      const count = card(page, 'Log').locator('.pager')
      await count.getByText('8 requests').waitFor()
      expect(await rows.count()).toBe(8)
      await page.getByLabel('Outcome').selectOption('errors')
      await count.getByText('2 requests').waitFor()
      expect((await rows.locator('b').allTextContents()).sort()).toEqual(['400', '404'])
      await page.getByLabel('Outcome').selectOption('all')
      await count.getByText('8 requests').waitFor()
      await call(keys.main)
      await count.getByText('9 requests').waitFor()
      await page.getByLabel('By', { exact: true }).selectOption('status')
      await page.locator('.legend').getByText('404').waitFor()
      const routes = page.locator('.latency tbody tr')
      await routes.first().waitFor()
      expect(await routes.count()).toBe(2)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 120_000)

    test('a key is created by keyboard, shown once, replaced with a grace period, and revoked', async () => {
      const page = await open('usage', ['--org', stage.scene.accounts.ids.main])
      await page.getByText('Name of a new key').waitFor()
      await tabTo(page, 'Name of a new key')
      await page.keyboard.type('by keyboard')
      await page.keyboard.press('Enter')
      const shown = page.locator('.new-key code')
      const first = await shown.innerText()
      expect(await call(first)).toBe('200')
      await page.getByRole('rowheader', { name: 'by keyboard' }).waitFor()
      expect(await audit(page)).toEqual([])
      await page.reload()
      await page.getByRole('rowheader', { name: 'by keyboard' }).waitFor()
      expect(await page.content()).not.toContain(first)

      await tabTo(page, 'Replace by keyboard')
      await page.keyboard.press('Enter')
      await page.getByLabel('The old one').selectOption('3600')
      expect(await audit(page)).toEqual([])
      await page.getByRole('button', { name: 'Replace it' }).click()
      const second = await shown.innerText()
      expect([await call(first), await call(second)]).toEqual(['200', '200'])

      const buttons = page.getByRole('button', { name: 'Revoke by keyboard' })
      const areLeft = (count: number) =>
        waitFor('the list after the change', async () => (await buttons.count()) === count, ANSWER_MS)
      await areLeft(2)
      await buttons.first().focus()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Revoke "by keyboard"?' }).waitFor()
      await page.keyboard.press('Escape')
      await page.locator('dialog').waitFor({ state: 'detached' })
      expect(await focused(page)).toBe('Revoke by keyboard')
      for (let left = 2; left > 0; left--) {
        await buttons.first().click()
        await page.getByRole('button', { name: 'Revoke it' }).click()
        await page.locator('dialog').waitFor({ state: 'detached' })
        // The button has left with its row.
        await areLeft(left - 1)
        expect(await page.evaluate('document.activeElement !== document.body')).toBe(true)
      }
      expect([await call(first), await call(second)]).toEqual(['401 INVALID_API_KEY', '401 INVALID_API_KEY'])
    }, 120_000)

    test('new keys stay until they are saved, and another account in the browser ends the session with a word', async () => {
      const { ids } = stage.scene.accounts
      const page = await open('usage', ['--org', ids.main])
      for (const name of ['one', 'two']) {
        await page.getByLabel('Name of a new key').fill(name)
        await page.getByRole('button', { name: 'Create key' }).click()
        await page.getByText(`The key "${name}". It is shown only once.`).waitFor()
      }
      expect(await page.locator('.new-key').count()).toBe(2)
      const other = await page.context().newPage()
      const { url } = await runJson(stage.scene.program, ['login', '--org', ids.suspended])
      await other.goto(`${stage.scene.url}login${new URL(url).search}`)
      await other.getByRole('button', { name: 'Sign in' }).click()
      await other.getByText('This organization is suspended').waitFor()
      await page.getByText('The session of this tab has ended').waitFor()
      expect(await page.getByRole('alert').count()).toBe(1)
      expect(await page.locator('.key-state').count()).toBe(0)
      expect(await page.locator('.new-key').count()).toBe(2)
      await page.getByRole('button', { name: 'I have saved it' }).first().click()
      expect(await page.locator('.new-key').count()).toBe(1)
    }, 120_000)

    test('a dialog stays for its answer, so that a refusal is seen though Escape was pressed', async () => {
      const page = await open('usage', ['--org', stage.scene.accounts.ids.main])
      await page.getByLabel('Name of a new key').fill('kept')
      await page.getByRole('button', { name: 'Create key' }).click()
      const held = Promise.withResolvers<void>()
      await page.route('**/dashboard/v1/keys/*', async (route) => {
        await held.promise
        const error = { code: 'SERVICE_UNAVAILABLE', message: 'The database does not answer.', request_id: 'req_1' }
        await route.fulfill({ status: 503, json: { error } })
      })
      await page.getByRole('button', { name: 'Revoke kept' }).click()
      await page.getByRole('button', { name: 'Revoke it' }).click()
      await page.keyboard.press('Escape')
      held.resolve()
      await page.getByRole('dialog').getByText('The database does not answer.').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }, 120_000)

    test('a new organization has empty states instead of figures', async () => {
      const { id } = await runJson(stage.scene.program, ['org', 'create', 'fresh'])
      const page = await open('usage', ['--org', id])
      for (const text of [
        'No request in 24h',
        'No latency to show',
        'No request fits',
        'No key yet',
        'Nothing was spent',
      ]) {
        await page.getByText(text).waitFor()
      }
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 120_000)

    test('a suspended organization sees that it is suspended and gets no key', async () => {
      const page = await open('usage', ['--org', stage.scene.accounts.ids.suspended])
      await page.getByText('This organization is suspended').waitFor()
      await page.getByLabel('Name of a new key').fill('one more')
      await page.getByRole('button', { name: 'Create key' }).click()
      const notice = page.getByRole('alert').filter({ hasText: 'The key was not created' })
      expect(await notice.innerText()).toContain('403 ACCOUNT_SUSPENDED')
      expect(await audit(page)).toEqual([])
    }, 120_000)

    test('the operator creates, grants, limits, suspends and restores an organization, and the audit list has all of it', async () => {
      const page = await open('operator', [])
      await page.getByLabel('Name of a new organization').fill('Acme')
      await page.getByRole('button', { name: 'Create' }).click()
      await page.getByRole('heading', { name: 'Acme' }).waitFor()
      const id = page.url().split('/').at(-1) ?? ''
      await page.getByLabel('Credits', { exact: true }).fill('500')
      await page.getByLabel('Reason').fill('welcome')
      await page.getByRole('button', { name: 'Grant' }).click()
      await page.locator('.total-value').getByText('500').waitFor()
      await page.getByLabel('Requests a second').fill('50')
      await page.getByLabel('Triggers', { exact: true }).fill('20')
      await page.getByRole('button', { name: 'Save' }).click()
      // Nothing is left to save.
      await page.getByRole('button', { name: 'Save', disabled: true }).waitFor()
      await page.getByLabel('Name of a new key').fill('first')
      await page.getByRole('button', { name: 'Create key' }).click()
      const key = await page.locator('.new-key code').innerText()
      expect(await call(key)).toBe('200')
      await page.getByRole('rowheader', { name: 'first' }).waitFor()
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
      for (const [verb, state, answer] of [
        ['Suspend', 'suspended since', '403 ACCOUNT_SUSPENDED'],
        ['Restore', 'active', '200'],
      ] as const) {
        await page.getByRole('button', { name: verb, exact: true }).click()
        await page.getByRole('button', { name: `${verb} it` }).click()
        await page.locator('.badge').getByText(state).first().waitFor()
        expect(await call(key)).toBe(answer)
      }
      const limited = (await runJson(stage.scene.program, ['org', 'list'])).find(
        (each: { readonly id: string }) => each.id === id,
      )
      expect(limited).toMatchObject({ rate_limit: 50, trigger_limit: 20 })
      await page.getByRole('button', { name: 'Create a login link' }).click()
      const link = await page.getByText('/login?').innerText()
      expect(link).toMatch(/\/login\?ws_login_\w+$/)
      await page.getByRole('link', { name: 'Audit' }).click()
      await page.getByRole('heading', { name: 'Acme' }).waitFor({ state: 'detached' })
      await page.getByText('welcome').first().waitFor()
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 120_000)

    test('a switch that the operator turns off applies to the next request', async () => {
      const page = await open('operator#switches', [])
      const { main } = stage.scene.accounts.keys
      const button = page.getByRole('switch', { name: `GET /${LIST}`, exact: true })
      try {
        await button.click()
        await page.getByText('off since').waitFor()
        expect(await call(main)).toBe('403 ENDPOINT_DISABLED')
        expect(await button.getAttribute('aria-checked')).toBe('false')
        expect(await audit(page)).toEqual([])
        await button.focus()
        await page.keyboard.press('Space')
        await page.getByText('off since').waitFor({ state: 'detached' })
        expect(await call(main)).toBe('200')
      } finally {
        await runJson(stage.scene.program, ['settings', 'on', `GET /${LIST}`])
      }
    }, 120_000)

    test('chains with their endpoints, a dead one included, and the progress of histories', async () => {
      const { main } = stage.scene.accounts.keys
      // Only final blocks are stored; on Anvil they are 64 blocks old.
      await stage.scene.devnet.rpc.call('anvil_mine', '0x60')
      const isRead = async () => (await call(main, 'v1/positions/uniswap-v3/1/pnl?chain_id=1')) === '200'
      await waitFor('the history', isRead)
      const page = await open('operator#chains', [])
      const row = (name: string) => page.getByRole('row').filter({ hasText: name })
      await row('Ethereum').getByText('answers').first().waitFor()
      await row(DEAD_CHAIN.name).getByText('does not answer').waitFor()
      await row('uniswap_v3_flow').getByText('followed').waitFor()
      expect(await page.content()).not.toContain('127.0.0.1:9')
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 120_000)

    test('signing out ends the session', async () => {
      const page = await open('usage', ['--org', stage.scene.accounts.ids.main])
      const cookies = await page.context().cookies(`${stage.scene.url}dashboard/v1/session`)
      expect(cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite }))).toEqual([
        { httpOnly: true, sameSite: 'Strict' },
      ])
      const { name, value } = cookies[0] ?? { name: '', value: '' }
      const secret = await page.evaluate<string>("sessionStorage.getItem('walletscope.session:' + location.pathname)")
      const status = async () => {
        const headers = { cookie: `${name}=${value}`, 'x-session-page': secret }
        return (await fetch(`${stage.scene.url}dashboard/v1/session`, { headers })).status
      }
      expect(await status()).toBe(200)
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByText('walletscope login').waitFor()
      expect(await status()).toBe(401)
    }, 120_000)
  })
})

describe('a session', async () => {
  await buildWhatIsStale()

  const START_MS = 180_000
  const ANSWER_MS = 60_000

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
    }, 120_000)

    test('of an organization gives no access to it either', async () => {
      const { id } = await runJson(program, ['org', 'create', 'Acme'])
      const page = await signIn(['--org', id], 'usage')
      expect(await attack(page, 'dashboard/v1')).toEqual(REFUSED)
      await page.getByLabel('Name of a new key').fill('honest')
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('rowheader', { name: 'honest' }).waitFor()
      expect(await page.getByRole('rowheader').allTextContents()).toEqual(['honest'])
    }, 120_000)

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
    }, 120_000)
  })
})

describe('guides', async () => {
  describe.skipIf(BROWSER === undefined)('pages of text', () => {
    const openapi = describeServices(
      readConfig({}, () => {
        throw new Error('Expected no file')
      }),
    )
    const pages = createServicePages(() => openapi, createFixedClock()).callers
    const server = Bun.serve({
      port: 0,
      async fetch(request) {
        const answer = await pages.get(new URL(request.url).pathname)?.('req_1', request)
        return new Response(answer?.shared?.blob ?? answer?.body, { ...answer, status: answer?.status ?? 404 })
      },
    })
    afterAll(() => server.stop(true))

    // Third-party code renders the reference.
    const addresses = [...pages.keys()].filter((path) => path.startsWith('/docs/') && path !== '/docs/reference')

    test('are several', () => expect(addresses.length).toBeGreaterThan(5))

    test.each([...addresses, '/docs', '/formulas'])(
      '%s is accessible: in light and dark, on a phone',
      async (address) => {
        const { page, complaints, close } = await openPage()
        await page.goto(new URL(address, server.url).href)
        expect(await audit(page, { dark: true })).toEqual([])
        expect(await overflow(page)).toEqual([0, 0])
        expect(complaints).toEqual([])
        await close()
      },
      120_000,
    )
  })
})
