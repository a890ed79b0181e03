import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { WALLET as SOLANA_WALLET } from '../../support/kamino_scene.ts'
import type { Json } from '../program/scenarios.ts'
import { audit, BROWSER, overflow } from './browser.ts'
import { setStage } from './stage.ts'

const START_MS = 120_000
const ANSWER_MS = 30_000

describe.skipIf(BROWSER === undefined)('a lending position in Explore', () => {
  const stage = setStage({ lending: true, startMs: START_MS, answerMs: ANSWER_MS })

  async function look(wallet: string): Promise<Page> {
    const page = await stage.open()
    await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
    await page.goto(`${stage.scene.url}#wallet=${wallet}`)
    await page.getByText(/^(\d+) of \1 answered$/).waitFor()
    return page
  }

  async function call(target: string): Promise<Json> {
    const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
    return (await fetch(new URL(target, stage.scene.url), { headers })).json()
  }

  test('in Aave has the amount and liquidation price of each token, and sliders that send no request', async () => {
    const aave = await stage.scene.devnet.aave()
    const page = await look(aave.wallets.borrower)
    const card = page.getByRole('article', { name: 'Aave V3, market main' })
    await card.waitFor()
    const query = `wallet=${aave.wallets.borrower}&chain_id=1&full=true`
    const [{ positions }] = (await call(`v1/lending/aave-v3?${query}`)).data
    const [{ suppliedAssets, borrowedAssets, healthFactor }] = positions
    expect(await card.getByRole('heading', { level: 4 }).innerText()).toBe('Aave V3 Core (main)')
    const exact = await card.locator('.assets .figure-all').allTextContents()
    for (const { amount, symbol } of [...suppliedAssets, ...borrowedAssets]) {
      // Interest accrues between two answers.
      expect(exact.some((each) => each.startsWith(amount.slice(0, 8)) && each.endsWith(` ${symbol}`))).toBe(true)
    }
    const edges = await card.locator('.edge').allInnerTexts()
    const tokens = new Set([...suppliedAssets, ...borrowedAssets].map(({ symbol }: Json) => symbol))
    expect(edges.length).toBe(tokens.size)
    for (const edge of edges)
      expect(edge).toMatch(/^Liquidation at \$[\d,.]+, (?:[−+][\d.]+\s%|[\d.]+ times)|^No price of it/)

    const asked = stage.requests.length
    const panel = card.locator('.what-if')
    await panel.locator('summary').click()
    const factor = panel.locator('.gauge-value')
    expect(Math.abs(Number(await factor.textContent()) - Number(healthFactor))).toBeLessThan(0.000_2)
    const weth = panel.getByLabel('Price of WETH')
    await weth.focus()
    for (let presses = 0; presses < 10; presses++) await page.keyboard.press('ArrowLeft')
    await panel.getByText('−10 %').waitFor()
    const weight = suppliedAssets.reduce(
      (sum: number, { symbol, amountSuppliedUSD, liquidationThreshold }: Json) =>
        sum + Number(amountSuppliedUSD) * Number(liquidationThreshold) * (symbol === 'WETH' ? 0.9 : 1),
      0,
    )
    const debt = borrowedAssets.reduce(
      (sum: number, { symbol, amountBorrowedUSD }: Json) =>
        sum + Number(amountBorrowedUSD) * (symbol === 'WETH' ? 0.9 : 1),
      0,
    )
    expect(Math.abs(Number(await factor.textContent()) - weight / debt)).toBeLessThan(0.000_2)
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
    await panel.getByLabel('Repay or borrow DAI').press('Home')
    await panel.getByText('repay all').waitFor()
    await panel.getByRole('button', { name: 'As it is now' }).click()
    expect(Math.abs(Number(await factor.textContent()) - Number(healthFactor))).toBeLessThan(0.000_2)
    // History is read when scrolled to, and an unavailable chain is retried.
    expect(stage.requests.slice(asked).filter((address) => !/snapshots|events|chain_id=10&/.test(address))).toEqual([])
  }, 90_000)

  test('in Aave without debt has a slider for one, up to the limit of the pool', async () => {
    const aave = await stage.scene.devnet.aave()
    const page = await look(aave.wallets.supplier)
    const card = page.getByRole('article', { name: 'Aave V3, market main' })
    await card.waitFor()
    expect(await card.locator('.edge').count()).toBe(0)
    const [{ positions }] = (await call(`v1/lending/aave-v3?wallet=${aave.wallets.supplier}&chain_id=1&full=true`)).data
    const panel = card.locator('.what-if')
    await panel.locator('summary').click()
    expect(await panel.locator('.gauge-value').textContent()).toBe('∞')
    await panel.getByLabel('Borrow US dollars').press('End')
    const [, most = ''] = /^borrow \$([\d,.]+)$/.exec(await panel.locator('.slider output').last().innerText()) ?? []
    expect(Math.abs(Number(most.replaceAll(',', '')) - Number(positions[0].borrowLimitUSD))).toBeLessThan(1)
    expect(Number(await panel.locator('.gauge-value').textContent())).toBeGreaterThan(1)
  }, 60_000)

  test('in Morpho is named by its tokens and LLTV, with a liquidation price of one token in the other', async () => {
    const morpho = await stage.scene.devnet.morpho()
    const page = await look(morpho.wallets.borrower)
    const section = page.getByRole('region', { name: 'Morpho Blue' })
    await section.locator('.market').first().waitFor()
    const [{ positions }] = (await call(`v1/lending/morpho-blue?wallet=${morpho.wallets.borrower}&chain_id=1`)).data
    const owing = positions.filter(
      ({ totalDebtUSD, suppliedAssets }: Json) =>
        Number(totalDebtUSD) > 0 && suppliedAssets.some(({ isCollateral }: Json) => isCollateral),
    )
    expect(owing.length).toBeGreaterThan(0)
    for (const { marketId, collateralSymbol, loanSymbol, lltv, healthFactor } of owing) {
      const card = section.getByRole('article', { name: `Morpho Blue, market ${marketId}` })
      const title = await card.getByRole('heading', { level: 4 }).innerText()
      expect(title).toContain(`${collateralSymbol} / ${loanSymbol}, ${(Number(lltv) * 100).toFixed(1)}`)
      const edge = await card.locator('.edge').first().innerText()
      expect(edge).toContain(`${loanSymbol} per ${collateralSymbol}`)
      const change = (1 / Number(healthFactor) - 1) * 100
      const [, said, sign, shown = ''] = /^(Liquidation|Liquidated).* ([−+])([\d.]+)/.exec(edge) ?? []
      expect([said, sign]).toEqual(Number(healthFactor) < 1 ? ['Liquidated', '+'] : ['Liquidation', '−'])
      expect(Math.abs(Number(shown) - Math.abs(change))).toBeLessThan(0.11)
      const panel = card.locator('.what-if')
      await panel.locator('summary').click()
      expect(Math.abs(Number(await panel.locator('.gauge-value').textContent()) - Number(healthFactor))).toBeLessThan(
        0.000_2,
      )
    }
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
  }, 90_000)

  test('in Kamino moves each side as a whole', async () => {
    const page = await look(SOLANA_WALLET)
    const card = page.getByRole('region', { name: 'Kamino' }).locator('.market').first()
    await card.waitFor()
    const panel = card.locator('.what-if')
    await panel.locator('summary').click()
    const before = Number(await card.locator('.gauge-value').first().textContent())
    expect(Math.abs(Number(await panel.locator('.gauge-value').textContent()) - before)).toBeLessThan(0.000_2)
    const price = panel.getByRole('slider').first()
    await price.focus()
    for (let presses = 0; presses < 20; presses++) await page.keyboard.press('ArrowRight')
    expect(Math.abs(Number(await panel.locator('.gauge-value').textContent()) / before - 1.2)).toBeLessThan(0.000_2)
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])
  }, 60_000)
})
