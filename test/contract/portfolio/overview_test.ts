import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { AAVE_V3 } from '../../../src/family/aave_v3/mod.ts'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { PendingError } from '../../../src/lib/error.ts'
import { AAVE_WALLETS } from '../../devnet/aave_v3/addresses.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { TOKENS, toWalletAddress, WALLETS } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { usdToRaw } from '../../devnet/scenario.ts'
import { swapCall } from '../../devnet/uniswap_v3_calls.ts'
import { callRoute, toRouteFailure } from '../../support/call_route.ts'
import { IS_FULL } from '../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { DEPLOYMENT } from '../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes } from '../../support/family.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { createHurriedClock } from '../../support/test_clock.ts'
import { DEPLOYMENTS } from '../family/aave_v3/support.ts'
import { allRows, countedClient, createPortfolio, e6, toFigures, type WireRow } from './support.ts'

/** The worst that each position's interest and each row's value may be rounded by, millionths of a dollar. */
const HALF_E6 = 0.5
const DAY_SEC = 86_400

interface WireOverview {
  readonly complete: boolean
  readonly unread: readonly { readonly chain_id: number; readonly what: string; readonly why: string }[]
  readonly worth: Readonly<Record<string, string | null>>
  readonly earnings: {
    readonly per_day_usd: string | null
    readonly to_collect_usd: string | null
    readonly incomplete: readonly object[]
  }
  readonly by_protocol: readonly { readonly code: string; readonly chain_id: number; readonly net_usd: string | null }[]
  readonly by_chain: readonly { readonly chain_id: number; readonly net_usd: string | null }[]
  readonly to_do: readonly WireToDo[]
}

interface WireToDo {
  readonly kind: string
  readonly wallet: string
  readonly code: string
  readonly subject: Readonly<Record<string, string>>
  readonly usd: string | null
  readonly text: string
}

interface WireLending {
  readonly positions: readonly {
    readonly marketId: string
    readonly healthFactor: string
    readonly liquidatable_because: readonly string[]
    readonly totalDebtUSD: string
  }[]
  readonly calculations: readonly { readonly netDailyInterestUSD: string }[]
}

let devnet: Devnet
let database: TestDatabase
let rpc: FaultyRpc
/** Stands at the time at which the chain was built. */
let clock: Clock

beforeAll(async () => {
  database = await testDatabase()
  const shared = await sharedAave()
  devnet = shared.devnet
  clock = { ...createHurriedClock(), now: () => shared.built.timeSec * 1_000 }
  rpc = await startFaultyRpc(devnet.rpcUrl)
}, 300_000)

afterAll(async () => {
  rpc?.stop()
  await database?.close()
})

function setUp(overrides: Partial<FinanceChain> = {}) {
  const { client, requests } = countedClient(createDevnetChain(devnet, overrides))
  const portfolio = createPortfolio([client], { db: database.db, clock })
  return { client, portfolio, requests }
}

async function ask(portfolio: ReturnType<typeof createPortfolio>, wallets: readonly string[]) {
  const { reply, credits } = await portfolio.overview(`wallet=${wallets.join()}`)
  return { data: reply.data as WireOverview, credits, asOf: reply.asOf }
}

/** The price of one wallet on one chain: its changes are paid for once their midnights are read. */
function toCredits({ worth }: WireOverview): number {
  return worth['change_24h_usd'] === null && worth['change_30d_usd'] === null ? 15 : 20
}

/** Asks until the midnights are read: how many one answer waits for is the machine's. */
async function waitForChanges(wallets: readonly string[]): Promise<WireOverview> {
  const { data } = await ask(setUp().portfolio, wallets)
  return data.unread.some(({ why }) => why.endsWith('ask again')) ? await waitForChanges(wallets) : data
}

async function askLending(wallet: Address): Promise<readonly WireLending[]> {
  const { client } = setUp()
  const [list] = createFamilyRoutes(AAVE_V3, { rows: [[1, { aaveV3: DEPLOYMENTS }]], clients: [client] })
  if (list === undefined) throw new Error('Expected the list of lending positions')
  return (await callRoute(list, { query: `wallet=${wallet}` })).reply.data as readonly WireLending[]
}

