import { afterEach, describe, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { decreaseCall } from '../../devnet/uniswap_v4/calls.ts'
import { mintEach } from '../../devnet/uniswap_v4/mint_each.ts'
import type { V4PoolName } from '../../devnet/uniswap_v4/pools.ts'
import { waitFor } from '../../support/wait_for.ts'
import type { Json } from '../program/scenarios.ts'
import { audit, BROWSER, openLink, overflow, savedColumn, settle, waitForAnswer } from './browser.ts'
import { type Stage, setStage } from './stage.ts'

const V3 = 'uniswap-v3'

/**
 * Reads a list of one chain until the history of each position is read and `isAwaited` holds. Behind some hooks of Uniswap V4
 * there is none.
 */
async function readyList(
  { scene: { accounts, url } }: Stage,
  { wallet, family = V3 }: { readonly wallet: string; readonly family?: string },
  isAwaited: (list: Json[]) => boolean = () => true,
): Promise<Json[]> {
  const headers = { authorization: `Bearer ${accounts.keys.main}` }
  const target = `${url}v1/positions/${family}?wallet=${wallet}&chain_id=1&full=true`
  let list: Json[] = []
  await waitFor('the histories', async () => {
    const { data } = (await (await fetch(target, { headers })).json()) as Json
    list = data ?? []
    const isRead = ({ pnl_status: status }: Json) => status === 'ready' || (status !== 'pending' && family !== V3)
    return data?.every(isRead) && isAwaited(list)
  })
  return list
}

describe('a list of liquidity', async () => {
  const START_MS = 180_000
  const ANSWER_MS = 60_000
  const DAY_SEC = 86_400
  const YEAR_DAYS = 365
  const LIST = 'v1/positions/uniswap-v3'
  const V4_POOLS = ['plain', 'native', 'dynamicFee', 'feeTaking', 'forbidding'] as const satisfies readonly V4PoolName[]

  describe.skipIf(BROWSER === undefined)('liquidity in Explore', () => {
    // With lending the devnet's clock advances to now.
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

    /** Reads the yearly rate in a row of the page. */
    async function readRate(page: Page, name: string): Promise<number> {
      const shown = page.locator('.position .facts div').filter({ hasText: name }).locator('dd')
      await shown.waitFor()
      // A figure of the service has all of its digits beside those that are seen.
      const exact = shown.locator('.figure-all')
      const text = await ((await exact.count()) > 0 ? exact : shown).textContent()
      return Number((text ?? '').replace(/[^\d.−-]/g, '').replace('−', '-'))
    }

    test('has totals over all positions, and an order, a filter and a limit for small ones', async () => {
      const { provider } = stage.scene.devnet.wallets
      const list = await readyList(stage, { wallet: provider })
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
      const controls = page.locator('.rows-bar')
      await controls.getByLabel('Show').selectOption('liquidity')
      const byValue = list.toSorted((a, b) => Number(b.usd.total) - Number(a.usd.total))
      expect(await ids()).toEqual(byValue.map(({ token_id }) => token_id))
      await controls.getByLabel('Show').selectOption('out')
      expect(await ids()).toEqual(byValue.filter(({ in_range }) => !in_range).map(({ token_id }) => token_id))
      expect(await controls.getByRole('status').innerText()).toMatch(/^\d+ rows hidden\.$/)
      await controls.getByLabel('Show').selectOption('liquidity')
      await controls.getByLabel('Hide').selectOption('100')
      expect(await ids()).toEqual(byValue.filter(({ usd }) => Number(usd.total) >= 100).map(({ token_id }) => token_id))
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 180_000)

    test('has its dates, flows and bounds, the fee APR since opening, over days, and its time in range', async () => {
      const { v3, pools, wallets, positions } = stage.scene.devnet
      const { single } = wallets
      const [{ position_state: state }] = await readyList(stage, { wallet: single })
      const pool = Object.values(pools).find(({ address }) => address === state.pool.id)
      if (pool === undefined) throw new Error('Cannot find the pool of the position')
      await v3.swap({ pool, tokenIn: state.token0.id, amountIn: 3_000n * 10n ** BigInt(state.token0.decimals) })
      const isLater = ([{ position_state }]: Json[]) => position_state.pool.tick !== state.pool.tick
      const [position] = await readyList(stage, { wallet: single }, isLater)
      const page = await look(single)
      const card = page.locator('.position').first()
      await card.getByRole('button', { name: 'Dates and flows 1 to 4 credits' }).click()
      await card.locator('.life').getByText('Opened').waitFor()

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
      // Held until the block of the answer, which may be older than now.
      const block = (await stage.scene.devnet.rpc.call('eth_getBlockByNumber', 'latest', false)) as Json
      const heldSec = Number(block.timestamp) - opened
      const since = ((fees / Number(pnl.time_weighted_average_capital)) * YEAR_DAYS * DAY_SEC * 100) / heldSec
      // Four digits are shown.
      expect(Math.abs((await readRate(page, 'since opening')) - since)).toBeLessThan(0.000_06)

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
    }, 180_000)

    test('has its own line in the daily chart of the portfolio', async () => {
      const { provider } = stage.scene.devnet.wallets
      const page = await look(provider)
      const part = page.getByRole('region', { name: 'Portfolio' })
      await part.getByRole('button', { name: 'Day by day on Ethereum 5 credits' }).click()
      const chart = part.locator('.chart')
      await chart.waitFor()
      const { data: days } = await call(`v1/portfolio/snapshots?wallet=${provider}&chain_id=1&max_snapshots=90`)
      expect(Number(days.at(-1).liquidity_usd)).toBeGreaterThan(0)
      expect(await chart.locator('.dot.liquidity').count()).toBe(days.length)
      const shown = Number(days.at(-1).liquidity_usd).toLocaleString('en', { style: 'currency', currency: 'USD' })
      expect(await chart.locator('.readout').innerText()).toContain(`Liquidity ${shown}`)
    }, 180_000)

    test('shows why figures of past blocks are missing', async () => {
      const page = await look(stage.scene.devnet.wallets.single)
      const card = page.locator('.position').first()
      await card.getByRole('button', { name: /^Dates and flows/ }).click()
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
    }, 180_000)

    test('that is closed has its dates, fee APR and flows on request, and tokens that could not be read are told', async () => {
      const { wallets, positions } = stage.scene.devnet
      const page = await stage.open()
      const error = { code: 'SERVICE_UNAVAILABLE', message: 'No endpoint answers', request_id: 'req_1' }
      await page.route('**/v1/portfolio/assets?*', (route) => route.fulfill({ status: 503, json: { error } }))
      await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
      await openLink(page, `${stage.scene.url}#wallet=${wallets.retired}`)
      await settle(page)
      await page.getByText('Tokens and what no list has could not be read.').waitFor()
      await page.getByRole('button', { name: /^Show \d+ closed/ }).click()
      const card = page.locator('.position').first()
      await card.getByRole('button', { name: 'Dates and flows 1 to 4 credits' }).click()
      await card.getByText('Was open').waitFor()
      const { data: flows } = await call(`${LIST}/${positions.retired}/events?chain_id=1`)
      expect(await card.locator('.life').innerText()).toMatch(/Opened\s+.*\s+Closed\s+/)
      expect(await card.getByText(/^\d+ flows: deposits/).innerText()).toStartWith(`${flows.length} flows`)
      await card.getByRole('button', { name: /^Profit and loss/ }).click()
      await card.getByText('Fee APR since opening').waitFor()
      expect(await card.getByRole('button', { name: /^Fee APR|^Time in range/ }).count()).toBe(0)
    }, 180_000)

    test('is a line in the list of 13, whose first screen tells worth and what to do, each leading to its line', async () => {
      const { provider } = stage.scene.devnet.wallets
      await mintEach(await stage.scene.devnet.uniswapV4(), { names: V4_POOLS, owner: provider })
      const isMinted = (list: Json[]) => list.length >= V4_POOLS.length
      await readyList(stage, { wallet: provider, family: 'uniswap-v4' }, isMinted)
      const page = await stage.open()
      await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
      const told = waitForAnswer(page, '/v1/wallet/overview')
      await openLink(page, `${stage.scene.url}#wallet=${provider}`, { areCardsOpen: false })
      const { worth, earnings, to_do } = (await told).data
      await settle(page)
      expect(await page.locator('.row').count()).toBeGreaterThanOrEqual(13)
      await page.locator(`#net-worth[title="${worth.net_worth_usd} USD"]`).waitFor()
      expect(await page.locator('#net-worth').textContent()).toMatch(/^\$[\d,]+\.\d\d$/)
      const first = page.getByRole('region', { name: 'Worth', exact: true })
      // One of two chains never answers.
      for (const words of ['at least', 'without 1 chain']) expect(await first.innerText()).toContain(words)
      const exact = await first.locator('.figure-all').allTextContents()
      for (const figure of [worth.assets_usd, worth.debt_usd, earnings.per_day_usd, earnings.to_collect_usd])
        expect(exact).toContain(`${figure} USD`)
      expect(await page.locator('.position').count()).toBe(0)
      expect((await page.locator('.row .line').first().boundingBox())?.height).toBeLessThanOrEqual(44)

      for (const [width, most] of [
        [1280, 3_000],
        [390, 5_000],
      ] as const) {
        await page.setViewportSize({ width, height: 900 })
        const list = await page.getByRole('region', { name: 'To do' }).boundingBox()
        expect((list?.y ?? 900) + (list?.height ?? 0)).toBeLessThanOrEqual(900)
        expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(most)
      }
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.getByText(/^\d+ more$/).click()
      const things = page.getByRole('region', { name: 'To do' }).getByRole('button')
      expect(await things.count()).toBe(to_do.length)
      const kinds = new Set(to_do.map(({ kind }: Json) => kind))
      // A closed position that owes its tokens has a line too.
      for (const kind of ['out_of_range', 'uncollected', 'blocked']) expect(kinds.has(kind)).toBe(true)
      for (const [index, { subject }] of to_do.entries()) {
        await things.nth(index).click()
        const open = page.locator('.row.open').filter({ hasText: `#${subject.token_id}` })
        await open.locator('.card').first().waitFor()
      }
      // Two things may be about one position.
      const ids = new Set(to_do.map(({ subject }: Json) => JSON.stringify(subject)))
      expect(await page.locator('.row.open').count()).toBe(ids.size)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 180_000)
  })
})

describe('a position', async () => {
  const START_MS = 180_000
  const ANSWER_MS = 60_000
  const LIST = 'v1/positions/uniswap-v3'

  describe.skipIf(BROWSER === undefined)('a position in Explore', () => {
    const stage = setStage({ lending: false, startMs: START_MS, answerMs: ANSWER_MS })

    /** Opens the page while answers may be held back. */
    async function open(wallet: string): Promise<Page> {
      const page = await stage.open()
      await page.addInitScript(`sessionStorage.setItem('walletscope.key', '${stage.scene.accounts.keys.main}')`)
      await openLink(page, `${stage.scene.url}#wallet=${wallet}`)
      return page
    }

    async function look(wallet: string): Promise<Page> {
      const page = await open(wallet)
      await settle(page)
      return page
    }

    async function readPositions(wallet: string): Promise<Json[]> {
      const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
      const target = `${LIST}?wallet=${wallet}&chain_id=1&full=true`
      return ((await (await fetch(`${stage.scene.url}${target}`, { headers })).json()) as Json).data
    }

    /** Withdraws some liquidity of the wallet `single` without collecting it, and waits until the service has the block. */
    async function withdraw(): Promise<void> {
      const { v3, positions, wallets, client } = stage.scene.devnet
      await v3.decreaseLiquidity({ tokenId: positions.single, owner: wallets.single, liquidity: 1_000_000_000n })
      const block = await client.getBlockNumber()
      const headers = { authorization: `Bearer ${stage.scene.accounts.keys.main}` }
      // Unlike all figures, these need no history, whose logs may be held back.
      const target = `${stage.scene.url}${LIST}?wallet=${wallets.single}&chain_id=1`
      await waitFor('the block', async () => {
        const asOf = (await fetch(target, { headers })).headers.get('x-as-of')
        return BigInt(asOf?.split(':')[1] ?? 0) >= block
      })
    }

    let release = () => {}
    // A test that failed holds nothing back from the next one.
    afterEach(() => release())

    /** Holds back answers to reads of logs until `release` is called. */
    function holdLogs(): void {
      const { promise, resolve } = Promise.withResolvers<void>()
      stage.scene.rpc.rule(({ method }) =>
        method === 'eth_getLogs' ? { kind: 'meanwhile', done: () => promise } : undefined,
      )
      release = () => {
        stage.scene.rpc.rule(() => undefined)
        resolve()
      }
    }

    const pnlCalls = () => stage.requests.filter((address) => address.includes('/pnl?'))

    test('whose history is not read yet has no figures of it, and the page sends no chargeable request by itself', async () => {
      const { single } = stage.scene.devnet.wallets
      holdLogs()
      await withdraw()
      const page = await open(single)
      const card = page.locator('.position').first()
      await card.getByText('Profit and loss is still being worked out').waitFor()
      expect(await card.getByRole('button', { name: /^Profit and loss/ }).count()).toBe(0)
      // Fees and withdrawn principal are one sum until the history is read.
      expect(await card.getByText('not separated').count()).toBe(3)
      await card.getByText('Collecting pays').waitFor()
      await page.getByText('Either, not separated yet').waitFor()
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
    }, 180_000)

    test('shows the progress of its history, as text and as a bar', async () => {
      const { single } = stage.scene.devnet.wallets
      holdLogs()
      await withdraw()
      const page = await open(single)
      // Simulates the progress of a long history.
      const headers = { 'retry-after': '1', 'x-progress': 'percent=37, left=1234, unit=blocks' }
      const error = {
        code: 'SERVICE_UNAVAILABLE',
        message: 'The history of chain 1 is being read',
        request_id: 'req_1',
      }
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
    }, 180_000)

    test('has its fees separated from withdrawn principal, and its profit and loss at once', async () => {
      const { single } = stage.scene.devnet.wallets
      await withdraw()
      await readyList(stage, { wallet: single })
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
      expect(await summary.filter({ hasText: 'Uncollected fees' }).locator('.figure-all').textContent()).toBe(
        `${usd.uncollected_fees} USD`,
      )
      expect(await summary.filter({ hasText: 'Withdrawn, not collected' }).locator('.figure-all').textContent()).toBe(
        `${usd.withdrawn_principal} USD`,
      )
      expect(pnlCalls()).toEqual([])
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 180_000)

    test('has a column for withdrawn principal only if it has some', async () => {
      const { provider } = stage.scene.devnet.wallets
      const list = await readyList(stage, { wallet: provider })
      const page = await look(provider)
      const hasColumn = []
      for (const { token_id, usd } of list) {
        const card = page.locator('.position').filter({ has: page.locator(`header span[title="${token_id}"]`) })
        const has = (await card.innerText()).includes('Withdrawn, not collected')
        expect(has).toBe(Number(usd.withdrawn_principal) > 0)
        hasColumn.push(has)
      }
      expect(new Set(hasColumn).size).toBe(2)
    }, 180_000)
  })
})

describe('Uniswap V4', async () => {
  const START_MS = 180_000
  const ANSWER_MS = 60_000
  const OWNER = toWalletAddress('v4 in a browser')
  const POOLS = ['plain', 'native', 'dynamicFee', 'feeTaking', 'forbidding'] as const satisfies readonly V4PoolName[]

  describe.skipIf(BROWSER === undefined)('a Uniswap V4 position in Explore', () => {
    const stage = setStage({ lending: false, startMs: START_MS, answerMs: ANSWER_MS })

    async function look(wallet = OWNER): Promise<Page> {
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

    const readExact = (part: Locator) => part.locator('.figure-all').allTextContents()

    test('has the same picture as V3, with its hook, the fee in force and the payout of a withdrawal', async () => {
      const ids = await mintEach(await stage.scene.devnet.uniswapV4(), { names: POOLS, owner: OWNER })
      const page = await look()
      const { data } = await call(`v1/positions/uniswap-v4?wallet=${OWNER}&chain_id=1&full=true`)
      expect(data).toHaveLength(POOLS.length)
      const cards = page.locator('.position')
      expect(await cards.count()).toBe(POOLS.length)
      const getCard = ({ token_id }: Json) => cards.filter({ has: page.locator(`header span[title="${token_id}"]`) })
      for (const position of data) {
        const card = getCard(position)
        const { token0, token1, pool } = position.position_state
        expect(await card.getByRole('img').getAttribute('aria-label')).toMatch(
          /^Range from .* current price .* in range$/,
        )
        const text = await card.innerText()
        expect(text).toContain('Uniswap V4 · ')
        expect(text).toMatch(new RegExp(` ${(Number(pool.feeTier) / 10_000).toFixed(2)}\\s% fee`))
        expect(text.includes('set by the hook')).toBe(pool.isDynamicFee)
        for (const permission of pool.hooks?.permissions ?? []) expect(text).toContain(permission)
        const exact = await readExact(card)
        for (const [name, { symbol }] of Object.entries({ token0, token1 })) {
          expect(exact).toContain(`${position.amounts[name].amount} ${symbol}`)
          expect(exact).toContain(`${position.uncollected_fees[name].amount} ${symbol}`)
          if (position.withdrawable) expect(exact).toContain(`${position.withdrawable[name].amount} ${symbol}`)
        }
        if (position.usd.total !== null) expect(exact).toContain(`${position.usd.total} USD`)
      }
      const of = (name: (typeof POOLS)[number]) => {
        const index = data.findIndex(({ token_id }: Json) => token_id === String(ids[name]))
        return { card: getCard(data[index]), position: data[index] }
      }
      const withColumn = await cards.filter({ hasText: 'A withdrawal pays' }).count()
      expect(withColumn).toBe(data.filter(({ withdrawable }: Json) => withdrawable).length)

      const { card: native, position: ether } = of('native')
      expect(ether.position_state.token0.id).toBe('0x0000000000000000000000000000000000000000')
      expect(await native.getByRole('heading').innerText()).toBe('ETH / USDC')
      const { card: taking, position: taken } = of('feeTaking')
      await taking.getByText('A withdrawal pays').waitFor()
      expect(await taking.locator('.hook').innerText()).toContain('afterRemoveLiquidityReturnsDelta')
      expect(Number(taken.usd.total)).toBeLessThan(Number(taken.usd.amounts))
      const { card: barred, position: kept } = of('forbidding')
      expect(kept.withdrawable_error).toBe('reverts')
      await barred.getByText('its hook does not let it pass').waitFor()
      await barred.getByText('not counted', { exact: true }).waitFor()
      const line = page.locator('.line').filter({ hasText: 'cannot be withdrawn' })
      expect(await line.innerText()).toContain(`#${kept.token_id}`)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 180_000)

    test('has its history with those of all others by one press, for the price that it says', async () => {
      const { provider } = stage.scene.devnet.wallets
      const page = await look(provider)
      await settle(page)
      const single = page.getByRole('button', { name: 'Dates and flows 1 to 4 credits' })
      const count = await single.count()
      const all = page.getByRole('button', { name: /^Read \d+ histories/ })
      const [, number, least, most] = /^Read (\d+) histories (\d+) to (\d+) credits$/.exec(await all.innerText()) ?? []
      expect([Number(number) > 1, Number(number) <= count]).toEqual([true, true])
      expect([Number(least), Number(most)]).toEqual([Number(number), 4 * Number(number)])
      const asked = () => stage.requests.filter((each) => each.includes('/events?'))
      expect(asked()).toEqual([])
      await all.click()
      await page
        .locator('.life .facts')
        .nth(Number(number) - 1)
        .waitFor()
      expect(new Set(asked()).size).toBe(asked().length)
      expect(asked().length).toBeLessThanOrEqual(Number(most))
      expect(await all.count()).toBe(0)
      expect(await single.count()).toBe(count - Number(number))
    }, 180_000)

    test('is sorted among those of V3, and no card repeats its requests', async () => {
      const { provider } = stage.scene.devnet.wallets
      await mintEach(await stage.scene.devnet.uniswapV4(), { names: ['plain', 'native'], owner: provider })
      const page = await look(provider)
      await settle(page)
      const targets = ['uniswap-v3', 'uniswap-v4'].map((name) => `v1/positions/${name}?wallet=${provider}&full=true`)
      const [v3, v4] = await Promise.all(targets.map(async (target) => (await call(`${target}&chain_id=1`)).data))
      const ids = () =>
        page.locator('.position header span[title]').evaluateAll((all) => all.map((each) => each.getAttribute('title')))
      const getIds = (list: readonly Json[]) => list.map(({ token_id: id }) => id)
      const byValue = [...v3, ...v4].toSorted((a, b) => Number(b.usd.total) - Number(a.usd.total))
      expect(await ids()).toEqual(getIds(byValue))
      await page
        .getByRole('button', { name: /^Dates and flows/ })
        .first()
        .click()
      await page.locator('.life .facts').first().waitFor()
      const asked = () => stage.requests.filter((each) => each.includes('/events?')).length
      const before = asked()
      await page.getByLabel('Sort by').selectOption('profit')
      const byProfit = [...v3, ...v4].filter(({ pnl }) => pnl !== null)
      byProfit.sort((a, b) => Number(b.pnl.pnl_usd_value) - Number(a.pnl.pnl_usd_value))
      expect((await ids()).slice(0, byProfit.length)).toEqual(getIds(byProfit))
      await page.getByLabel('Sort by').selectOption('value')
      expect(await ids()).toEqual(getIds(byValue))
      expect([before > 0, asked()]).toEqual([true, before])
    }, 180_000)

    test('has profit and loss, and is shown on request after it was closed', async () => {
      const { fund, send, pools } = await stage.scene.devnet.uniswapV4()
      const list = `v1/positions/uniswap-v4?wallet=${OWNER}&chain_id=1`
      const { data: open } = await call(list)
      const plain = open.find(({ position_state: { pool } }: Json) => pool.id === pools.plain.id)
      const change = { pool: pools.plain, tokenId: BigInt(plain.token_id), owner: OWNER }
      await fund([OWNER])
      await send([decreaseCall({ ...change, liquidity: BigInt(plain.position_state.liquidity) })])

      const page = await look()
      const cards = page.locator('.position')
      await page.getByRole('button', { name: 'Show 1 closed on Ethereum (Uniswap V4) 1 credit each' }).click()
      const closed = cards.filter({ hasText: 'Its range was from tick' })
      await closed.waitFor()
      expect(await cards.count()).toBe(POOLS.length)
      await closed.getByRole('button', { name: 'Profit and loss 4 credits' }).click()
      await closed.locator('.pnl').waitFor()
      const { data: pnl } = await call(`v1/positions/uniswap-v4/${plain.token_id}/pnl?chain_id=1&status=inactive`)
      expect(await readExact(closed.locator('.pnl'))).toContain(`${pnl.pnl_usd_value} USD`)

      // The hook may change payouts, so there is no profit and loss: the page says why, and offers nothing that is 404.
      const taking = cards.filter({ hasText: 'afterRemoveLiquidityReturnsDelta' })
      await taking.getByText("the pool's hook may change what is paid, which no log contains").waitFor()
      expect(await taking.getByRole('button', { name: /^(?!Tell me when).*credits?/ }).count()).toBe(0)
      expect(await audit(page)).toEqual([])
      expect(await overflow(page)).toEqual([0, 0])
    }, 180_000)
  })
})
