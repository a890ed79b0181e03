import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { KAMINO } from '../../../../src/family/kamino/mod.ts'
import { callRoute, toRouteFailure } from '../../../support/call_route.ts'
import { caseCount } from '../../../support/cases.ts'
import { kaminoStage } from '../../../support/family/kamino/stage.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import {
  KLEND,
  marketBytes,
  obligationBytes,
  reserveBytes,
  SCOPE,
  type ServedAccounts,
  SF,
  toFakeAddress,
  toServedAccount,
} from '../../../support/kamino.ts'
import { FEED, MARKET, OBLIGATION, SLOT, SOL, scene, USDC, WALLET } from '../../../support/kamino_scene.ts'
import { type Fault, startSolanaDouble } from '../../../support/solana.ts'

const ONE_SOL = 10n ** 9n
const ONE_USDC = 10n ** 6n
const GROUPS = [{ id: 1, maxLtvPct: 90, liquidationThresholdPct: 93 }]

const double = startSolanaDouble({ slot: SLOT })
let stage = kaminoStage([double])
afterAll(() => double.stop(), 60_000)

beforeEach(() => {
  double.accounts = scene()
  double.faults.length = 0
  double.always = undefined
  double.seen.length = 0
  double.ofMethod.clear()
  double.slot = SLOT
  double.slotsPerRead = 0
  double.clockSec = undefined
  stage = kaminoStage([double])
})

afterEach(() => expect(stage.leaks()).toEqual([]))

interface Listed {
  readonly positions: readonly Readonly<Record<string, unknown>>[]
  readonly calculations: readonly Readonly<Record<string, unknown>>[]
}

function getData({ reply, message }: Awaited<ReturnType<typeof stage.list>>): readonly Listed[] {
  if (reply === undefined) throw new Error(message)
  return reply.data as readonly Listed[]
}

