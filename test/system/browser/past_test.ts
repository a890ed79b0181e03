import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { MARKET, OBLIGATION, WALLET as SOLANA_WALLET } from '../../support/kamino_scene.ts'
import { waitFor } from '../../support/wait_for.ts'
import type { Json } from '../program/scenarios.ts'
import { audit, BROWSER, overflow } from './browser.ts'
import { setStage } from './stage.ts'

const START_MS = 120_000
const ANSWER_MS = 30_000
const PAGE_SIZE = 25

describe.skipIf(BROWSER === undefined)('Explore as of a past moment', () => {
  const stage = setStage({ lending: true, startMs: START_MS, answerMs: ANSWER_MS })

  async function look(fragment: string): Promise<Page> {
    const page = await stage.open()
    await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
    await page.goto(`${stage.scene.url}${fragment}`)
    return page
  }

  const answered = (page: Page) => page.getByText(/^(\d+) of \1 answered$/).waitFor()
  const toIso = (sec: number) => new Date(sec * 1000).toISOString()

  /** Calls the service and retries 503, because it also reads histories for the pages. */
  async function call(target: string): Promise<Json> {
    const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
    for (let tries = 1; ; tries++) {
      const response = await fetch(new URL(target, stage.scene.url), { headers })
      if (response.status !== 503 || tries === 10) return response.json()
      await Bun.sleep(1_000)
    }
  }

  /** Reads all days and events of a wallet in the market `main`. */
  async function readHistory(wallet: string): Promise<{ days: Json[]; events: Json[] }> {
    const base = 'v1/lending/aave-v3/position/1'
    const query = `wallet=${wallet}&market_id=main`
    const { data: days } = await call(`${base}/snapshots?${query}`)
    const events: Json[] = []
    for (let page = 1; ; page++) {
      const { data, pagination } = await call(`${base}/events?${query}&limit=${PAGE_SIZE}&page=${page}`)
      events.push(...data)
      if (events.length === pagination.total) return { days, events }
    }
  }

  const getCard = (page: Page) => page.getByRole('article', { name: 'Aave V3, market main' })

  /** Reads the dates in the first column of a table. */
  async function readTimes(page: Page, rows: string): Promise<number[]> {
    const texts = await getCard(page).locator(`${rows} > :first-child`).allTextContents()
    return texts.map((text) => Date.parse(`${text.replace(/ UTC.*$/, '')} UTC`) / 1000)
  }

  test('every chain is read as of that moment', async () => {
    const page = await look(`#wallet=${stage.scene.devnet.wallets.provider}`)
    await answered(page)
    await page.getByText('As of now').click()
    await page.getByLabel('As of (UTC)').fill(new Date().toISOString().slice(0, 16))
    await page.getByRole('button', { name: 'Look' }).click()
    await page.locator('.title .badge').waitFor()
    expect(page.url()).toContain('as_of=')
    await answered(page)
    // Some are requested more than once, until their history is read.
    const asked = new Set(stage.requests.filter((address) => address.includes('at_time=')))
    // The portfolio, and four families on two chains; requests for uncounted rows may have followed already.
    const isRest = (address: string) => address.includes('portfolio/assets')
    expect([...asked].filter((address) => !isRest(address)).length).toBe(9)
    expect(await page.locator('.position').count()).toBeGreaterThan(0)
    expect(await audit(page)).toEqual([])
  }, 90_000)

  test('the daily series, its chart and the events of a market end at that moment', async () => {
    const { wallets } = await stage.scene.devnet.aave()
    const { days, events } = await readHistory(wallets.everywhere)
    // The last midnight before the newest event, which is the borrow.
    const last = days.filter(({ timestamp }) => timestamp + 60 < events[0].timestamp).at(-1).timestamp
    const before = events.filter(({ timestamp }) => timestamp <= last + 60).length
    expect([before > 0, before < events.length, last < days.at(-1).timestamp]).toEqual([true, true, true])

    const page = await look(`#wallet=${wallets.everywhere}&as_of=${toIso(last + 60)}`)
    const card = getCard(page)
    await card.scrollIntoViewIfNeeded()
    const chart = card.locator('.chart').first()
    await chart.waitFor()
    await card.locator('.events').waitFor()
    const shown = days.filter(({ timestamp }) => timestamp <= last + 60)
    expect(shown.at(-1).timestamp).toBe(last)
    await card.getByText(`${shown.length} days as a table`).click()
    expect(await readTimes(page, '.as-table tbody tr')).toEqual(shown.map(({ timestamp }) => timestamp).reverse())
    expect(await chart.locator('.readout b').first().innerText()).toBe(
      await card.locator('.as-table tbody th').first().innerText(),
    )
    expect(await chart.locator('.mark').count()).toBe(before)
    expect((await readTimes(page, '.events tbody tr')).every((time) => time <= last + 60)).toBe(true)
    expect(await card.locator('.events tbody tr').count()).toBe(before)
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
  }, 90_000)

  test('events before the newest page are found on request, for no more credits than announced', async () => {
    const aave = await stage.scene.devnet.aave()
    const { everywhere } = aave.wallets
    const { events: early } = await readHistory(everywhere)
    const moment = toIso(early[0].timestamp + 60)
    await aave.warp(3_600)
    for (let count = 0; count < 4 * PAGE_SIZE; count++) {
      await aave.withdraw({ market: 'main', wallet: everywhere, asset: 'usdc', amount: 1_000_000n })
    }
    // The last answer may be reused for a block time of Ethereum, 12 seconds.
    let events = early
    await waitFor(
      'the new events',
      async () => {
        ;({ events } = await readHistory(everywhere))
        return events.length === early.length + 4 * PAGE_SIZE
      },
      30_000,
    )
    const page = await look(`#wallet=${everywhere}&as_of=${moment}`)
    const card = getCard(page)
    await card.scrollIntoViewIfNeeded()
    await card.getByText(`The newest ${PAGE_SIZE} of ${events.length} events all came after this moment.`).waitFor()
    expect(await audit(page)).toEqual([])
    const button = card.getByRole('button', { name: /^Find those before/ })
    const most = Number(/up to (\d+) credits/.exec(await button.innerText())?.[1])
    const asked = () => stage.requests.filter((address) => address.includes('/events?') && address.includes('=main'))
    const before = asked().length
    await button.click()
    await card.locator('.events').waitFor()
    expect(asked().length - before).toBeLessThanOrEqual(most)
    const exact = await card.locator('.events .figure-all').allTextContents()
    expect(exact).toEqual(early.flatMap((each) => [`${each.amount} ${each.asset.symbol}`, `${each.amountUSD} USD`]))
    expect(await audit(page)).toEqual([])
  }, 90_000)

  test('Kamino is not shown, because Solana keeps no past: no request, no charge', async () => {
    const balance = async () => {
      const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
      const response = await fetch(`${stage.scene.url}v1/usage/logs?limit=1`, { headers })
      return BigInt(response.headers.get('x-credits-remaining') ?? '0')
    }
    const before = await balance()
    const seen = stage.scene.solana.seen.length
    const view = `#wallet=${SOLANA_WALLET}&kamino=${OBLIGATION}:${MARKET}`
    const page = await look(`${view}&as_of=2026-05-07T10:00Z`)
    await page.getByText('Not shown as of a past moment').waitFor()
    expect(await page.locator('.gauge-value').count()).toBe(0)
    expect(stage.requests.filter((address) => address.includes('/v1/'))).toEqual([])
    // The price of the request for the balance itself.
    expect(before - (await balance())).toBe(1n)
    expect(stage.scene.solana.seen.length).toBe(seen)
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
    await page.getByRole('button', { name: 'Look at now' }).click()
    await page.getByText('Net in a year').waitFor()
    expect(page.url()).not.toContain('as_of')
    expect(page.url()).toContain('kamino=')
  }, 60_000)
})
