import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import type { Json } from '../program/scenarios.ts'
import { audit, BROWSER, overflow } from './browser.ts'
import { setStage } from './stage.ts'

const START_MS = 60_000
const ANSWER_MS = 30_000
const LIST = 'v1/positions/uniswap-v3'

describe.skipIf(BROWSER === undefined)('a position in Explore', () => {
  const stage = setStage({ lending: false, startMs: START_MS, answerMs: ANSWER_MS })

  async function look(wallet: string): Promise<Page> {
    const page = await stage.open()
    await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
    await page.goto(`${stage.scene.url}#wallet=${wallet}`)
    await page.locator('.position').first().waitFor()
    return page
  }

  async function readPositions(wallet: string): Promise<Json[]> {
    const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
    const target = `${LIST}?wallet=${wallet}&chain_id=1&full=true`
    return ((await (await fetch(`${stage.scene.url}${target}`, { headers })).json()) as Json).data
  }

  /** Holds back answers to reads of logs until the returned function is called. */
  function holdLogs(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    stage.scene.rpc.rule(({ method }) =>
      method === 'eth_getLogs' ? { kind: 'meanwhile', done: () => promise } : undefined,
    )
    return () => {
      stage.scene.rpc.rule(() => undefined)
      resolve()
    }
  }

  const pnlCalls = () => stage.requests.filter((address) => address.includes('/pnl?'))

  test('whose history is not read yet has no figures of it, and the page sends no chargeable request by itself', async () => {
    const { single } = stage.scene.devnet.wallets
    const { v3, positions, wallets } = stage.scene.devnet
    await v3.decreaseLiquidity({ tokenId: positions.single, owner: wallets.single, liquidity: 1_000_000_000n })
    const release = holdLogs()
    const page = await look(single)
    const card = page.locator('.position').first()
    await card.getByText('Profit and loss is still being worked out').waitFor()
    expect(await card.getByRole('button', { name: /^Profit and loss/ }).count()).toBe(0)
    // Fees and withdrawn principal are one sum until the history is read.
    expect(await card.getByText('not separated').count()).toBe(3)
    await card.getByText('Collecting pays').waitFor()
    await page.getByText('of it either, not separated').waitFor()
    const [{ usd }] = await readPositions(single)
    const exact = await card.locator('.figure-all').allTextContents()
    expect(exact).toContain(`${(Number(usd.total) - Number(usd.amounts)).toFixed(6)} USD`)
    await page.waitForTimeout(3_000)
    expect(pnlCalls()).toEqual([])
    expect(await page.locator('.summary').innerText()).toContain('for 15 credits')
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])

    await card.getByRole('button', { name: 'Wait for it 8 credits once it is there' }).click()
    // The endpoint does not answer: the page shows that and retries.
    await card.getByRole('alert').filter({ hasText: 'Profit and loss could not be read' }).waitFor()
    expect(pnlCalls().length).toBeGreaterThan(0)
    // A pending answer costs nothing.
    expect(await page.locator('.summary').innerText()).toContain('for 15 credits')
    release()
    await card.locator('.pnl').waitFor()
    await page.getByText('for 23 credits').waitFor()
    const [{ pnl }] = await readPositions(single)
    expect(await card.locator('.pnl .figure-all').allTextContents()).toContain(`${pnl.pnl_usd_value} USD`)
    expect(await audit(page)).toEqual([])
  }, 90_000)

  test('shows the progress of its history, as text and as a bar', async () => {
    const { single } = stage.scene.devnet.wallets
    const release = holdLogs()
    await stage.scene.devnet.v3.decreaseLiquidity({
      tokenId: stage.scene.devnet.positions.single,
      owner: single,
      liquidity: 1_000_000_000n,
    })
    const page = await look(single)
    // Simulates the progress of a long history.
    const headers = { 'retry-after': '1', 'x-progress': 'percent=37, left=1234, unit=blocks' }
    const error = { code: 'SERVICE_UNAVAILABLE', message: 'The history of chain 1 is being read', request_id: 'req_1' }
    await page.route('**/pnl?*', (route) => route.fulfill({ status: 503, headers, json: { error } }))
    const card = page.locator('.position').first()
    await card.getByRole('button', { name: 'Wait for it' }).click()
    await card.getByText('Profit and loss 37 % read, 1,234 blocks left').waitFor()
    const bar = card.getByRole('progressbar', { name: 'Profit and loss: how much is read' })
    expect(await bar.getAttribute('value')).toBe('37')
    expect(await card.innerText()).not.toContain('The history of')
    expect(await audit(page)).toEqual([])
    release()
    await page.unroute('**/pnl?*')
    await card.locator('.pnl').waitFor()
  }, 90_000)

  test('has its fees separated from withdrawn principal, and its profit and loss at once', async () => {
    const { single } = stage.scene.devnet.wallets
    const page = await look(single)
    const card = page.locator('.position').first()
    await card.locator('.pnl').waitFor()
    expect(await card.getByRole('button', { name: /^(?:Profit and loss|Wait for it)/ }).count()).toBe(0)
    const [{ usd, pnl_status, withdrawn_principal: withdrawn, uncollected_fees: fees }] = await readPositions(single)
    expect(pnl_status).toBe('ready')
    expect(Number(usd.withdrawn_principal)).toBeGreaterThan(0)
    const columns = await card.locator('.holdings thead th').allTextContents()
    expect(columns).toEqual(['Holds', 'Uncollected fees', 'Withdrawn, not collected', 'Price'])
    const cells = card.locator('.holdings tbody tr')
    const readExact = async (row: number, column: number) =>
      cells.nth(row).locator('td').nth(column).locator('.figure-all').textContent()
    for (const [row, name] of ['token0', 'token1'].entries()) {
      expect(await readExact(row, 1)).toStartWith(`${fees[name].amount} `)
      expect(await readExact(row, 2)).toStartWith(`${withdrawn[name].amount} `)
    }
    expect(await readExact(2, 1)).toBe(`${usd.uncollected_fees} USD`)
    expect(await readExact(2, 2)).toBe(`${usd.withdrawn_principal} USD`)
    const summary = page.locator('.summary .facts div')
    expect(await summary.filter({ hasText: 'of it uncollected fees' }).locator('.figure-all').textContent()).toBe(
      `${usd.uncollected_fees} USD`,
    )
    expect(await summary.filter({ hasText: 'of it withdrawn' }).locator('.figure-all').textContent()).toBe(
      `${usd.withdrawn_principal} USD`,
    )
    expect(pnlCalls()).toEqual([])
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
  }, 60_000)

  test('has a column for withdrawn principal only if it has some', async () => {
    const { provider } = stage.scene.devnet.wallets
    const page = await look(provider)
    const list = await readPositions(provider)
    const hasColumn = await page
      .locator('.position')
      .evaluateAll((cards) => cards.map((card) => card.textContent?.includes('Withdrawn, not collected')))
    expect(hasColumn).toEqual(list.map(({ usd }) => Number(usd.withdrawn_principal) > 0))
    expect(new Set(hasColumn).size).toBe(2)
  }, 60_000)
})
