import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { mintEach } from '../../devnet/uniswap_v4/mint_each.ts'
import { MARKET, OBLIGATION, WALLET as SOLANA_WALLET } from '../../support/kamino_scene.ts'
import { startReceiver } from '../../support/receiver.ts'
import { waitFor } from '../../support/wait_for.ts'
import { runJson } from '../program/accounts.ts'
import { audit, BROWSER, focused, openLink, overflow, settle, tabTo } from './browser.ts'
import { setStage } from './stage.ts'

describe('triggers', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: answers are walked by the words that the test names.
  type Json = any

  const START_MS = 180_000
  const ANSWER_MS = 60_000

  describe.skipIf(BROWSER === undefined)('triggers in the browser', () => {
    const stage = setStage({
      lending: true,
      startMs: START_MS,
      answerMs: ANSWER_MS,
      env: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' },
    })
    let receiver: Awaited<ReturnType<typeof startReceiver>>
    beforeAll(async () => {
      receiver = await startReceiver({ plain: true })
    })
    afterAll(() => receiver.stop())

    /** Calls the API with a key of the main organization, and returns the answer's `data`. */
    async function api(method: string, path: string, body?: unknown) {
      const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}`, 'content-type': 'application/json' }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const answer = await fetch(`${stage.scene.url}${path}`, init)
      const { data, error }: Json = answer.status === 204 ? {} : await answer.json()
      if (!answer.ok) throw new Error(`Cannot ${method} ${path}: ${answer.status} ${error?.message}`)
      return data
    }

    // What a failed test has made must not reach the tests after it.
    afterEach(async () => {
      for (const list of ['v1/triggers', 'v1/webhooks']) {
        for (let made = await api('GET', list); made.length > 0; made = await api('GET', list))
          for (const { id } of made) await api('DELETE', `${list}/${id}`)
      }
    }, ANSWER_MS)

    /** Opens a page that needs a session, through a login link of the command line. */
    async function signIn(path: string, words: readonly string[]): Promise<Page> {
      const page = await stage.open()
      const { url } = await runJson(stage.scene.program, ['login', ...words])
      await page.goto(`${stage.scene.url}login${new URL(url).search}`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.waitForURL(`${stage.scene.url}${path.split('#')[0]}`)
      await page.goto(`${stage.scene.url}${path}`)
      return page
    }

    async function explore(
      wallet: string,
      before: (page: Page) => Promise<unknown> = async () => undefined,
    ): Promise<Page> {
      const page = await stage.open()
      await before(page)
      await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
      await openLink(page, `${stage.scene.url}#wallet=${wallet}`)
      await settle(page)
      return page
    }

    test('a bell at a health factor creates, shows and deletes a trigger, by keyboard alone', async () => {
      const { url: hook } = await api('POST', 'v1/webhooks', {
        url: `http://127.0.0.1:${receiver.port}/ok`,
        name: 'Bridge',
      })
      expect(hook).toContain('127.0.0.1')
      const { wallets } = await stage.scene.devnet.aave()
      const wallet = wallets.everywhere
      const page = await explore(wallet)
      const reads: string[] = []
      page.on('request', (request) => {
        if (request.method() === 'GET' && /\/v1\/triggers\?/.test(request.url())) reads.push(request.url())
      })
      const card = page.getByRole('article', { name: 'Aave V3, market main', exact: true })
      await card.getByRole('button', { name: /^Tell me when… the health factor falls/ }).focus()
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Tell me when the health factor falls' })
      const level = dialog.getByLabel('Falls below')
      await level.waitFor()
      const data = await api('GET', `v1/lending/aave-v3?wallet=${wallet}&chain_id=1`)
      // Below the current health factor, so that it does not fire at once.
      expect(Number(await level.inputValue())).toBeLessThan(Number(data[0].positions[0].healthFactor))
      expect(await audit(page)).toEqual([])
      await tabTo(page, 'Send it to')
      await page.keyboard.type('Bridge')
      await page.keyboard.press('Enter')
      await tabTo(page, 'Falls below')
      await page.keyboard.press('Enter')
      const made = dialog.getByRole('list', { name: 'Triggers' }).getByRole('listitem')
      await made.waitFor()
      const [trigger] = await api('GET', 'v1/triggers')
      expect(trigger).toMatchObject({
        chain_id: 1,
        family: 'aave-v3',
        subject: { wallet, market_id: 'main' },
        when: { figure: 'health_factor', below: await level.inputValue() },
        webhook_id: expect.stringMatching(/^whk_/),
      })
      expect(await made.innerText()).toContain('to Bridge')
      expect(await audit(page)).toEqual([])

      await level.fill('0.0.1')
      await page.keyboard.press('Enter')
      await dialog.getByRole('alert').getByText('The trigger was not created').waitFor()
      await tabTo(page, `Delete health factor below ${trigger.when.below}`)
      await page.keyboard.press('Enter')
      await made.waitFor({ state: 'detached' })
      expect(await api('GET', 'v1/triggers')).toEqual([])
      // The bell's press paid for each list once: a change needs no other reading.
      const lists = stage.requests.map((address) => new URL(address).pathname)
      expect(lists.filter((path) => path === '/v1/webhooks').length).toBe(1)
      expect(reads.length).toBe(1)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      expect(await focused(page)).toBe('Tell me when… the health factor falls, Aave V3, market main, up to 2 credits')
    }, 180_000)

    test('further triggers are paid for once each page, and none is listed twice', async () => {
      const { wallets } = await stage.scene.devnet.aave()
      const subject = { wallet: wallets.everywhere, market_id: 'main' }
      const levels = Array.from({ length: 26 }, (_, index) => `0.${10 + index}`)
      for (const below of levels)
        await api('POST', 'v1/triggers', {
          chain_id: 1,
          family: 'aave-v3',
          subject,
          when: { figure: 'health_factor', below },
        })
      const page = await explore(subject.wallet)
      let reads = 0
      page.on('request', (request) => {
        if (request.method() === 'GET' && /\/v1\/triggers\?/.test(request.url())) reads++
      })
      const card = page.getByRole('article', { name: 'Aave V3, market main', exact: true })
      await card.getByRole('button', { name: /^Tell me when… the health factor falls/ }).click()
      const dialog = page.getByRole('dialog', { name: 'Tell me when the health factor falls' })
      const items = dialog.getByRole('list', { name: 'Triggers' }).getByRole('listitem')
      await waitFor('the first page', async () => (await items.count()) === 25)
      await dialog.getByLabel('Falls below').press('Enter')
      await waitFor('the trigger that was made', async () => (await items.count()) === 26)
      await dialog.getByRole('button', { name: /^Look for more .*1 credit$/ }).click()
      await waitFor('the rest', async () => (await items.count()) === 27)
      expect(reads).toBe(2)
      expect(new Set(await items.allInnerTexts()).size).toBe(27)
      await dialog.getByRole('button', { name: 'Delete health factor below 0.35' }).click()
      await waitFor('the deletion', async () => (await items.count()) === 26)
    }, 180_000)

    test('a bell at a range creates a trigger for leaving it, on a phone, in light and dark', async () => {
      const page = await explore(stage.scene.devnet.wallets.provider)
      await page.setViewportSize({ width: 390, height: 844 })
      const card = page
        .getByRole('article', { name: /^Position \d+/ })
        .filter({ hasText: 'In range' })
        // Without a bound there is nothing to tell.
        .filter({ has: page.getByRole('button', { name: /^Tell me when/ }) })
        .first()
      await card.getByRole('button', { name: /^Tell me when… the price leaves the range/ }).click()
      const dialog = page.getByRole('dialog', { name: 'Tell me when the price leaves the range' })
      expect(await dialog.getByLabel('When it').inputValue()).toBe('false')
      await dialog.getByRole('button', { name: 'Tell me', exact: true }).click()
      await dialog.getByText('not in range').waitFor()
      expect(await audit(page, { dark: true })).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
      const [trigger] = await api('GET', 'v1/triggers')
      expect(trigger).toMatchObject({ family: 'uniswap-v3', when: { figure: 'in_range', is: false }, webhook_id: null })
    }, 180_000)

    test('a trigger on any figure says what it has to say in the tab, and beside it once the reader asks', async () => {
      const page = await explore(stage.scene.devnet.wallets.single, (page) =>
        // The shell of the browser shows none: it notes what a browser would be asked.
        page.addInitScript(`
          window.shown = []
          window.asked = 0
          window.Notification = class {
            static permission = 'default'
            static async requestPermission() { window.asked++; return (this.permission = 'granted') }
            constructor(title, { body, tag }) { window.shown.push({ title, body, tag }) }
          }`),
      )
      const messages = page.getByRole('region', { name: 'Messages' })
      expect(await messages.getByRole('listitem').count()).toBe(0)
      expect(stage.requests.filter((address) => address.includes('v1/events'))).toEqual([])
      const ask = async (level: string) => {
        await page.locator('.row .bell').first().click()
        const dialog = page.getByRole('dialog')
        await dialog.getByLabel('Watch').selectOption('value_usd')
        await dialog.getByLabel('Falls below').fill(level)
        await dialog.getByRole('button', { name: 'Tell me', exact: true }).click()
        await dialog.getByText(`value usd below ${level}`).waitFor()
        await dialog.getByRole('button', { name: 'Close' }).click()
      }
      await ask('900000000')
      await messages.getByRole('listitem').filter({ hasText: 'below 900000000' }).waitFor()
      expect(await page.evaluate('window.asked')).toBe(0)
      await messages.getByRole('button', { name: 'Notify me in this browser' }).click()
      await messages.getByText('as long as this tab is open').waitFor()
      await ask('800000000')
      await messages.getByRole('listitem').filter({ hasText: 'below 800000000' }).waitFor()
      const { asked, shown } = (await page.evaluate('({ asked: window.asked, shown: window.shown })')) as Json
      expect([asked, shown.length, shown[0].title]).toEqual([1, 1, 'walletscope'])
      expect(shown[0].body).toContain('below 800000000')
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 180_000)

    const HEALTH = { tells: 'the health factor falls', clause: 'health factor below ' }
    const RANGE = { tells: 'the price leaves the range', clause: 'not in range' }
    const listV4 = (wallet: string) => api('GET', `v1/positions/uniswap-v4?wallet=${wallet}&chain_id=1`)
    /** A bell of each family: what it tells, the card of its position, a wallet that has one, and its subject in the routes. */
    const BELLS = {
      'morpho-blue': {
        ...HEALTH,
        card: /^Morpho Blue, market/,
        getWallet: async () => (await stage.scene.devnet.morpho()).wallets.borrower,
        getSubject: async (wallet: string, card: string) => ({ wallet, market_id: card.split(' ').at(-1) }),
      },
      kamino: {
        ...HEALTH,
        card: /^Kamino, obligation/,
        getWallet: async () => SOLANA_WALLET,
        getSubject: async (wallet: string) => ({ wallet, obligation_address: OBLIGATION, market_address: MARKET }),
      },
      'uniswap-v4': {
        ...RANGE,
        card: /^Position \d+/,
        async getWallet() {
          const owner = toWalletAddress('has a bell')
          await mintEach(await stage.scene.devnet.uniswapV4(), { names: ['plain'], owner })
          // The service may know the block before for a moment.
          await waitFor('the position', async () => (await listV4(owner)).length > 0)
          return owner
        },
        async getSubject(wallet: string) {
          const [{ token_id, manager_address }] = await listV4(wallet)
          return { token_id, manager_address }
        },
      },
      'orca-whirlpool': {
        ...RANGE,
        card: 'SOL and USDC',
        getWallet: async () => SOLANA_WALLET,
        async getSubject(wallet: string) {
          const [{ position_address }] = await api('GET', `v1/positions/orca-whirlpool?wallet=${wallet}`)
          return { wallet, position_address }
        },
      },
    } as const
    for (const family of Object.keys(BELLS) as (keyof typeof BELLS)[]) {
      test(`a bell watches a position of ${family} by the subject of its routes`, async () => {
        const { tells, clause, card: name, getWallet, getSubject } = BELLS[family]
        const wallet = await getWallet()
        const page = await explore(wallet)
        const bell = page.getByRole('button', { name: `Tell me when… ${tells}` })
        const named = page.getByRole('article', { name }).filter({ has: bell }).first()
        const label = (await named.getAttribute('aria-label')) ?? ''
        const card = page.getByRole('article', { name: label, exact: true })
        await card.getByRole('button', { name: /^Tell me when/ }).click()
        const dialog = page.getByRole('dialog', { name: `Tell me when ${tells}` })
        await dialog.getByRole('button', { name: 'Tell me', exact: true }).click()
        const made = dialog.getByRole('list', { name: 'Triggers' }).getByRole('listitem')
        expect(await made.innerText()).toStartWith(clause)
        const [trigger] = await api('GET', `v1/triggers?family=${family}`)
        expect(trigger.subject).toEqual(await getSubject(wallet, label))
        await made.getByRole('button', { name: /^Delete / }).click()
        await made.waitFor({ state: 'detached' })
        expect(await api('GET', 'v1/triggers')).toEqual([])
      }, 180_000)
    }

    test.each(['pointer', 'focus'] as const)(
      'no row leaves the %s that is at its bell: what comes meanwhile stands last until the reader has left',
      async (at) => {
        const page = await stage.open()
        await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
        const held = Promise.withResolvers<void>()
        await page.route('**/v1/positions/orca-whirlpool?*', async (route) => {
          await held.promise
          await route.continue()
        })
        await openLink(page, `${stage.scene.url}#wallet=${SOLANA_WALLET}`, { areCardsOpen: false })
        const bell = page.getByRole('button', { name: 'Tell me when… the health factor falls, Kamino' })
        await bell.waitFor()
        await page.locator('.row').filter({ hasText: 'in the wallet' }).nth(1).waitFor()
        await page.getByLabel('Sort by').selectOption('what')
        const listNames = () => page.locator('.row .line-name').allTextContents()
        const before = await listNames()
        if (at === 'pointer') {
          await bell.hover()
        } else {
          await bell.focus()
          await page.keyboard.press('Enter')
          await page.getByRole('dialog').waitFor()
        }
        held.resolve()
        await settle(page)
        const all = [...before, 'SOL / USDC']
        expect(await listNames()).toEqual(all)
        const sorted = all.toSorted((a, b) => a.localeCompare(b, 'en'))
        expect(sorted).not.toEqual(all)
        if (at === 'pointer') {
          await page.mouse.move(0, 0)
        } else {
          await page.keyboard.press('Escape')
          await page.getByRole('dialog').waitFor({ state: 'detached' })
          expect(await focused(page)).toStartWith('Tell me when… the health factor falls, Kamino')
          expect(await listNames()).toEqual(all)
          await page.getByLabel('Sort by').focus()
        }
        expect(await listNames()).toEqual(sorted)
      },
      180_000,
    )

    test('no bell is shown if the service has no triggers', async () => {
      const served: Json = await (await fetch(`${stage.scene.url}openapi.json`)).json()
      delete served.paths['/v1/triggers']
      const { wallets } = await stage.scene.devnet.aave()
      const page = await explore(wallets.everywhere, (page) =>
        page.route('**/openapi.json', (route) => route.fulfill({ json: served })),
      )
      expect(await page.locator('.market .gauge-value').count()).toBeGreaterThan(0)
      expect(await page.getByRole('button', { name: /^Tell me when/ }).count()).toBe(0)
    }, 120_000)

    test('an organization sees its triggers, messages and failed deliveries, redelivers one, and creates a webhook', async () => {
      const { ids } = stage.scene.accounts
      const bad = await api('POST', 'v1/webhooks', { url: `http://127.0.0.1:${receiver.port}/status/410` })
      const { wallets } = await stage.scene.devnet.aave()
      const subject = { wallet: wallets.everywhere, market_id: 'main' }
      const when = { figure: 'health_factor', below: '1000' }
      const about = { chain_id: 1, family: 'aave-v3', subject, when, webhook_id: bad.id }
      // It holds, so it fires at once; a receiver that is gone makes the message a dead letter.
      await api('POST', 'v1/triggers', { ...about, name: 'Main vault' })
      await stage.scene.devnet.rpc.call('evm_mine')
      const page = await signIn('usage', ['--org', ids.main])
      const dead = page.getByRole('region', { name: 'Dead letters' })
      const row = page.getByRole('region', { name: 'Triggers' }).getByRole('row').filter({ hasText: 'Main vault' })
      await row.getByText('fired').waitFor()
      await dead.getByText('410 in').waitFor()
      await page.getByRole('button', { name: 'Messages of Main vault' }).click()
      await page.getByRole('heading', { name: 'Messages of Main vault' }).waitFor()
      await page.getByRole('row').filter({ hasText: 'fired, change 1' }).getByText('dead', { exact: true }).waitFor()
      const webhooks = page.getByRole('region', { name: 'Webhooks' })
      await webhooks.getByText('stopped').waitFor()
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])

      await api('PATCH', `v1/webhooks/${bad.id}`, { url: `http://127.0.0.1:${receiver.port}/ok`, status: 'active' })
      const before = receiver.received.length
      await dead.getByRole('button', { name: /^Post again: fired, change 1/ }).click()
      await dead.getByText('Everything arrived').waitFor()
      await waitFor('the message', () => receiver.received.length > before)

      await tabTo(page, 'URL of a new webhook')
      await page.keyboard.type(`http://127.0.0.1:${receiver.port}/new`)
      await page.keyboard.press('Enter')
      expect(await page.locator('.new-key code').innerText()).toStartWith('whsec_')
      await page.getByRole('button', { name: `Test http://127.0.0.1:${receiver.port}/new` }).click()
      await waitFor('the test message', () => receiver.received.some(({ path }) => path === '/new'))
      await page.getByLabel('URL of a new webhook').fill('https://169.254.169.254/')
      await page.getByRole('button', { name: 'Create webhook' }).click()
      await page.getByText('The webhook was not created').waitFor()
      await page.setViewportSize({ width: 390, height: 844 })
      expect(await overflow(page)).toEqual([0, 0])
      await page.getByRole('button', { name: 'Pause Main vault' }).click()
      await row.getByText('paused').waitFor()
      await page.getByRole('button', { name: 'Delete Main vault' }).click()
      await page.getByRole('button', { name: 'Delete it' }).click()
      await page.getByText('No trigger yet').waitFor()
    }, 180_000)

    test('a webhook is deleted after a confirmation, and not while triggers post to it', async () => {
      const url = `http://127.0.0.1:${receiver.port}/unwanted`
      const { id } = await api('POST', 'v1/webhooks', { url, name: 'Unwanted' })
      const subject = { wallet: stage.scene.devnet.wallets.provider, market_id: 'main' }
      const when = { figure: 'health_factor', below: '1.01' }
      const trigger = await api('POST', 'v1/triggers', {
        chain_id: 1,
        family: 'aave-v3',
        subject,
        when,
        webhook_id: id,
      })
      const page = await signIn('usage', ['--org', stage.scene.accounts.ids.main])
      const row = page.getByRole('region', { name: 'Webhooks' }).getByRole('row').filter({ hasText: 'Unwanted' })
      await row.getByRole('button', { name: `Delete ${url}` }).click()
      const dialog = page.getByRole('dialog', { name: 'Delete "Unwanted"?' })
      await dialog.getByRole('button', { name: 'Delete it' }).click()
      await dialog.getByText('1 trigger posts to it').waitFor()
      await api('DELETE', `v1/triggers/${trigger.id}`)
      await dialog.getByRole('button', { name: 'Delete it' }).click()
      await page.getByText(`${url} is deleted.`).waitFor()
      await row.waitFor({ state: 'detached' })
    }, 120_000)

    test('the operator sees the block and process of the evaluation, and the age of the oldest message', async () => {
      const subject = { wallet: stage.scene.devnet.wallets.provider, market_id: 'main' }
      const when = { figure: 'health_factor', below: '1.01' }
      await api('POST', 'v1/triggers', { chain_id: 1, family: 'aave-v3', subject, when })
      const page = await signIn('operator#triggers', [])
      const region = page.getByRole('region', { name: 'Triggers' })
      const row = region.getByRole('row').filter({ hasText: 'latest' })
      await row.getByText('evaluated').waitFor()
      expect(await row.innerText()).toMatch(/[0-9a-f-]{36}/)
      expect(await region.getByText('The oldest is due for').count()).toBe(1)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 120_000)
  })
})