describe('worth', () => {
  // Every second of them, and each with `SEEDS=full`.
  test.each(Object.entries({ ...WALLETS, borrower: AAVE_WALLETS.borrower }).filter((_, no) => IS_FULL || no % 2 === 0))(
    'of %s is that of its balance, in all and by protocol and chain',
    async (_, wallet) => {
      const { portfolio } = setUp()
      const [{ data, credits }, balance] = [await ask(portfolio, [wallet]), await portfolio.balance(`wallet=${wallet}`)]
      const { net, assets, debt, rows } = toFigures(balance)
      expect(data.worth).toMatchObject({ net_worth_usd: toUsd(net), assets_usd: toUsd(assets), debt_usd: toUsd(debt) })
      const byProtocol = data.by_protocol.reduce((sum, { net_usd }) => sum + e6(net_usd ?? ''), 0n)
      expect(Math.abs(Number(byProtocol - net))).toBeLessThanOrEqual(HALF_E6 * (data.by_protocol.length + 1))
      expect(data.by_chain).toEqual([{ chain_id: 1, net_usd: toUsd(net) }])
      expect(credits).toBe(rows['counted'] === 0 ? 0 : toCredits(data))
    },
  )

  test('of several wallets is the sum, at one block', async () => {
    const { portfolio } = setUp()
    const wallets = [WALLETS.provider, AAVE_WALLETS.borrower, AAVE_WALLETS.lender]
    const { data, credits, asOf } = await ask(portfolio, wallets)
    const nets = await Promise.all(
      wallets.map(async (wallet) => toFigures(await portfolio.balance(`wallet=${wallet}`)).net),
    )
    const difference = Number(e6(data.worth['net_worth_usd'] ?? '') - nets.reduce((sum, net) => sum + net, 0n))
    expect(Math.abs(difference)).toBeLessThanOrEqual(HALF_E6 * (nets.length + 1))
    expect(asOf).toMatchObject([{ chainId: 1, blockNumber: (await devnet.client.getBlock()).number }])
    expect(credits).toBe(3 * toCredits(data))
  })

  test('is told in one call, once the midnights are known', async () => {
    await waitForChanges([WALLETS.provider, AAVE_WALLETS.borrower])
    const { portfolio, requests } = setUp()
    // Of a wallet that earns fees the midnight is read too, once.
    for (const wallet of [AAVE_WALLETS.borrower, WALLETS.provider]) {
      await ask(portfolio, [wallet])
      requests.length = 0
      await ask(portfolio, [wallet])
      expect(requests).toEqual(['eth_call'])
    }
  })

  test('of a wallet without anything is zero, and nothing is to be done', async () => {
    const { data, credits } = await ask(setUp().portfolio, [toWalletAddress('overview of nothing')])
    expect(data).toMatchObject({ worth: { net_worth_usd: '0.000000' }, by_protocol: [], to_do: [] })
    expect(credits).toBe(0)
  })

  test('is null where no chain could be read, and no zero stands for it', async () => {
    rpc.rule(() => ({ kind: 'http', status: 500, body: 'down' }))
    const { portfolio } = setUp({ rpcUrls: [rpc.url], name: 'Broken' })
    const { data, credits } = await ask(portfolio, [WALLETS.provider])
    rpc.rule(() => undefined)
    expect(data).toMatchObject({ complete: false, by_chain: [], by_protocol: [], to_do: [] })
    expect(Object.values(data.worth)).toEqual([null, null, null, null, null])
    expect(data.earnings).toMatchObject({ per_day_usd: null, to_collect_usd: null })
    expect(data.unread[0]).toMatchObject({ chain_id: 1, what: 'chain' })
    expect(data.unread[0]?.why).toContain('Broken')
    expect(credits).toBe(0)
  })

  test('counts the chains that were read, and names the other one', async () => {
    rpc.rule(() => ({ kind: 'http', status: 500, body: 'down' }))
    const good = countedClient(createDevnetChain(devnet))
    const bad = countedClient({ ...createDevnetChain(devnet, { rpcUrls: [rpc.url], name: 'Broken' }), id: 10 })
    const portfolio = createPortfolio([good.client, bad.client], { db: database.db, clock })
    const { data } = await ask(portfolio, [WALLETS.provider])
    rpc.rule(() => undefined)
    const { net } = toFigures(await setUp().portfolio.balance(`wallet=${WALLETS.provider}`))
    expect(data).toMatchObject({ complete: false, worth: { net_worth_usd: toUsd(net), change_24h_usd: null } })
    expect(data.unread[0]).toMatchObject({ chain_id: 10, what: 'chain' })
    expect(data.by_chain.map(({ chain_id }) => chain_id)).toEqual([1])
  })
})

