import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { placeNames } from '../../devnet/names.ts'
import { MARKET, OBLIGATION, WALLET as SOLANA_WALLET } from '../../support/kamino_scene.ts'
import { waitFor } from '../../support/wait_for.ts'
import type { Json } from '../program/scenarios.ts'
import { audit, BROWSER, openLink, overflow, settle, waitForAnswer } from './browser.ts'
import { setStage } from './stage.ts'

describe('several wallets', async () => {
  describe.skipIf(BROWSER === undefined)('Explore, with several wallets', () => {
    const stage = setStage({ lending: true, startMs: 180_000, answerMs: 60_000 })

    async function start(): Promise<Page> {
      const page = await stage.open()
      await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
      await page.addInitScript("sessionStorage.setItem('walletscope.cards', 'open')")
      await page.goto(stage.scene.url)
      return page
    }

    async function readPositions(wallet: string): Promise<Json> {
      const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
      const target = `v1/positions/uniswap-v3?wallet=${wallet}&full=true&chain_id=1&limit=10`
      return (await fetch(new URL(target, stage.scene.url), { headers })).json()
    }

    test('they are shown one below the other with their total, and the link keeps them', async () => {
      const { provider, spammed } = stage.scene.devnet.wallets
      const page = await start()
      await page.getByRole('textbox', { name: 'Wallet' }).fill(`${provider}, ${spammed}\n${provider} 0x12`)
      await page.keyboard.press('Enter')
      await page.getByText('this has 2').waitFor()
      await page.getByRole('textbox', { name: 'Wallet' }).fill(`${provider}, ${spammed} ${provider}`)
      const told = waitForAnswer(page, '/v1/wallet/overview')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: '2 wallets' }).waitFor()
      expect(page.url()).toBe(`${stage.scene.url}#wallet=${provider}&wallet=${spammed}`)
      await settle(page)
      const lists = await Promise.all([provider, spammed].map(readPositions))
      expect(await page.locator('.position').count()).toBe(lists.flatMap(({ data }) => data).length)
      // One list over both, with a column that says whose each row is, sorted by value over both.
      const wallets = await page.locator('.row .line-wallet').evaluateAll((cells) => cells.map((each) => each.title))
      expect(new Set(wallets)).toEqual(new Set([provider, spammed]))
      await page.getByLabel('Sort by').selectOption('wallet')
      const sorted = await page.locator('.row .line-wallet').evaluateAll((cells) => cells.map((each) => each.title))
      expect(sorted).toEqual(wallets.toSorted((a, b) => a.localeCompare(b, 'en')))
      await page.getByLabel('Sort by').selectOption('value')
      const { data } = await told
      const isTold = page.locator(`#net-worth[title="${data.worth.net_worth_usd} USD"]`)
      await isTold.waitFor()
      expect(await isTold.innerText()).toMatch(/^\$[\d,]+\.\d\d$/)
      // A chain could not be read.
      expect(data.complete).toBe(false)
      await page.getByText('at least', { exact: true }).first().waitFor()
      await page.getByText('By chain and protocol').click()
      const places = await page.locator('.places .figure-all').allTextContents()
      expect(places).toEqual([...data.by_chain, ...data.by_protocol].map(({ net_usd: usd }: Json) => `${usd} USD`))
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])

      await page.getByRole('button', { name: `Leave out ${provider.slice(0, 6)}` }).click()
      await page.getByRole('heading', { level: 1, name: spammed }).waitFor()
      expect(page.url()).toBe(`${stage.scene.url}#wallet=${spammed}`)
      expect(await page.locator('.wallet').count()).toBe(1)
    }, 180_000)

    test('an ENS name opens its wallet, and is shown beside the address', async () => {
      const { devnet, url } = stage.scene
      const { provider, spammed } = devnet.wallets
      await placeNames(devnet)
      // The service may know the block before the names for a moment.
      await waitFor('the names to be known', async () => {
        const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
        return (await fetch(new URL('v1/names?name=provider.eth', url), { headers })).ok
      })
      const page = await start()
      const wallet = page.getByRole('textbox', { name: 'Wallet' })
      for (const [name, why] of [
        ['unregistered.eth', 'it is not registered'],
        ['offchain.wild.eth', 'outside the chain'],
        ['a..eth', 'neither an EVM wallet'],
        ['provider.sol', 'Names of Solana are not looked up'],
      ] as const) {
        await wallet.fill(name)
        await page.keyboard.press('Enter')
        await page.getByRole('alert').getByText(why).waitFor()
      }
      await wallet.fill('Provider.eth')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: provider }).waitFor()
      expect(page.url()).toBe(`${url}#wallet=${provider}`)
      expect(await page.locator('.ens-name').allTextContents()).toEqual(['provider.eth'])
      await page.reload()
      await page.getByRole('button', { name: 'Read it', exact: true }).click()
      await page.getByText('provider.eth').waitFor()
      expect(await overflow(page)).toEqual([0, 0])

      await wallet.fill(`provider.eth größe🦊.eth ${provider}`)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: '2 wallets' }).waitFor()
      expect(page.url()).toBe(`${url}#wallet=${provider}&wallet=${spammed}`)
      expect(await page.locator('.ens-name').allTextContents()).toEqual(['provider.eth', 'größe🦊.eth'])
      expect(await audit(page)).toEqual([])
    }, 180_000)

    test('more than five are too many, and the link opens the first five', async () => {
      const page = await start()
      const many = Array.from({ length: 6 }, (_, index) => `0x${String(index + 1).padStart(40, '0')}`)
      await page.getByRole('textbox', { name: 'Wallet' }).fill(many.join(' '))
      await page.keyboard.press('Enter')
      await page.getByText('These are 6: up to 5 are shown at once.').waitFor()
      await openLink(page, `${stage.scene.url}#${many.map((wallet) => `wallet=${wallet}`).join('&')}`)
      await page.getByRole('heading', { level: 1, name: '5 wallets' }).waitFor()
    }, 180_000)
  })
})

