import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Locator, Page, Response } from 'playwright-core'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { parseKeys } from '../../../src/receipt/keys.ts'
import { createProofRunner } from '../../../src/receipt/proof/runner.ts'
import { verifyReceipt } from '../../../src/receipt/verify.ts'
import { IS_FULL } from '../../support/cases.ts'
import { MARKET, OBLIGATION, WALLET as SOLANA_WALLET } from '../../support/kamino_scene.ts'
import { waitFor } from '../../support/wait_for.ts'
import type { Json } from '../program/scenarios.ts'
import { audit, BROWSER, focused, openLink, overflow, savedColumn, settle, tabTo } from './browser.ts'
import { DEAD_CHAIN } from './scene.ts'
import { setStage } from './stage.ts'

const START_MS = 180_000
/** An answer may wait until the request to an unavailable endpoint times out. */
const ANSWER_MS = 60_000
const KEY = 'walletscope.key'
/** A test of README's command with `SEEDS=full` alone. */
const testFully = test.if(IS_FULL)

/** Formats dollars as the page does, for figures of a cent or more. */
function shown(usd: string): string {
  return `$${Number(usd).toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
}

describe.skipIf(BROWSER === undefined)('Explore', () => {
  const stage = setStage({ lending: true, startMs: START_MS, answerMs: ANSWER_MS })

  /** Opens the page with a key, at a link to a view, and reads it. */
  async function look(fragment: string, key = stage.scene.accounts.keys.main): Promise<Page> {
    const page = await stage.open()
    await page.addInitScript(`sessionStorage.setItem('${KEY}', '${key}')`)
    await openLink(page, `${stage.scene.url}${fragment}`)
    return page
  }

  /** Sends a call that the page shows to the service itself. */
  async function call(target: string): Promise<Json> {
    const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
    return (await fetch(new URL(target, stage.scene.url), { headers })).json()
  }

  /** Waits until the histories of a wallet are read, so that a later answer has no other figures. */
  async function readHistories(wallet: string): Promise<void> {
    const target = `v1/positions/uniswap-v3?wallet=${wallet}&full=true&chain_id=1`
    const isReady = ({ pnl_status: status, uncollected_fees: fees }: Json) => status === 'ready' && fees !== null
    await waitFor('the histories', async () => (await call(target)).data?.every(isReady) === true)
  }

  test('a look at what has not changed costs nothing again, also after the page was loaded anew', async () => {
    const { single } = stage.scene.devnet.wallets
    await readHistories(single)
    const page = await look(`#wallet=${single}`)
    /** Looks again, and returns what lists of the chain cost: sums over the dead chain may give another reason each time. */
    const lookAgain = async (press: () => Promise<unknown>) => {
      const answers: Response[] = []
      const note = (response: Response) => void (isOfChain(response.url()) && answers.push(response))
      page.on('response', note)
      await press()
      while (answers.length < lists.size) await page.waitForTimeout(50)
      await settle(page)
      page.off('response', note)
      const charged = answers.map((answer) => Number(answer.headers()['x-credits-charged']))
      return { statuses: new Set(answers.map((answer) => answer.status())), charged: Math.max(...charged) }
    }
    const isOfChain = (address: string) =>
      new URL(address).searchParams.get('chain_id') === String(stage.scene.devnet.chainId)
    const press = () => page.getByRole('button', { name: 'Look', exact: true }).click()
    await settle(page)
    const lists = new Set(stage.requests.filter(isOfChain))
    expect(lists.size).toBeGreaterThan(3)
    expect(await lookAgain(press)).toEqual({ statuses: new Set([304]), charged: 0 })
    expect(await page.locator('.position').count()).toBe(1)
    const loaded = await lookAgain(async () => {
      await page.reload()
      await page.getByRole('button', { name: 'Read it', exact: true }).click()
    })
    expect(loaded).toEqual({ statuses: new Set([304]), charged: 0 })
    await page.getByRole('button', { name: 'Forget key' }).click()
    const kept = 'Object.keys(sessionStorage).filter((name) => name.startsWith("walletscope.answer"))'
    expect(await page.evaluate(kept)).toEqual([])
  }, 180_000)

  /** Saves the first receipt in `there`, and verifies it. */
  async function savesReceipt(page: Page, there: Pick<Locator, 'getByRole'> = page): Promise<void> {
    const saving = page.waitForEvent('download')
    await there
      .getByRole('button', { name: /^Receipt, \d+ credits$/ })
      .first()
      .click()
    const file = await saving
    await page.getByText(`walletscope verify ${file.suggestedFilename()} --key ${stage.scene.url}`).waitFor()
    expect(file.suggestedFilename()).toMatch(/^rcp_[0-9A-Z]{26}\.json$/)
    const work = createWork(new AbortController().signal)
    const keys = parseKeys(await (await fetch(new URL('.well-known/walletscope-keys.json', stage.scene.url))).text())
    const given = { keys, rpcUrls: [], blockHashes: new Map(), clock: systemClock, work, runner: createProofRunner() }
    const { is } = await verifyReceipt(readFileSync(await file.path(), 'utf8'), given)
    expect(is).toBe('true')
  }

  /** Checks the net worth of a Solana wallet, and its uncounted rows. */
  async function showsSolanaWorth(page: Page): Promise<void> {
    const part = page.getByRole('region', { name: 'Portfolio' })
    const card = part.getByRole('article', { name: 'Net worth' })
    await card.waitFor()
    const { data } = await call(`v1/portfolio/balance?wallet=${SOLANA_WALLET}`)
    expect(await card.innerText()).toContain(shown(data.by_kind.wallet_usd))
    // 12.5 SOL at 150 dollars and 800 USDC.
    expect(data.by_kind.wallet_usd).toBe('2675.000000')
    await part.getByRole('button', { name: 'Show them up to 6 credits' }).click()
    await part.getByText('Claim at').or(part.getByText('GIFT')).first().waitFor()
    expect(await card.innerText()).toMatch(/Not counted: 3 rows/)
    await part.getByText('Coverage', { exact: true }).click()
    expect(await card.innerText()).toMatch(/1 NFT, which have no row/)
    expect(await part.innerText()).toMatch(/Solana slot [\d,]+\s+15 credits/)
  }

  /** Checks the daily series of the market `main` as charts and as a table, and the events on them. */
  async function showsLendingByDay(page: Page, wallet: string): Promise<void> {
    const card = page.getByRole('article', { name: 'Aave V3, market main', exact: true })
    await card.getByRole('button', { name: /^Day by day, and events \d+ credits$/ }).click()
    const worth = card.locator('.chart').first()
    await worth.waitFor()
    await card.locator('.events').waitFor()
    const base = 'v1/lending/aave-v3/position/1'
    const query = `wallet=${wallet}&market_id=main`
    const { data: days } = await call(`${base}/snapshots?${query}`)
    const { data: events } = await call(`${base}/events?${query}`)
    const [before, last] = days.slice(-2)
    expect(await worth.locator('.readout').innerText()).toContain(shown(last.net_worth_usd))
    expect(await worth.locator('.mark').count()).toBe(events.length)
    await worth.locator('.canvas').focus()
    await page.keyboard.press('ArrowLeft')
    expect(await worth.locator('.readout').innerText()).toContain(shown(before.debt_usd))
    await page.keyboard.press('Home')
    expect(await worth.locator('.readout').innerText()).toContain('Supplied')
    await card.getByText(`${days.length} days as a table`).click()
    expect(await card.locator('.as-table tbody tr').count()).toBe(days.length)
    const rows = card.locator('.events tbody tr')
    expect(await rows.count()).toBe(events.length)
    const exact = await rows.first().locator('.figure-all').allTextContents()
    expect(exact).toEqual([`${events[0].amount} ${events[0].asset.symbol}`, `${events[0].amountUSD} USD`])
    const link = rows.first().getByRole('link')
    expect(await link.getAttribute('href')).toBe(`https://etherscan.io/tx/${events[0].transactionHash}`)
  }

  /** Checks the daily chart of each chain, and its table. */
  async function showsPortfolioByDay(page: Page, wallet: string): Promise<void> {
    const part = page.getByRole('region', { name: 'Portfolio' })
    await part.getByRole('button', { name: 'Day by day on Ethereum 5 credits' }).click()
    const chart = part.locator('.chart')
    await chart.waitFor()
    const query = `wallet=${wallet}&chain_id=1&max_snapshots=90`
    const { data: days } = await call(`v1/portfolio/snapshots?${query}`)
    const [before, last] = days.slice(-2)
    expect(await chart.count()).toBe(1)
    expect(Number(last.net_worth_usd)).toBeGreaterThan(0)
    expect(await chart.locator('.dot.net').count()).toBe(days.length)
    const readout = chart.locator('.readout')
    for (const figure of ['net_worth_usd', 'assets_usd', 'debt_usd'])
      expect(await readout.innerText()).toContain(shown(last[figure]))
    await chart.locator('.canvas').focus()
    await page.keyboard.press('ArrowLeft')
    expect(await readout.innerText()).toContain(shown(before.assets_usd))
    await part.getByText(`${days.length} days as a table`).click()
    const rows = part.locator('.history tbody tr')
    expect(await rows.count()).toBe(days.length)
    expect(await rows.first().innerText()).toContain(shown(last.supplied_usd))
    expect(await part.locator('.history .proof').innerText()).toContain('5 credits')
  }

  const wallet = (name: 'provider' | 'spammed' | 'empty' | 'retired') => `#wallet=${stage.scene.devnet.wallets[name]}`

  test('by keyboard alone: a key, a mistyped wallet, a wallet, its figures', async () => {
    const page = await stage.open()
    await page.goto(stage.scene.url)
    await page.getByLabel('API key').waitFor()
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to the content')
    await tabTo(page, 'API key')
    await page.keyboard.type('ws_sk_short')
    await page.keyboard.press('Enter')
    await page.getByText('paste the whole of it').waitFor()
    const tests: Response[] = []
    page.on('response', (response) => {
      if (new URL(response.url()).pathname.startsWith('/v1/')) tests.push(response)
    })
    await page.keyboard.press('Control+A')
    await page.keyboard.type(stage.scene.accounts.keys.main ?? '')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Wallet' }).waitFor()
    // The console of the browser shows every answer that is not a success.
    expect(tests.map((test) => [test.status(), test.headers()['x-credits-charged']])).toEqual([[200, '0']])
    await tabTo(page, 'Wallet')
    await page.keyboard.type('0x1234')
    await page.keyboard.press('Enter')
    await page.getByText('this has 4').waitFor()
    expect(await audit(page)).toEqual([])
    await page.keyboard.press('Control+A')
    await page.keyboard.type(stage.scene.devnet.wallets.empty)
    await page.keyboard.press('Enter')
    await page.getByText('Nothing in Liquidity (Ethereum').waitFor()
    await settle(page)
    expect(page.url()).toBe(`${stage.scene.url}${wallet('empty')}`)
    await page.goBack()
    await page.getByRole('heading', { level: 1 }).getByText('hold').waitFor()
  }, 180_000)

  test('every position is shown with all digits of the answer, its block, price and call; its receipt verifies', async () => {
    const { provider } = stage.scene.devnet.wallets
    const target = `v1/positions/uniswap-v3?wallet=${provider}&full=true&chain_id=1`
    // Fees are separated once the history is complete.
    await readHistories(provider)
    const page = await look(wallet('provider'))
    await settle(page)
    const answer = await call(target)
    const cards = page.locator('.position')
    expect(await cards.count()).toBe(answer.data.length)
    for (const position of answer.data) {
      const card = cards.filter({ has: page.locator(`header span[title="${position.token_id}"]`) })
      const exact = await card.locator('.figure-all').allTextContents()
      const shown = await card.getByRole('img').getAttribute('aria-label')
      expect(exact).toContain(`${position.usd.total} USD`)
      for (const name of ['token0', 'token1'] as const) {
        const { symbol } = position.position_state[name]
        expect(exact).toContain(`${position.amounts[name].amount} ${symbol}`)
        expect(exact).toContain(`${position.uncollected_fees[name].amount} ${symbol}`)
      }
      expect(shown).toContain(position.in_range ? ', in range' : 'out of range')
      const pool = card.getByRole('link', { name: 'Pool on etherscan.io, in a new tab' })
      const linked = await Promise.all(['href', 'rel', 'target'].map((name) => pool.getAttribute(name)))
      expect(linked).toEqual([
        `https://etherscan.io/address/${position.position_state.pool.id}`,
        'noopener noreferrer',
        '_blank',
      ])
    }
    // The provenance of the list; cards have one of their own once their events are read.
    const proof = page.getByRole('region', { name: 'Liquidity' }).locator('.part > .proof').first()
    expect(await proof.innerText()).toContain(`${15 * answer.data.length} credits`)
    expect(await proof.innerText()).toMatch(/Ethereum block \d+/)

    await proof.getByText('curl', { exact: true }).click()
    const command = proof.locator('code').filter({ hasText: 'curl' })
    await command.waitFor()
    const [, header, address] = /^curl -H "(.+)" '(.+)'$/.exec(await command.innerText()) ?? []
    expect(header).toBe('Authorization: Bearer $WALLETSCOPE_KEY')
    expect((await call(address ?? '')).data).toEqual(answer.data)

    const first = cards.first()
    expect(await first.locator('.picture-title').innerText()).toContain('USDC per WETH')
    await first.getByText('Flip').click()
    expect(await first.locator('.picture-title').innerText()).toContain('WETH per USDC')

    // A figure shows all its digits when it has the focus.
    const all = page.locator('.position .figure').first().locator('.figure-all')
    expect(await all.isVisible()).toBe(false)
    await page.locator('.position button').first().focus()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Tab')
    expect(await all.isVisible()).toBe(true)
    expect(await all.innerText()).toMatch(/^\d+\.\d{6} USD$/)
    // The Tab key alone reaches the bell of an open card.
    await tabTo(page, 'Tell me when')
    await savesReceipt(page)
    const list = page.getByRole('region', { name: 'Liquidity' }).locator('.part > .proof').first()
    const save = list.getByRole('button', { name: `These rows as CSV, ${15 * answer.data.length} credits` })
    const saved = await savedColumn(page, save, 'token_id')
    expect(saved).toEqual(answer.data.map((each: Json) => each.token_id))
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
  }, 180_000)

  testFully(
    'an answer that cannot be drawn is said, and the rest stays; "Look" reads the same wallet again, with its time',
    async () => {
      const page = await stage.open()
      await page.addInitScript(`sessionStorage.setItem('${KEY}', '${stage.scene.accounts.keys.main}')`)
      // As of a service of another release.
      await page.route('**/v1/portfolio/balance?*', (route) => route.fulfill({ json: { data: {} } }))
      const long = 'W'.repeat(64)
      await page.route('**/v1/positions/uniswap-v3?*', async (route) => {
        const response = await route.fetch()
        const body = (await response.text()).replaceAll(/"symbol":"[^"]+"/g, `"symbol":"${long}"`)
        await route.fulfill({ response, body })
      })
      await openLink(page, `${stage.scene.url}${wallet('provider')}`)
      await page.getByText('This cannot be drawn').waitFor()
      await settle(page)
      expect(await page.locator('.position h4').first().innerText()).toContain(long)
      expect(await overflow(page)).toEqual([0, 0])
      expect(await page.locator('.summary').innerText()).toMatch(
        /read at \d+ blocks?, [A-Z][a-z]+ \d+, 20\d\d, \d\d:\d\d UTC, for/,
      )
      const lists = () => stage.requests.filter((address) => address.includes('v1/positions/uniswap-v3?')).length
      const before = lists()
      await page.getByRole('button', { name: 'Look' }).click()
      while (lists() < 2 * before) await page.waitForTimeout(50)
      await settle(page)
      expect(lists()).toBe(2 * before)
    },
    180_000,
  )

  test('nothing is spent without a press: neither by a link nor by scrolling nor twice', async () => {
    const { wallets } = await stage.scene.devnet.aave()
    const page = await stage.open()
    await page.addInitScript(`sessionStorage.setItem('${KEY}', '${stage.scene.accounts.keys.main}')`)
    await page.addInitScript("sessionStorage.setItem('walletscope.cards', 'open')")
    const listAsked = () => stage.requests.filter((address) => new URL(address).pathname.startsWith('/v1/'))
    const scroll = async () => {
      for (const card of await page.locator('.card').all()) await card.scrollIntoViewIfNeeded()
    }
    await page.goto(`${stage.scene.url}#wallet=${wallets.everywhere}`)
    const read = page.getByRole('button', { name: 'Read it', exact: true })
    await read.waitFor()
    await page
      .getByText(
        /^Reads .+ A look costs about 35 credits a chain that the wallet uses and 15 a position; an empty wallet is free/,
      )
      .waitFor()
    expect(await audit(page)).toEqual([])
    expect(listAsked()).toEqual([])

    await read.click()
    await settle(page)
    const card = page.getByRole('article', { name: 'Aave V3, market main', exact: true })
    const history = card.getByRole('button', { name: /^Day by day, and events \d+ credits$/ })
    const days = page.getByRole('button', { name: 'Day by day on Ethereum 5 credits' })
    await days.waitFor()
    // An unavailable chain is asked again.
    const isOwed = (address: string) => /snapshots|events|assets.*counted=false|portfolio\/exit/.test(address)
    await scroll()
    expect(listAsked().filter(isOwed)).toEqual([])

    const credits = Number(/(\d+) credits/.exec(await history.innerText())?.[1])
    await history.click()
    await card.locator('.chart').first().waitFor()
    await card.locator('.events').waitFor()
    const charged = await card.locator('.history .proof').allInnerTexts()
    expect(charged.map((text) => Number(/(\d+) credits?/.exec(text)?.[1])).reduce((a, b) => a + b, 0)).toBe(credits)
    await days.click()
    await page.getByRole('article', { name: 'Day by day on Ethereum' }).locator('.chart').waitFor()
    const paid = listAsked().filter(isOwed)
    expect(paid.filter((address) => address.includes('/snapshots?')).length).toBeGreaterThanOrEqual(2)
    await scroll()
    expect(listAsked().filter(isOwed)).toEqual(paid)

    // Another link in the same tab waits for a press as well.
    const before = listAsked().length
    await page.goto(`${stage.scene.url}${wallet('empty')}`)
    await read.waitFor()
    expect(listAsked().slice(before)).toEqual([])
  }, 180_000)

  testFully(
    'what the wallet would get if it left now, what is blocked and why, and money from elsewhere, for one press',
    async () => {
      const { wallets } = await stage.scene.devnet.aave()
      const page = await look(`#wallet=${wallets.paused}`)
      await settle(page)
      const listPaid = () => stage.requests.filter((address) => address.includes('/v1/portfolio/exit?'))
      const offer = page.getByRole('button', { name: 'If you left Ethereum now 15 credits' })
      await offer.waitFor()
      expect(listPaid()).toEqual([])
      await offer.click()
      const card = page.getByRole('article', { name: 'If you left Ethereum now' })
      const blocked = card.getByRole('group', { name: 'What is blocked' })
      await blocked.waitFor()
      const { data } = await call(`v1/portfolio/exit?wallet=${wallets.paused}&chain_id=1`)
      const exact = async () => (await card.locator('.facts .figure-all').allTextContents()).slice(0, 3)
      expect(await exact()).toEqual(['arrives_usd', 'book_usd', 'blocked_usd'].map((figure) => `${data[figure]} USD`))
      const isBlocked = ({ blocked_by }: Json) => blocked_by !== null
      const reasons = data.rows.filter(isBlocked).map(({ blocked_by, detail }: Json) => {
        return `${blocked_by.replaceAll('_', ' ')} ${detail}`
      })
      expect(reasons.length).toBeGreaterThan(1)
      expect(await blocked.locator('td.words').allTextContents()).toEqual(reasons)
      expect(await card.innerText()).toContain('Debts are repaid first')
      const lent = data.outside.map(({ amount, token }: Json) => `${amount.amount} ${token.symbol}`)
      expect(lent.length).toBeGreaterThan(0)
      const listFigures = (text: string) =>
        card.locator('p').filter({ hasText: text }).locator('.figure-all').allTextContents()
      expect(await listFigures('Debts are repaid first')).toEqual(lent)
      expect(await listFigures('Without money from elsewhere')).toEqual([`${data.own_money.arrives_usd} USD`])
      expect(await card.innerText()).toContain(data.own_money.detail ?? 'Nothing is lacking')
      await card.getByText(/^\d+ rows? that arrives?$/).click()
      expect(await card.getByRole('group', { name: 'What arrives' }).innerText()).toContain('WETH')
      expect(await card.locator('.proof').innerText()).toContain('15 credits')
      expect(listPaid()).toHaveLength(1)
      expect(await audit(page, { dark: true })).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    },
    180_000,
  )

  test('a chain that cannot be read is named with advice, and the others answer', async () => {
    const page = await look(wallet('empty'))
    const notice = page.getByRole('alert').filter({ hasText: `${DEAD_CHAIN.name} could not be read` })
    await notice.waitFor()
    await settle(page)
    await notice.getByText('Why, and what helps').click()
    expect(await notice.innerText()).toContain('503 SERVICE_UNAVAILABLE')
    expect(await notice.innerText()).toContain('nothing was charged')
    expect(await page.getByRole('alert').count()).toBe(1)
    expect(await page.locator('.summary').innerText()).toContain('so this is not all')
    await page.getByText('Aave V3 (Ethereum), Morpho Blue (Ethereum)').waitFor()
    expect(await page.locator('.rows').count()).toBe(0)
    const asked = stage.requests.length
    await notice.getByRole('button', { name: 'Try all again' }).click()
    while (stage.requests.length === asked) await page.waitForTimeout(50)
    await settle(page)
    await notice.waitFor()
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
  }, 180_000)

  testFully(
    'lending: the health factor, the safe amounts, both sides; then over time, and the portfolio over time',
    async () => {
      const { wallets } = await stage.scene.devnet.aave()
      const page = await look(`#wallet=${wallets.everywhere}`)
      const gauge = page.locator('.market .gauge-value')
      await settle(page)
      const { data } = await call(`v1/lending/aave-v3?wallet=${wallets.everywhere}&chain_id=1`)
      const [{ positions, calculations }] = data
      const factors = positions.map((each: { healthFactor: string }) => each.healthFactor)
      expect((await gauge.allTextContents()).sort()).toEqual(factors.sort())
      for (const [index, { marketId }] of positions.entries()) {
        const card = page.getByRole('article', { name: `Aave V3, market ${marketId}`, exact: true })
        const exact = await card.locator('.figure-all').allTextContents()
        expect(exact).toContain(`${positions[index].totalDebtUSD} USD`)
        expect(exact).toContain(`${calculations[index].safeBorrowAmountUSD} USD`)
        expect(exact).toContain(`${calculations[index].safeWithdrawAmountUSD} USD`)
      }
      await page.getByLabel('Safe amounts keep').selectOption('1.1')
      const read = page.getByRole('button', { name: /^Read them again \d+ credits$/ })
      await read.waitFor()
      // An unavailable chain is asked again, and for what it was.
      const isOfTarget = (address: string) => address.includes('target_health_factor=1.1')
      expect(stage.requests.filter(isOfTarget)).toEqual([])
      await read.click()
      await settle(page)
      await page.getByText('keeps 1.1').first().waitFor()
      expect(stage.requests.filter(isOfTarget)).not.toEqual([])
      expect(page.url()).toContain('target=1.1')

      await showsLendingByDay(page, wallets.everywhere)
      await showsPortfolioByDay(page, wallets.everywhere)
      // Another health factor asks for no history again, which was paid.
      const listPaid = () => stage.requests.filter((address) => /position\/1\/(snapshots|events)\?/.test(address))
      const paid = listPaid()
      expect(paid).not.toEqual([])
      await page.getByLabel('Safe amounts keep').selectOption('2')
      await read.click()
      await page.getByText('keeps 2').first().waitFor()
      await page.getByRole('article', { name: 'Aave V3, market main', exact: true }).locator('.chart').first().waitFor()
      expect(listPaid()).toEqual(paid)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    },
    180_000,
  )

  testFully(
    'every market of Morpho, and the reason of one without figures',
    async () => {
      const morpho = await stage.scene.devnet.morpho()
      const page = await look(`#wallet=${morpho.wallets.borrower}`)
      const morphoCards = page.getByRole('article', { name: /^Morpho Blue, market/ })
      await settle(page)
      const listed = await call(`v1/lending/morpho-blue?wallet=${morpho.wallets.borrower}&chain_id=1`)
      const [{ positions: markets }] = listed.data
      expect(markets.length).toBeGreaterThan(4)
      expect(await morphoCards.count()).toBe(markets.length)
      // The card of a market without figures shows its reason.
      const unread = markets.filter(({ reason }: Json) => reason !== null)
      expect(unread.some(({ reason }: Json) => reason.endsWith('its oracle does not answer'))).toBe(true)
      for (const { marketId, reason } of unread) {
        const card = page.getByRole('article', { name: `Morpho Blue, market ${marketId}`, exact: true })
        await card.getByText(`${reason}.`, { exact: true }).waitFor()
      }
      expect(await audit(page)).toEqual([])
      const withFigures = morphoCards.filter({ hasText: 'Net yield a year' }).first()
      await savesReceipt(page, withFigures)
    },
    180_000,
  )

  testFully(
    'closed positions on request, and their profit and loss for its price, in its components',
    async () => {
      const page = await look(wallet('retired'))
      await settle(page)
      await page.getByRole('button', { name: /^Show \d+ closed/ }).click()
      const card = page.locator('.position').first()
      await page.locator('.position').getByText('Closed').first().waitFor()
      await card.getByRole('button', { name: 'Profit and loss 4 credits' }).click()
      await card.locator('.pnl').waitFor()
      const { data } = await call(`v1/positions/uniswap-v3/${stage.scene.devnet.positions.retired}/pnl?chain_id=1`)
      const exact = await card.locator('.pnl .figure-all').allTextContents()
      const parts = (await card.locator('.bars .figure-all').allTextContents()).map((text) =>
        Number(text.split(' ')[0]),
      )
      expect(exact).toContain(`${data.pnl_usd_value} USD`)
      expect(exact).toContain(`${data.hodl_gross_benchmark_usd_value} USD`)
      expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(Number(data.pnl_usd_value), 6)
      expect(await card.locator('.proof').innerText()).toContain('4 credits')
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    },
    180_000,
  )

  testFully(
    'a Solana wallet: Kamino and Orca in the same pictures as Aave and Uniswap, and its net worth',
    async () => {
      const page = await look(`#wallet=${SOLANA_WALLET}`)
      await settle(page)
      const card = page.getByRole('article', { name: `Kamino, obligation ${OBLIGATION}` })
      expect(await card.locator('.gauge-value').textContent()).toBe('2.0000')
      const { data } = await call(`v1/lending/kamino?wallet=${SOLANA_WALLET}`)
      const [position] = data[0].positions
      const exact = await card.locator('.figure-all').allTextContents()
      expect(exact).toContain(`${position.netWorthUSD} USD`)
      expect(exact).toContain(`${position.suppliedAssets[0].amountSuppliedUSD} USD`)
      const part = page.getByRole('region', { name: 'Kamino' })
      expect(await part.locator('.proof').first().innerText()).toMatch(/Solana slot [\d,]+\s+15 credits/)
      expect(await page.getByText('Kamino: add an obligation').count()).toBe(0)

      const range = page.getByRole('article', { name: 'SOL and USDC' })
      await range.getByRole('img', { name: /^Range from .* current price .* in range$/ }).waitFor()
      expect(await range.innerText()).toMatch(/Orca · 0\.04\s?% fee/)
      const digits = await range.locator('.figure-all').allTextContents()
      const { data: ranges } = await call(`v1/positions/orca-whirlpool?wallet=${SOLANA_WALLET}&full=true`)
      expect(digits).toContain(`${ranges[0].uncollected_fees.token0.amount} SOL`)
      expect(digits).toContain(`${ranges[0].usd.token0_price} USD`)
      expect(await range.innerText()).toMatch(/Reward: 1\.25 ORCA/)
      const liquidity = page.getByRole('region', { name: 'Liquidity' })
      expect(await liquidity.locator('.proof').first().innerText()).toMatch(/Solana slot [\d,]+\s+15 credits/)
      expect(await range.getByRole('button', { name: 'Profit and loss' }).count()).toBe(0)
      await showsSolanaWorth(page)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    },
    180_000,
  )

  testFully(
    'a Kamino obligation from a link',
    async () => {
      const page = await look(`#wallet=${SOLANA_WALLET}&kamino=${OBLIGATION}:${MARKET}`)
      await page.getByText('Net in a year').waitFor()
      const part = page.getByRole('region', { name: 'Kamino, added' })
      expect(await part.locator('.gauge-value').textContent()).toBe('2.0000')
      expect(await part.locator('.proof').first().innerText()).toMatch(/Solana slot [\d,]+\s+8 credits/)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
      await savesReceipt(page, part)
      await page.getByRole('button', { name: 'Remove' }).click()
      expect(page.url()).not.toContain('kamino')
    },
    180_000,
  )

  testFully(
    'spam left out with its reason; the portfolio by kind and confidence, its missing chains and unread parts',
    async () => {
      const page = await look(wallet('spammed'))
      await settle(page)
      await page.getByText('1 position left out as spam').click()
      await page.getByRole('listitem').getByText('its name contains a link').waitFor()
      expect(await page.locator('.position').count()).toBe(1)

      const part = page.getByRole('region', { name: 'Portfolio' })
      const { spammed } = stage.scene.devnet.wallets
      const { data } = await call(`v1/portfolio/balance?wallet=${spammed}&allow_partial=true`)
      await part.getByRole('heading', { name: /^Not counted: \d+ rows?$/ }).waitFor()
      await part.getByRole('button', { name: /^Show them up to \d+ credits$/ }).click()
      await part.getByRole('cell', { name: 'spam Token' }).first().waitFor()
      const exact = await part.locator('.card .figure-all').allTextContents()
      expect(exact).toContain(`${data.net_worth_usd} USD`)
      for (const figures of [data.by_kind, data.by_confidence]) {
        // A chain could not be read, so that a sum of nothing is no zero.
        for (const figure of Object.values<string>(figures))
          expect(exact.includes(`${figure} USD`)).toBe(Number(figure) > 0)
      }
      expect(await part.locator('.card .absent').first().innerText()).toBe('unknown')
      expect(await part.innerText()).toContain(`${DEAD_CHAIN.name} is not in it`)
      const assets = await call(`v1/portfolio/assets?wallet=${spammed}&allow_partial=true&counted=false&limit=25`)
      expect(await part.getByRole('row').count()).toBe(assets.data.length + 1)
      await part.getByText('Coverage', { exact: true }).click()
      await part.getByText('position NFTs held by other contracts').waitFor()
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    },
    180_000,
  )

  test('a link opens with any key, and sends the server nothing about the wallet', async () => {
    const page = await stage.open()
    await page.goto(`${stage.scene.url}${wallet('empty')}`)
    await page.getByText('It opens with your key').waitFor()
    const { empty } = stage.scene.devnet.wallets
    expect(stage.requests.filter((address) => address.includes(empty) && !address.includes('#'))).toEqual([])
    await page.getByLabel('API key').fill(stage.scene.accounts.keys.main ?? '')
    await page.keyboard.press('Enter')
    await settle(page)
    const leaks = stage.requests.filter((address) => address.includes('ws_sk_'))
    expect([page.url().includes('ws_sk_'), leaks]).toEqual([false, []])
    await page.getByRole('button', { name: 'Forget key' }).click()
    await page.getByLabel('API key').waitFor()
    expect(await page.evaluate(`sessionStorage.getItem('${KEY}')`)).toBeNull()
    await page.close()
  }, 180_000)

  const REFUSED_KEYS = [
    ['unknown', '401 INVALID_API_KEY', 'Check that the whole key was pasted'],
    ['suspended', '403 ACCOUNT_SUSPENDED', 'The operator has suspended this organization'],
    ['poor', '402 INSUFFICIENT_CREDITS', 'Nothing was charged'],
  ] as const
  test.each(IS_FULL ? REFUSED_KEYS : REFUSED_KEYS.slice(0, 1))(
    'with a key that is %s one notice shows the error and advice',
    async (name, code, advice) => {
      const page = await look(wallet('provider'), stage.scene.accounts.keys[name])
      const notice = page.getByRole('alert').filter({ hasText: code })
      await notice.waitFor()
      expect(await notice.innerText()).toContain(advice)
      expect(await page.getByRole('alert').count()).toBe(1)
      await notice.getByRole('button', { name: 'Try again' }).click()
      await notice.waitFor()
      expect(await audit(page)).toEqual([])
    },
    180_000,
  )

  testFully(
    'at one request per second every part is answered in turn, and none is refused',
    async () => {
      const page = await look(wallet('empty'), stage.scene.accounts.keys.limited)
      await settle(page)
      const failed = await page.getByRole('alert').allInnerTexts()
      expect(failed.filter((text) => text.includes('RATE_LIMIT_EXCEEDED'))).toEqual([])
    },
    180_000,
  )
})
