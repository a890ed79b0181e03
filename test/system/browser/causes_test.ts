import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { audit, BROWSER, overflow } from './browser.ts'
import { setStage } from './stage.ts'

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
  const stage = setStage({ lending: true, startMs: 120_000, answerMs: 60_000, env })

  async function enter(wallet: string, key: string | undefined): Promise<Page> {
    const page = await stage.open()
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
    await page.getByText(/^(\d+) of \1 answered$/).waitFor()
    await page.locator('.position').first().waitFor()
    await page.getByText('6 chains are not in it').waitFor()
    expect(await page.getByRole('alert').filter({ visible: true }).count()).toBe(1)
    for (const name of Object.values(DEAD)) expect([name, await seen(page, name)]).toEqual([name, 1])
    await shoot(page, 'six_dead')
    expect(await audit(page)).toEqual([])
    expect(await overflow(page)).toEqual([0, 0])

    const asked = stage.requests.length
    await line.getByRole('button', { name: 'Try all again' }).click()
    const again = () => stage.requests.slice(asked).map((address) => new URL(address))
    const lists = () => again().filter(({ pathname }) => pathname === '/v1/positions/uniswap-v3')
    while (lists().length < IDS.length) await page.waitForTimeout(50)
    await page.getByText(/^(\d+) of \1 answered$/).waitFor()
    await line.waitFor()
    expect(
      lists()
        .map(({ searchParams }) => searchParams.get('chain_id'))
        .sort(),
    ).toEqual([...IDS].sort())
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
    60_000,
  )

  test('an invalid address causes one notice', async () => {
    const wrong = '0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
    const page = await enter(wrong, stage.scene.accounts.keys.main)
    const notice = page.getByRole('alert').filter({ hasText: 'The wallet could not be read' })
    await notice.waitFor()
    expect(await notice.innerText()).toContain('checksum')
    expect(await page.getByRole('alert').filter({ visible: true }).count()).toBe(1)
    await shoot(page, 'wrong_address')
    expect(await audit(page)).toEqual([])
  }, 60_000)
})