describe('GET /v1/lending/kamino', () => {
  test('answers the obligation of the scene, figure by figure', async () => {
    const { reply, credits } = await stage.list({ wallet: WALLET })
    expect(credits).toBe(15)
    expect(reply?.asOf).toMatchObject([{ chainId: 101, blockNumber: BigInt(SLOT) }])
    expect(reply).toMatchObject({
      data: [
        {
          chain_id: 101,
          wallet: WALLET,
          positions: [
            {
              marketId: MARKET,
              // The scene's market is in no table.
              marketKnown: false,
              obligation_address: OBLIGATION,
              marketName: 'Main',
              healthFactor: '2.0000',
              totalCollateralUSD: '15000.000000',
              totalDebtUSD: '6000.000000',
              netWorthUSD: '9000.000000',
              suppliedAssets: [
                { symbol: 'SOL', amountSuppliedUSD: '15000.000000', isCollateral: true, limited_by: 'health' },
              ],
              borrowedAssets: [{ symbol: 'USDC', amountBorrowedUSD: '6000.000000' }],
            },
          ],
          calculations: [{ targetHealthFactor: 1.5, healthFactor: '2.0000', safeBorrowAmountUSD: '2000.000000' }],
        },
      ],
      coverage: { complete: true, by: 'program_accounts' },
      pagination: { page: 1, limit: 10, total: 1, next_page: null, prev_page: null },
    })
  })

  test('counts debt once, whatever its borrow factor, and no collateral without a threshold', async () => {
    const usdc = { borrowFactorPct: 150n }
    const deposits = [SOL, USDC].map((reserve) => ({ reserve, collateralAmount: 10n * ONE_SOL }))
    double.accounts = scene({ usdc: { ...usdc, liquidationThresholdPct: 0, maxLtvPct: 0 }, deposits })
    const [entry] = getData(await stage.list({ wallet: WALLET }))
    expect(entry?.positions[0]).toMatchObject({
      totalDebtUSD: '6000.000000',
      healthFactor: '0.1333',
      suppliedAssets: [{ isCollateral: true }, { isCollateral: false }],
    })
  })

  test('is empty and costs nothing for a wallet without a deposit or debt', async () => {
    double.accounts = { ...scene({ deposits: [], borrows: [] }) }
    for (const wallet of [WALLET, toFakeAddress('nobody')]) {
      const { reply, credits } = await stage.list({ wallet })
      expect([reply?.data, credits]).toEqual([[], 0])
      expect(reply).toMatchObject({ pagination: { total: 0 }, coverage: { complete: true } })
    }
  })

  test('says how obligations were found if no endpoint searches', async () => {
    double.ofMethod.set('getProgramAccounts', { kind: 'http', status: 403 })
    const { reply, credits } = await stage.list({ wallet: WALLET })
    expect([reply?.data, credits]).toEqual([[], 0])
    // None of the built-in markets is on this chain.
    expect(reply).toMatchObject({ coverage: { complete: false, by: 'derived_addresses', markets: 0 } })
  })

  test('has its second page empty', async () => {
    const { reply, credits } = await stage.list({ wallet: WALLET, page: 2, limit: 1 })
    expect([reply?.data, credits]).toEqual([[], 15])
    expect(reply).toMatchObject({ pagination: { total: 1 } })
  })

  test.each([
    ['without a wallet', {}, 'MISSING_PARAMETER'],
    ['for an EVM address', { wallet: '0x0000000000000000000000000000000000000001' }, 'INVALID_PARAMETER'],
    ['of a past block', { wallet: WALLET, at_block: 1 }, 'INVALID_PARAMETER'],
    ['of a past time', { wallet: WALLET, at_time: '2025-01-01' }, 'INVALID_PARAMETER'],
    ['of another chain', { wallet: WALLET, chain_id: 1 }, 'INVALID_PARAMETER'],
    ['of a market that is no address', { wallet: WALLET, market_address: 'main' }, 'INVALID_PARAMETER'],
    ['at a target of 1', { wallet: WALLET, target_health_factor: 1 }, 'INVALID_PARAMETER'],
  ])('%s is refused before anything is read', async (_, query, code) => {
    expect(await stage.list(query)).toMatchObject({ status: 400, code })
    expect(double.seen).toEqual([])
  })

  test('fails with API_ENDPOINT_NOT_CONFIGURED without Solana', async () => {
    const [route] = createFamilyRoutes(KAMINO, {})
    if (route === undefined) throw new Error('There is no route')
    const failure = await callRoute(route, { query: `wallet=${WALLET}` }).catch((error) => toRouteFailure(error, route))
    expect(failure).toMatchObject({ status: 500, code: 'API_ENDPOINT_NOT_CONFIGURED' })
  })
})

function picked(from: Readonly<Record<string, unknown>>, names: readonly string[]) {
  return Object.fromEntries(names.map((name) => [name, from[name]]))
}

/** Obligations that differ in all inputs of figures. */
function varied(index: number): ServedAccounts[string] {
  const amount = (unit: bigint) => unit * BigInt(1 + ((index * 7_919) % 1_000)) + BigInt(index)
  const deposits = [{ reserve: index % 3 === 0 ? USDC : SOL, collateralAmount: amount(ONE_SOL) }]
  const borrows = [{ reserve: index % 2 === 0 ? USDC : SOL, amountSf: amount(ONE_USDC) * SF }]
  return toServedAccount(
    obligationBytes({
      market: MARKET,
      owner: WALLET,
      deposits:
        index % 5 === 0 ? [...deposits, { reserve: index % 3 === 0 ? SOL : USDC, collateralAmount: 77n }] : deposits,
      borrows: index % 7 === 0 ? [] : borrows,
      elevationGroup: index % 4 === 0 ? 1 : 0,
      lastUpdateSlot: BigInt(SLOT),
    }),
  )
}

