import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import type { Json } from '../program/scenarios.ts'
import { audit, BROWSER, overflow, savedColumn } from './browser.ts'
import { setStage } from './stage.ts'

const START_MS = 120_000
const ANSWER_MS = 30_000
const DAY_SEC = 86_400
const YEAR_DAYS = 365
const LIST = 'v1/positions/uniswap-v3'

describe.skipIf(BROWSER === undefined)('liquidity in Explore', () => {
  // With lending the devnet's clock advances to now.
  const stage = setStage({ lending: true, startMs: START_MS, answerMs: ANSWER_MS })

  async function look(wallet: string): Promise<Page> {
    const page = await stage.open()
    await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
    await page.goto(`${stage.scene.url}#wallet=${wallet}`)
    await page.locator('.position').first().waitFor()
    return page
  }

  async function call(target: string): Promise<Json> {
    const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
    return (await fetch(new URL(target, stage.scene.url), { headers })).json()
  }

  /** Reads the list until every position's history is ready and `isAwaited` holds. */
  async function readyList(wallet: string, isAwaited = (_: Json) => true): Promise<Json[]> {
    for (let tries = 0; tries < 100; tries++) {
      const { data } = await call(`${LIST}?wallet=${wallet}&chain_id=1&full=true`)
      if (data.every((each: Json) => each.pnl_status === 'ready' && isAwaited(each))) return data
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    throw new Error('The histories of the wallet are never read')
  }

  /** Reads the yearly rate in a row of the page. */
  async function readRate(page: Page, name: string): Promise<number> {
    const row = page.locator('.life .facts div').filter({ hasText: name })
    return Number((await row.locator('dd').innerText()).replace(/[^\d.−]/g, '').replace('−', '-'))
  }

  test('has totals over all positions, and an order, a filter and a limit for small ones', async () => {
    const { provider } = stage.scene.devnet.wallets
    const list = await readyList(provider)
    const page = await look(provider)
    const bar = page.getByRole('group', { name: 'All liquidity positions' })
    const sum = (of: (position: Json) => string) =>
      `${(list.reduce((all, each) => all + BigInt(of(each).replace('.', '')), 0n) + 10n ** 30n).toString().slice(1)}`
    const exact = (await bar.locator('.figure-all').allTextContents()).map((text) => text.replace(/[. USD]/g, ''))
    for (const of of [
      (each: Json) => each.usd.total,
      (each: Json) => each.usd.uncollected_fees,
      (each: Json) => each.pnl.pnl_usd_value,
    ]) {
      expect(exact.map((digits) => digits.padStart(30, '0'))).toContain(sum(of))
    }
    const inRange = list.filter(({ in_range }) => in_range).length
    expect(await bar.innerText()).toMatch(
      new RegExp(`In range\\s+${inRange}\\s+Out of range\\s+${list.length - inRange}`),
    )

    const ids = () =>
      page.locator('.position header span[title]').evaluateAll((all) => all.map((each) => each.getAttribute('title')))
    await bar.getByLabel('Sort by').selectOption('value')
    const byValue = list.toSorted((a, b) => Number(b.usd.total) - Number(a.usd.total))
    expect(await ids()).toEqual(byValue.map(({ token_id }) => token_id))
    await bar.getByLabel('Show').selectOption('out')
    expect(await ids()).toEqual(byValue.filter(({ in_range }) => !in_range).map(({ token_id }) => token_id))
    expect(await bar.getByRole('status').innerText()).toBe(`${inRange} positions hidden.`)
    await bar.getByLabel('Show').selectOption('all')
    await bar.getByLabel('Hide').selectOption('100')
    expect(await ids()).toEqual(byValue.filter(({ usd }) => Number(usd.total) >= 100).map(({ token_id }) => token_id))
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
  }, 90_000)

  test('has its dates, flows and bounds, the fee APR since opening, over days, and its time in range', async () => {
    const { v3, pools, wallets, positions } = stage.scene.devnet
    const { single } = wallets
    const [{ position_state: state }] = await readyList(single)
    const pool = Object.values(pools).find(({ address }) => address === state.pool.id)
    if (pool === undefined) throw new Error('Cannot find the pool of the position')
    await v3.swap({ pool, tokenIn: state.token0.id, amountIn: 3_000n * 10n ** BigInt(state.token0.decimals) })
    const isLater = ({ position_state: { pool } }: Json) => pool.tick !== state.pool.tick
    const [position] = await readyList(single, isLater)
    const page = await look(single)
    const card = page.locator('.position').first()
    // The page reads it when scrolled to.
    await card.locator('.life').scrollIntoViewIfNeeded()
    await card.getByText('Fee APR since opening').waitFor()

    const one = `${LIST}/${positions.single}`
    const { data: flows } = await call(`${one}/events?chain_id=1`)
    const opened = flows.at(-1).timestamp
    const life = await card.locator('.life').innerText()
    const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(opened * 1_000)
    expect(life).toContain(day)
    const ageSec = Date.now() / 1_000 - opened
    expect(life).toContain(`${Math.floor(ageSec / DAY_SEC)} days`)
    const { pnl } = position
    const fees = Number(pnl.net_impermanent_loss) - Number(pnl.pure_impermanent_loss)
    const since = ((fees / Number(pnl.time_weighted_average_capital)) * YEAR_DAYS * DAY_SEC * 100) / ageSec
    expect(Math.abs((await readRate(page, 'since opening')) - since)).toBeLessThan(0.006)

    await card.getByText(/^\d+ flows?: deposits/).click()
    expect(await card.locator('.events tbody tr').count()).toBe(flows.length)
    const exact = await card.locator('.events .figure-all').allTextContents()
    expect(exact).toContain(`${flows[0].amounts.token0.amount} ${state.token0.symbol}`)
    expect(await card.innerText()).toMatch(/At [\d,.]+ and below, all/)
    const save = card.locator('.life').getByRole('button', { name: 'These rows as CSV, 1 credit' })
    const saved = await savedColumn(page, save, 'timestamp')
    expect(saved).toEqual(flows.map((each: Json) => String(each.timestamp)))

    await card.getByRole('button', { name: 'Fee APR over 7 and 30 days 30 credits' }).click()
    await card.getByText('Fee APR of 30 days').waitFor()
    for (const days of [7, 30]) {
      const at = Math.floor(Date.now() / 1_000) - days * DAY_SEC
      const { data: before } = await call(`${one}?chain_id=1&full=true&at_time=${at}`)
      // No fees were collected in between, and prices are current ones.
      const earned = ['token0', 'token1'].reduce((sum, token) => {
        const more = Number(position.uncollected_fees[token].amount) - Number(before.uncollected_fees[token].amount)
        return sum + more * Number(position.usd[`${token}_price`])
      }, 0)
      const capital = (Number(before.usd.amounts) + Number(position.usd.amounts)) / 2
      const rate = ((earned / capital) * YEAR_DAYS * 100) / days
      expect(rate).toBeGreaterThan(0.01)
      expect(Math.abs((await readRate(page, `of ${days} days`)) - rate)).toBeLessThan(0.006)
    }
    await card.getByRole('button', { name: 'Time in range, 30 midnights 60 credits' }).click()
    await card.getByText(/In range at 30 of 30 midnights/).waitFor()
    expect(await card.locator('.strip li').count()).toBe(30)
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
  }, 120_000)

  test('has its own line in the daily chart of the portfolio', async () => {
    const { provider } = stage.scene.devnet.wallets
    const page = await look(provider)
    const part = page.getByRole('region', { name: 'Portfolio' })
    await part.getByRole('heading', { name: 'Day by day on Ethereum' }).scrollIntoViewIfNeeded()
    const chart = part.locator('.chart')
    await chart.waitFor()
    const { data: days } = await call(`v1/portfolio/snapshots?wallet=${provider}&chain_id=1&max_snapshots=90`)
    expect(Number(days.at(-1).liquidity_usd)).toBeGreaterThan(0)
    expect(await chart.locator('.dot.liquidity').count()).toBe(days.length)
    const shown = Number(days.at(-1).liquidity_usd).toLocaleString('en', { style: 'currency', currency: 'USD' })
    expect(await chart.locator('.readout').innerText()).toContain(`Liquidity ${shown}`)
  }, 60_000)

  test('shows why figures of past blocks are missing', async () => {
    const page = await look(stage.scene.devnet.wallets.single)
    const card = page.locator('.position').first()
    await card.locator('.life').scrollIntoViewIfNeeded()
    const button = card.getByRole('button', { name: /^Fee APR over/ })
    await button.waitFor()
    const pruned = { code: -32_000, message: 'missing trie node' }
    stage.scene.rpc.rule(({ method }) => (method === 'eth_call' ? { kind: 'error', error: pruned } : undefined))
    try {
      await button.click()
      const notice = card.getByRole('alert')
      await notice.getByText('The position 7 days ago could not be read, so that fee APR is not shown').waitFor()
      expect(await card.getByText('Fee APR of 7 days').count()).toBe(0)
      expect((await notice.innerText()).length).toBeGreaterThan(100)
    } finally {
      stage.scene.rpc.rule(() => undefined)
    }
  }, 90_000)

  test('that is closed has its dates, fee APR and flows on request', async () => {
    const { wallets, positions } = stage.scene.devnet
    const page = await stage.open()
    await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
    await page.goto(`${stage.scene.url}#wallet=${wallets.retired}`)
    await page.getByRole('button', { name: /^Show \d+ closed/ }).click()
    const card = page.locator('.position').first()
    await card.getByRole('button', { name: 'Dates and flows 1 credit' }).click()
    await card.getByText('Was open').waitFor()
    const { data: flows } = await call(`${LIST}/${positions.retired}/events?chain_id=1`)
    expect(await card.locator('.life').innerText()).toMatch(/Opened\s+.*\s+Closed\s+/)
    expect(await card.getByText(/^\d+ flows: deposits/).innerText()).toStartWith(`${flows.length} flows`)
    await card.getByRole('button', { name: /^Profit and loss/ }).click()
    await card.getByText('Fee APR since opening').waitFor()
    expect(await card.getByRole('button', { name: /^Fee APR|^Time in range/ }).count()).toBe(0)
  }, 90_000)
})