describe('lending', async () => {
  const START_MS = 180_000
  const ANSWER_MS = 60_000

  describe.skipIf(BROWSER === undefined)('a lending position in Explore', () => {
    const stage = setStage({ lending: true, startMs: START_MS, answerMs: ANSWER_MS })

    async function look(wallet: string): Promise<Page> {
      const page = await stage.open()
      await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
      await openLink(page, `${stage.scene.url}#wallet=${wallet}`)
      await settle(page)
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
        expect(edge).toMatch(/^Liquidation at \$[\d,.]+, (?:[−+][\d.]+\s%|[\d.]+ times)|^Even at \$0, /)

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
      // An unavailable chain is asked again.
      expect(stage.requests.slice(asked).filter((address) => !/chain_id=10&/.test(address))).toEqual([])
    }, 180_000)

    test('in Aave without debt has a slider for one, up to the limit of the pool', async () => {
      const aave = await stage.scene.devnet.aave()
      const page = await look(aave.wallets.supplier)
      const card = page.getByRole('article', { name: 'Aave V3, market main' })
      await card.waitFor()
      expect(await card.locator('.edge').count()).toBe(0)
      const [{ positions }] = (await call(`v1/lending/aave-v3?wallet=${aave.wallets.supplier}&chain_id=1&full=true`))
        .data
      const panel = card.locator('.what-if')
      await panel.locator('summary').click()
      expect(await panel.locator('.gauge-value').textContent()).toBe('∞')
      await panel.getByLabel('Borrow US dollars').press('End')
      const [, most = ''] = /^borrow \$([\d,.]+)$/.exec(await panel.locator('.slider output').last().innerText()) ?? []
      expect(Math.abs(Number(most.replaceAll(',', '')) - Number(positions[0].borrowLimitUSD))).toBeLessThan(1)
      expect(Number(await panel.locator('.gauge-value').textContent())).toBeGreaterThan(1)
    }, 180_000)

    test('in Morpho is named by its tokens and LLTV, with a liquidation price of one token in the other', async () => {
      const morpho = await stage.scene.devnet.morpho()
      const page = await look(morpho.wallets.borrower)
      const section = page.getByRole('region', { name: 'Positions' })
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
        const [, said, sign, shown = ''] = /^(Liquidation|Can be liquidated).* ([−+])([\d.]+)/.exec(edge) ?? []
        expect([said, sign]).toEqual(Number(healthFactor) < 1 ? ['Can be liquidated', '+'] : ['Liquidation', '−'])
        expect(Math.abs(Number(shown) - Math.abs(change))).toBeLessThan(0.11)
        const panel = card.locator('.what-if')
        await panel.locator('summary').click()
        expect(Math.abs(Number(await panel.locator('.gauge-value').textContent()) - Number(healthFactor))).toBeLessThan(
          0.000_2,
        )
      }
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 180_000)

    test('in Kamino moves each side as a whole', async () => {
      const page = await look(SOLANA_WALLET)
      const card = page.getByRole('article', { name: /^Kamino, obligation/ }).first()
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
    }, 180_000)
  })
})