test('the list has the digits of yield and risk of each obligation at the same slot', async () => {
  const COUNT = caseCount(60)
  const addresses = Array.from({ length: COUNT }, (_, index) => toFakeAddress(`obligation ${index}`))
  const { [OBLIGATION]: _, ...rest } = scene({ market: { elevationGroups: GROUPS }, usdc: { borrowFactorPct: 130n } })
  double.accounts = { ...rest, ...Object.fromEntries(addresses.map((address, index) => [address, varied(index)])) }
  double.slot = SLOT + 54_321
  const target_health_factor = '2.25'
  const [entry] = getData(await stage.list({ wallet: WALLET, target_health_factor }))
  expect(entry?.positions.map((each) => each['obligation_address'])).toEqual(addresses.sort())
  for (const [index, position] of (entry?.positions ?? []).entries()) {
    const calculated = entry?.calculations[index]
    const query = { wallet: WALLET, market_address: MARKET, target_health_factor }
    const address = String(position['obligation_address'])
    const [risk, yields] = await Promise.all([
      stage.single('risk', address, query),
      stage.single('yield', address, query),
    ])
    const [r, y] = [risk.reply?.data, yields.reply?.data] as Record<string, unknown>[]
    const metrics = r?.['risk_metrics'] as Record<string, unknown>
    expect(position['healthFactor']).toBe(r?.['health_factor'])
    expect(calculated).toEqual({
      targetHealthFactor: 2.25,
      healthFactor: r?.['health_factor'],
      dailySupplyInterestUSD: y?.['daily_supply_interest_usd'],
      dailyBorrowInterestUSD: y?.['daily_borrow_interest_usd'],
      netDailyInterestUSD: y?.['net_daily_interest_usd'],
      safeBorrowAmountUSD: r?.['safe_borrow_amount_usd'],
      safeWithdrawAmountUSD: r?.['safe_withdraw_amount_usd'],
      currentLtvPercentage: r?.['current_ltv_percentage'],
      netAPY: y?.['net_apy'],
      positionLeverage: y?.['position_leverage'],
      weightedSupplyAPY: y?.['weighted_supply_apy'],
      weightedBorrowAPY: y?.['weighted_borrow_apy'],
      borrowUtilizationRate: metrics['borrowUtilization'],
    })
  }
  const { reply } = await stage.batch({ wallets: [WALLET], target_health_factor: 2.25 })
  expect(reply?.data).toEqual([
    {
      chain_id: 101,
      wallet: WALLET,
      positions: entry?.positions.map((each) =>
        picked(each, ['marketId', 'marketKnown', 'obligation_address', 'healthFactor', 'netWorthUSD']),
      ),
      calculations: entry?.calculations.map((each) => picked(each, ['healthFactor', 'netAPY', 'targetHealthFactor'])),
    },
  ])
})