describe('earnings', () => {
  test('of a day are the net interest of all lending positions', async () => {
    for (const wallet of [AAVE_WALLETS.borrower, AAVE_WALLETS.lender, AAVE_WALLETS.emode]) {
      const { data } = await ask(setUp().portfolio, [wallet])
      const interests = (await askLending(wallet)).flatMap(({ calculations }) => calculations)
      const expected = interests.reduce((sum, each) => sum + e6(each.netDailyInterestUSD), 0n)
      expect(expected).not.toBe(0n)
      const difference = Number(e6(data.earnings.per_day_usd ?? '') - expected)
      expect(Math.abs(difference)).toBeLessThanOrEqual(HALF_E6 * (interests.length + 1))
    }
  })

  test('of a day are what can be collected more than at the midnight a day ago, at today’s prices', async () => {
    const { pools, send, client } = devnet
    await send([
      swapCall({ pool: pools.usdcWeth500, tokenIn: TOKENS.weth.address, amountIn: usdToRaw(TOKENS.weth, 9_000) }),
      swapCall({ pool: pools.usdcWeth3000, tokenIn: TOKENS.usdc.address, amountIn: usdToRaw(TOKENS.usdc, 9_000) }),
    ])
    await waitForChanges([WALLETS.provider])
    const { portfolio } = setUp()
    const { data, asOf = [] } = await ask(portfolio, [WALLETS.provider])
    const nowSec = Math.floor(clock.now() / 1_000)
    const midnight = (Math.round(nowSec / DAY_SEC) - 1) * DAY_SEC
    const query = `wallet=${WALLETS.provider}&kind=liquidity&chain_id=1`
    const [now, then] = [await allRows(portfolio, query), await allRows(portfolio, `${query}&at_time=${midnight}`)]
    const before = await portfolio.assets(`${query}&at_time=${midnight}`)
    const blocks = [asOf[0]?.blockNumber, before.reply.asOf?.[0]?.blockNumber].map(async (blockNumber = 0n) => {
      return (await client.getBlock({ blockNumber })).timestamp
    })
    const [end = 0n, start = 0n] = await Promise.all(blocks)
    const sumOwed = (rows: readonly WireRow[]) => {
      const owed = new Map<string, bigint>()
      for (const { position, token, amount } of rows) {
        if (position?.['part'] === 'principal') continue
        const key = `${position?.['token_id']}:${token.id}`
        owed.set(key, (owed.get(key) ?? 0n) + BigInt(amount.raw))
      }
      return owed
    }
    const [owedNow, owedThen] = [sumOwed(now), sumOwed(then)]
    const prices = new Map(now.map(({ token, price_usd }) => [token.id, { price: Number(price_usd), token }]))
    let expected = 0
    for (const [key, raw] of owedNow) {
      const { price = 0, token } = prices.get(key.split(':')[1] as Address) ?? {}
      expected += (Number(raw - (owedThen.get(key) ?? 0n)) / 10 ** (token?.decimals ?? 0)) * price
    }
    expected *= DAY_SEC / Number(end - start)
    // The midnight is half a day to one and a half before, so that the same fees make a third of it or all.
    expect(expected).toBeGreaterThan(0.01)
    expect(data.earnings.incomplete).toEqual([])
    // What is owed is rounded down to a unit at either block: of USDC a millionth of a dollar, over half a day at least.
    expect(Math.abs(Number(data.earnings.per_day_usd) - expected)).toBeLessThan(owedNow.size * 4e-6)
  }, 60_000)

  test('to collect are what collecting pays of each position, closed ones too', async () => {
    const { portfolio } = setUp()
    const { data } = await ask(portfolio, [WALLETS.provider])
    const rows = await allRows(portfolio, `wallet=${WALLETS.provider}&kind=liquidity`)
    const collectable = rows.filter(({ position }) => position?.['part'] !== 'principal')
    const expected = collectable.reduce((sum, { value_usd }) => sum + e6(value_usd ?? '0.000000'), 0n)
    expect(expected).toBeGreaterThan(0n)
    const difference = Number(e6(data.earnings.to_collect_usd ?? '') - expected)
    expect(Math.abs(difference)).toBeLessThanOrEqual(HALF_E6 * (collectable.length + 1))
  })
})