describe('the past', async () => {
  const START_MS = 180_000
  const ANSWER_MS = 60_000
  const PAGE_SIZE = 25

  describe.skipIf(BROWSER === undefined)('Explore as of a past moment', () => {
    const stage = setStage({ lending: true, startMs: START_MS, answerMs: ANSWER_MS })

    async function look(fragment: string): Promise<Page> {
      const page = await stage.open()
      await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
      await openLink(page, `${stage.scene.url}${fragment}`)
      return page
    }

    const toIso = (sec: number) => new Date(sec * 1000).toISOString()

    /** Calls the service, again after 503, because it also reads histories for the pages. */
    async function call(target: string): Promise<Json> {
      const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
      let answer: Json
      await waitFor('an answer', async () => {
        const response = await fetch(new URL(target, stage.scene.url), { headers })
        answer = await response.json()
        return response.status !== 503
      })
      return answer
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
        if (events.length >= pagination.total) return { days, events }
      }
    }

    const getCard = (page: Page) => page.getByRole('article', { name: 'Aave V3, market main', exact: true })

    /** Reads the dates in the first column of a table. */
    async function readTimes(page: Page, rows: string): Promise<number[]> {
      const texts = await getCard(page).locator(`${rows} > :first-child`).allTextContents()
      return texts.map((text) => Date.parse(`${text.replace(/ UTC.*$/, '')} UTC`) / 1000)
    }

    test('every chain is read as of that moment', async () => {
      const page = await look(`#wallet=${stage.scene.devnet.wallets.provider}`)
      await settle(page)
      await page.getByText('As of now').click()
      await page.getByLabel('As of (UTC)').fill(new Date().toISOString().slice(0, 16))
      await page.getByRole('button', { name: 'Look' }).click()
      await page.locator('.title .badge').waitFor()
      expect(page.url()).toContain('as_of=')
      await settle(page)
      // Some are requested more than once, until their history is read.
      const asked = new Set(stage.requests.filter((address) => address.includes('at_time=')))
      // The portfolio and its rows, and seven families on those of two chains that have them.
      expect(asked.size).toBe(14)
      expect(await page.locator('.position').count()).toBeGreaterThan(0)
      expect(await audit(page)).toEqual([])
    }, 180_000)

    test('the daily series, its chart and the events of a market end at that moment', async () => {
      const { wallets } = await stage.scene.devnet.aave()
      const { days, events } = await readHistory(wallets.everywhere)
      // The last midnight before the newest event, which is the borrow.
      const last = days.filter(({ timestamp }) => timestamp + 60 < events[0].timestamp).at(-1).timestamp
      const before = events.filter(({ timestamp }) => timestamp <= last + 60).length
      expect([before > 0, before < events.length, last < days.at(-1).timestamp]).toEqual([true, true, true])

      const page = await look(`#wallet=${wallets.everywhere}&as_of=${toIso(last + 60)}`)
      await settle(page)
      const card = getCard(page)
      await card.getByRole('button', { name: /^Day by day, and events/ }).click()
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
    }, 180_000)

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
      await waitFor('the new events', async () => {
        ;({ events } = await readHistory(everywhere))
        return events.length === early.length + 4 * PAGE_SIZE
      })
      const page = await look(`#wallet=${everywhere}&as_of=${moment}`)
      await settle(page)
      const card = getCard(page)
      await card.getByRole('button', { name: /^Day by day, and events/ }).click()
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
    }, 180_000)

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
      await settle(page)
      expect(await page.getByText('Net in a year').count()).toBe(1)
      expect(page.url()).not.toContain('as_of')
      expect(page.url()).toContain('kamino=')
    }, 180_000)
  })
})