describe('causes', async () => {
  const DEAD = {
    10: 'OP Mainnet',
    56: 'BNB Smart Chain',
    137: 'Polygon',
    8453: 'Base',
    42161: 'Arbitrum One',
    43114: 'Avalanche',
  }
  const IDS = Object.keys(DEAD)
  /** No process listens on this port. */
  const CLOSED_PORT = 'http://127.0.0.1:9'
  const env = { CHAINS: `1,${IDS}`, ...Object.fromEntries(IDS.map((id) => [`RPC_URL_${id}`, CLOSED_PORT])) }

  describe.skipIf(BROWSER === undefined)('Explore, if many chains cannot be read', () => {
    const stage = setStage({ lending: true, startMs: 180_000, answerMs: 60_000, env })

    async function enter(wallet: string, key: string | undefined): Promise<Page> {
      const page = await stage.open()
      await page.addInitScript("sessionStorage.setItem('walletscope.cards', 'open')")
      await page.goto(`${stage.scene.url}#wallet=${wallet}`)
      await page.getByLabel('API key').fill(key ?? '')
      await page.keyboard.press('Enter')
      return page
    }

    /** Counts visible occurrences of a text. */
    const seen = (page: Page, text: string) => page.getByText(text).filter({ visible: true }).count()

    async function shoot(page: Page, name: string): Promise<void> {
      const folder = process.env['SCREENSHOTS']
      if (folder === undefined) return
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 })
        await page.screenshot({ path: `${folder}/${name}_${width}.png`, fullPage: true })
      }
      await page.setViewportSize({ width: 1280, height: 900 })
    }

    test('six dead chains of seven share one notice, and the seventh answers', async () => {
      const page = await enter(stage.scene.devnet.wallets.provider, stage.scene.accounts.keys.main)
      const line = page.getByRole('alert').filter({ hasText: '6 chains could not be read' })
      await line.waitFor()
      await settle(page)
      expect(await page.locator('.position').count()).toBeGreaterThan(0)
      await page.getByText('without 6 chains').waitFor()
      expect(await page.getByRole('alert').filter({ visible: true }).count()).toBe(1)
      for (const name of Object.values(DEAD)) expect([name, await seen(page, name)]).toEqual([name, 1])
      await shoot(page, 'six_dead')
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])

      const asked = stage.requests.length
      await line.getByRole('button', { name: 'Try all again' }).click()
      const again = () => stage.requests.slice(asked).map((address) => new URL(address))
      const lists = () => again().filter(({ pathname }) => pathname === '/v1/positions/uniswap-v3')
      await settle(page)
      await line.waitFor()
      expect(new Set(lists().map(({ searchParams }) => searchParams.get('chain_id')))).toEqual(new Set(IDS))
      // Successful parts are not requested again.
      const isOfList = ({ pathname }: URL) => !pathname.endsWith('/snapshots')
      expect(again().filter((url) => isOfList(url) && url.searchParams.get('chain_id') === '1')).toEqual([])
      await line.getByText('Why, and what helps').click()
      for (const name of Object.values(DEAD)) expect(await line.innerText()).toContain(`${name}, Aave V3: `)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 180_000)

    test.each([
      ['unknown', 'Check that the whole key was pasted'],
      ['suspended', 'The operator has suspended this organization'],
    ] as const)(
      'a key that is %s is refused on entry, and no request is sent with it',
      async (name, advice) => {
        const page = await enter(stage.scene.devnet.wallets.provider, stage.scene.accounts.keys[name])
        await page.getByRole('alert').getByText(advice).waitFor()
        await page.getByLabel('API key').waitFor()
        expect(stage.requests.filter((address) => address.includes('wallet=') && !address.includes('#'))).toEqual([])
        expect(await page.evaluate("sessionStorage.getItem('walletscope.key')")).toBeNull()
        await shoot(page, `key_${name}`)
        expect(await audit(page)).toEqual([])
        expect(await overflow(page)).toEqual([0, 0])
      },
      120_000,
    )

    test('an unknown key is refused on entry to a service without triggers as well', async () => {
      const error = { code: 'NOT_FOUND', message: 'There is no such route', request_id: 'req_1' }
      const page = await stage.open()
      await page.route('**/v1/triggers?*', (route) => route.fulfill({ status: 404, json: { error } }))
      await page.goto(stage.scene.url)
      await page.getByLabel('API key').fill(stage.scene.accounts.keys.unknown ?? '')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').getByText('Check that the whole key was pasted').waitFor()
      await page.getByLabel('API key').fill(stage.scene.accounts.keys.main ?? '')
      await page.keyboard.press('Enter')
      await page.getByRole('textbox', { name: 'Wallet' }).waitFor()
    }, 120_000)

    test('a typo that the checksum of an address tells is said before anything is asked', async () => {
      const wrong = '0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
      const page = await enter(wrong, stage.scene.accounts.keys.main)
      await page.getByRole('alert').getByText('do not match its checksum').waitFor()
      expect(stage.requests.filter((address) => address.includes('wallet=') && !address.includes('#'))).toEqual([])
      await shoot(page, 'wrong_address')
      expect(await audit(page)).toEqual([])
    }, 120_000)
  })
})