describe('a wrong answer of an endpoint is a 502 that names no endpoint', () => {
  const truncateAccount = (address: string): ServedAccounts => {
    const { owner = KLEND, data = new Uint8Array() } = scene()[address] ?? {}
    return { ...scene(), [address]: { owner, data: data.subarray(0, -1) } }
  }

  test.each([
    ['an obligation a byte short', () => truncateAccount(OBLIGATION)],
    ['a reserve a byte short', () => truncateAccount(SOL)],
    ['a market a byte short', () => truncateAccount(MARKET)],
    [
      'a feed of another program',
      () => ({ ...scene({ sol: { priceSf: 0n } }), [FEED]: toServedAccount(scene()[FEED]?.data ?? new Uint8Array()) }),
    ],
    [
      'a reserve of another program',
      () => ({ ...scene(), [SOL]: toServedAccount(scene()[SOL]?.data ?? new Uint8Array(), SCOPE) }),
    ],
    ['a market that is gone', () => ({ ...scene(), [MARKET]: toServedAccount(new Uint8Array(), SCOPE) })],
    [
      'a reserve of another market',
      () => ({ ...scene(), [SOL]: toServedAccount(reserveBytes({ market: toFakeAddress('x') })) }),
    ],
    ['a refresh in the future', () => scene({}, { slot: SLOT + 1 })],
  ])('%s', async (_, accounts) => {
    double.accounts = accounts()
    const listed = await stage.list({ wallet: WALLET })
    // A search finds nothing that has another size.
    if (listed.status === 200) expect(listed.reply?.data).toEqual([])
    else expect(listed).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
    const single = await stage.single('risk', OBLIGATION, { wallet: WALLET, market_address: MARKET })
    expect(single).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
  })

  const faults: readonly (readonly [string, Fault])[] = [
    ['a limited rate', { kind: 'http', status: 429 }],
    ['an error', { kind: 'rpc', code: -32603 }],
    ['a page', { kind: 'body', text: '<html>upstream text</html>' }],
    ['a cut answer', { kind: 'cut' }],
    ['an endless answer', { kind: 'endless' }],
    ['no list', { kind: 'reply', change: (reply) => ({ ...reply, result: { ...reply.result, value: {} } }) }],
    ['too few accounts', { kind: 'reply', change: (reply) => ({ ...reply, result: { ...reply.result, value: [] } }) }],
  ]
  test.each(faults)(
    '%s, of every request',
    async (_, fault) => {
      double.always = fault
      expect(await stage.list({ wallet: WALLET })).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
    },
    60_000,
  )

  test.each(faults.filter(([name]) => name !== 'too few accounts'))('%s, of searches alone', async (_, fault) => {
    double.ofMethod.set('getProgramAccounts', fault)
    expect(await stage.list({ wallet: WALLET })).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
  })

  test.each([65, -61])('a clock %i seconds off', async (offSec) => {
    double.clockSec = Math.floor(Date.now() / 1_000) + offSec
    expect(await stage.list({ wallet: WALLET })).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
  })

  test('a search with accounts of another owner, another program or size', async () => {
    const change = (row: object) => ({
      kind: 'reply' as const,
      change: (reply: { readonly result: { readonly value: readonly unknown[] } }) => ({
        ...reply,
        result: { ...reply.result, value: [{ ...(reply.result.value[0] as object), ...row }] },
      }),
    })
    const createAccount = (data: Uint8Array, owner = KLEND) => ({
      account: { data: [Buffer.from(data).toString('base64'), 'base64'], owner, lamports: 1 },
    })
    const own = scene()[OBLIGATION]?.data ?? new Uint8Array()
    const rows = [
      createAccount(obligationBytes({ market: MARKET, owner: toFakeAddress('another') })),
      createAccount(own, SCOPE),
      createAccount(own.subarray(1)),
      createAccount(marketBytes()),
    ]
    for (const row of rows) {
      double.ofMethod.set('getProgramAccounts', change(row) as Fault)
      expect(await kaminoStage([double]).list({ wallet: WALLET })).toMatchObject({ status: 502 })
    }
  })

  test('does not matter while another endpoint answers correctly', async () => {
    const second = startSolanaDouble({ slot: SLOT, accounts: scene() })
    double.accounts = truncateAccount(SOL)
    const { reply } = await kaminoStage([double, second]).list({ wallet: WALLET })
    expect(reply).toMatchObject({ data: [{ wallet: WALLET }] })
    await second.stop()
  })
})

test('more than 8 MB of obligations are a 502 that says so: no failure of the endpoint, and no fallback to derivation', async () => {
  double.ofMethod.set('getProgramAccounts', {
    kind: 'reply',
    change: (reply) => {
      const { context, value } = reply.result
      return { ...reply, result: { context, value: Array.from({ length: 2_000 }, () => value[0]) } }
    },
  })
  expect(await stage.list({ wallet: WALLET })).toMatchObject({
    status: 502,
    code: 'UPSTREAM_ERROR',
    message: 'Cannot read Solana: the accounts that were searched for are too many to be read',
  })
  expect(double.seen.map(({ method }) => method)).toEqual(['getProgramAccounts'])
  expect(stage.solana.report().map(({ state }) => state)).toEqual(['ready'])
})
