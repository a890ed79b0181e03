import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { placeNames } from '../../devnet/names.ts'
import type { Json } from '../program/scenarios.ts'
import { audit, BROWSER, overflow } from './browser.ts'
import { setStage } from './stage.ts'

describe.skipIf(BROWSER === undefined)('Explore, with several wallets', () => {
  const stage = setStage({ lending: true, startMs: 120_000, answerMs: 30_000 })

  async function start(): Promise<Page> {
    const page = await stage.open()
    await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
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
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: '2 wallets, net' }).waitFor()
    expect(page.url()).toBe(`${stage.scene.url}#wallet=${provider}&wallet=${spammed}`)
    for (const summary of await page.locator('.wallet .summary').all()) {
      await summary.getByText(/^(\d+) of \1 answered$/).waitFor()
    }
    const lists = await Promise.all([provider, spammed].map(readPositions))
    expect(await page.locator('.position').count()).toBe(lists.flatMap(({ data }) => data).length)
    const totals = await page.locator('.together .figure-all').allTextContents()
    const [sum = 0, ...each] = totals.map((text) => Math.round(Number(text.split(' ')[0]) * 1e6))
    expect(each.map((value) => value > 0)).toEqual([true, true])
    expect(sum).toBe(each.reduce((left, right) => left + right))
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])

    await page.getByRole('button', { name: `Leave out ${provider.slice(0, 6)}` }).click()
    await page.getByRole('heading', { level: 1, name: spammed }).waitFor()
    expect(page.url()).toBe(`${stage.scene.url}#wallet=${spammed}`)
    expect(await page.locator('.together').count()).toBe(0)
  }, 120_000)

  test('an ENS name opens its wallet, and is shown beside the address', async () => {
    const { devnet, url } = stage.scene
    const { provider, spammed } = devnet.wallets
    await placeNames(devnet)
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
    await page.getByText('provider.eth').waitFor()
    expect(await overflow(page)).toEqual([0, 0])

    await wallet.fill(`provider.eth größe🦊.eth ${provider}`)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: '2 wallets, net' }).waitFor()
    expect(page.url()).toBe(`${url}#wallet=${provider}&wallet=${spammed}`)
    expect(await page.locator('.ens-name').allTextContents()).toEqual(['provider.eth', 'größe🦊.eth'])
    expect(await audit(page)).toEqual([])
  }, 120_000)

  test('more than five are too many, and the link opens the first five', async () => {
    const page = await start()
    const many = Array.from({ length: 6 }, (_, index) => `0x${String(index + 1).padStart(40, '0')}`)
    await page.getByRole('textbox', { name: 'Wallet' }).fill(many.join(' '))
    await page.keyboard.press('Enter')
    await page.getByText('These are 6: up to 5 are shown at once.').waitFor()
    await page.goto(`${stage.scene.url}#${many.map((wallet) => `wallet=${wallet}`).join('&')}`)
    await page.getByRole('heading', { level: 1, name: '5 wallets, net' }).waitFor()
  }, 60_000)
})