describe('to do', () => {
  test('names the positions out of range, and those that were closed and not collected', async () => {
    const { client, portfolio } = setUp()
    const { data } = await ask(portfolio, [WALLETS.provider])
    const [list] = createFamilyRoutes(UNISWAP_V3, { rows: [[1, { uniswapV3: [DEPLOYMENT] }]], clients: [client] })
    if (list === undefined) throw new Error('Expected the list of positions')
    const query = `wallet=${WALLETS.provider}&limit=25`
    const [active, closed] = await Promise.all(
      ['', '&status=inactive'].map(async (status) => {
        const { reply } = await callRoute(list, { query: `${query}${status}` })
        return reply.data as readonly {
          readonly token_id: string
          readonly position_state: {
            readonly tickLower: string
            readonly tickUpper: string
            readonly pool: { readonly tick: string }
          }
        }[]
      }),
    )
    const outside = (active ?? []).filter(({ position_state: { tickLower, tickUpper, pool } }) => {
      return Number(pool.tick) < Number(tickLower) || Number(pool.tick) >= Number(tickUpper)
    })
    const listIds = (kind: string) =>
      data.to_do.filter((each) => each.kind === kind).map(({ subject }) => Number(subject['token_id']))
    expect(outside.length).toBeGreaterThan(1)
    expect(listIds('out_of_range').sort()).toEqual(outside.map(({ token_id }) => Number(token_id)).sort())
    const rows = await allRows(portfolio, `wallet=${WALLETS.provider}&kind=liquidity`)
    const owing = (closed ?? [])
      .map(({ token_id }) => token_id)
      .filter((id) => {
        return rows.some(({ position }) => position?.['token_id'] === id)
      })
    expect(owing.length).toBeGreaterThan(0)
    expect(listIds('uncollected')).toContain(Number(owing[0]))
    const first = data.to_do.find(({ kind, subject }) => kind === 'uncollected' && subject['token_id'] === owing[0])
    const worth = rows
      .filter(({ position }) => position?.['token_id'] === owing[0])
      .reduce((sum, { value_usd }) => sum + e6(value_usd ?? '0.000000'), 0n)
    expect(Math.abs(Number(e6(first?.usd ?? '') - worth))).toBeLessThanOrEqual(2)
    expect(first?.text).toMatch(/^\w+\/\w+ #\d+ of Uniswap V3 has no liquidity any more, but .+ was not collected\.$/)
    expect(first?.subject).toEqual({ manager_address: expect.any(String), token_id: String(owing[0]) })
  })

  test('names debts that can be liquidated, and those near it, with the debt', async () => {
    const wallets = Object.values(AAVE_WALLETS)
    let near = 0
    let liquidatable = 0
    for (const wallet of wallets) {
      const { data } = await ask(setUp().portfolio, [wallet])
      for (const { positions } of await askLending(wallet)) {
        for (const { marketId, healthFactor, liquidatable_because, totalDebtUSD } of positions) {
          const found = data.to_do.filter(({ subject }) => subject['market_id'] === marketId && subject !== undefined)
          const risks = found.filter(({ kind }) => ['liquidatable', 'near_liquidation'].includes(kind))
          const expected =
            liquidatable_because.length > 0
              ? ['liquidatable']
              : healthFactor !== 'MAX' && Number(healthFactor) < 1.25
                ? ['near_liquidation']
                : []
          expect(risks.map(({ kind }) => kind)).toEqual(expected)
          if (expected.length === 0) continue
          if (expected[0] === 'liquidatable') liquidatable++
          else near++
          // Aave rounds each debt to a hundred-millionth of a dollar.
          expect(Math.abs(Number(e6(risks[0]?.usd ?? '') - e6(totalDebtUSD)))).toBeLessThanOrEqual(2)
          expect(risks[0]?.text).toContain(`${marketId}`)
          expect(risks[0]?.text).toContain(healthFactor)
        }
      }
    }
    expect({ near: near > 0, liquidatable: liquidatable > 0 }).toEqual({ near: true, liquidatable: true })
  }, 60_000)

  test('begins with the most urgent', async () => {
    const { data } = await ask(setUp().portfolio, [WALLETS.provider, AAVE_WALLETS.borrower, AAVE_WALLETS.liquidated])
    const order = ['liquidatable', 'near_liquidation', 'due', 'out_of_range', 'uncollected', 'blocked', 'unreadable']
    const ranks = data.to_do.map(({ kind }) => order.indexOf(kind))
    expect(ranks.length).toBeGreaterThan(2)
    expect(ranks).toEqual(ranks.toSorted())
  })
})

test.each([
  ['none', '', 'MISSING_PARAMETER'],
  ['an empty one', 'wallet=', 'MISSING_PARAMETER'],
  [
    'six',
    `wallet=${[1, 2, 3, 4, 5, 6].map((each) => toWalletAddress(`overview ${each}`)).join()}`,
    'INVALID_PARAMETER',
  ],
  [
    'a wrong checksum among them',
    `wallet=${WALLETS.provider},0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB4F`,
    'INVALID_PARAMETER',
  ],
])('wallets are refused: %s', async (_, query, code) => {
  const { portfolio, requests } = setUp()
  const failure = await portfolio.overview(query).then(
    () => undefined,
    (error: unknown) => toRouteFailure(error, portfolio.routeAt('balance')),
  )
  expect(failure).toMatchObject({ status: 400, code })
  expect(requests).toEqual([])
})

function toUsd(unitsE6: bigint): string {
  const digits = String(unitsE6 < 0n ? -unitsE6 : unitsE6).padStart(7, '0')
  return `${unitsE6 < 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`
}

test('a chain that began a few days ago has snapshots and the change of a day, and no change of 30 days', async () => {
  const young = await startDevnet({ ageSec: 4 * DAY_SEC })
  const fresh = await testDatabase()
  try {
    const filledSec = Number((await young.client.getBlock()).timestamp)
    // A day behind the clock of the database, which decides with the process' own what is old enough to be final.
    const nowSec = filledSec + 3 * DAY_SEC
    await young.rpc.call('evm_setNextBlockTimestamp', nowSec)
    await young.rpc.call('evm_mine')
    const { client } = countedClient(createDevnetChain(young))
    const options = { db: fresh.db, clock: { ...createHurriedClock(), now: () => nowSec * 1_000 } }
    const portfolio = createPortfolio([client], { ...options, deployments: { aaveV3: [] } })
    const askUntilRead = async (): Promise<WireOverview> => {
      const { data } = await ask(portfolio, [WALLETS.provider])
      return data.unread.some(({ why }) => why.endsWith('ask again')) ? await askUntilRead() : data
    }
    const askSnapshots = async (): Promise<readonly number[]> => {
      const query = `wallet=${WALLETS.provider}&chain_id=1&max_snapshots=30`
      const { reply } = await portfolio.snapshots(query).catch((error: unknown) => {
        if (!(error instanceof PendingError)) throw error
        return { reply: undefined }
      })
      if (reply === undefined) return await askSnapshots()
      return (reply.data as readonly { readonly timestamp: number }[]).map(({ timestamp }) => timestamp)
    }
    const midnights = [0, 1, 2].map((day) => (Math.ceil(filledSec / DAY_SEC) + day) * DAY_SEC)
    // A midnight while the wallets were filled may be there too.
    expect((await askSnapshots()).filter((timestamp) => timestamp >= filledSec)).toEqual(midnights)

    const { worth, unread } = await askUntilRead()
    expect([worth['change_24h_usd'], worth['change_30d_usd']]).toEqual([expect.any(String), null])
    expect(unread).toEqual([{ chain_id: 1, what: 'change_30d_usd', why: expect.stringContaining('had not begun') }])
  } finally {
    await young.stop()
    await fresh.close()
  }
}, 60_000)
