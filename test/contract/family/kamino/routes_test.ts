import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createSolanaClient, SOLANA_CHAIN_ID } from '../../../../src/chain/solana/client.ts'
import { KAMINO } from '../../../../src/family/kamino/mod.ts'
import type { KaminoProgram } from '../../../../src/finance/price/table/kamino.ts'
import type { Reply, Route } from '../../../../src/http/route/route.ts'
import { type Clock, systemClock } from '../../../../src/lib/clock.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { callRoute, toRouteFailure } from '../../../support/call_route.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import {
  marketBytes,
  obligationBytes,
  reserveBytes,
  SCOPE,
  type ServedAccounts,
  SF,
  scopeBytes,
  sf,
  toFakeAddress,
  toServedAccount,
} from '../../../support/kamino.ts'
import {
  FEED,
  MARKET,
  MAX_PRICE_AGE_SEC,
  OBLIGATION,
  type SceneChanges,
  SLOT,
  SOL,
  scene,
  USDC,
  WALLET,
} from '../../../support/kamino_scene.ts'
import { startSolanaDouble } from '../../../support/solana.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const double = startSolanaDouble()
/** Duration of a slot, after which cached reads expire. */
const SLOT_MS = 400
let lines: string[] = []
let passedMs = 0
const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs }
let family = newFamily()

function newFamily(options: Partial<KaminoProgram> & { readonly rpcUrls?: readonly string[] } = {}) {
  const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() })
  const { rpcUrls = [double.url], ...program } = options
  const solana = createSolanaClient({
    rpcUrls,
    maxSlotAgeSec: 60,
    slotMs: SLOT_MS,
    clock,
    log,
    random: () => 0,
  })
  const row = { klendProgram: program.programId, scopeProgram: program.scopeProgramId }
  return { routes: createFamilyRoutes(KAMINO, { solana, rows: [[SOLANA_CHAIN_ID, row]], clock, log }) }
}

beforeEach(() => {
  lines = []
  double.accounts = scene()
  double.slot = SLOT
  double.clockSec = undefined
  double.slotsPerRead = 0
  double.always = undefined
  double.faults.length = 0
  double.seen.length = 0
  family = newFamily()
})

afterEach(() => {
  expect(lines.join()).not.toMatch(/solana-secret|127\.0\.0\.1|upstream text/)
})

afterAll(() => double.stop(), 60_000)

function findRoute(figures: 'yield' | 'risk', routes: readonly Route[] = family.routes): Route {
  const found = routes.find(({ path }) => path === `/v1/lending/kamino/position/:obligation_address/${figures}`)
  if (found === undefined) throw new Error(`Expected a route for ${figures}`)
  return found
}

interface Answer {
  readonly status: number
  readonly code?: string
  readonly message?: string
  readonly reply?: Reply
  readonly credits?: number
}

/** Answers a route as the app does, from the parameters to the body. */
async function ask(
  figures: 'yield' | 'risk',
  query: Readonly<Record<string, string>> = {},
  routes?: readonly Route[],
): Promise<Answer> {
  const { obligation_address = OBLIGATION, ...rest } = query
  const definition = findRoute(figures, routes)
  const parameters = new URLSearchParams({ wallet: WALLET, market_address: MARKET, ...rest }).toString()
  try {
    const { reply, credits } = await callRoute(definition, { params: { obligation_address }, query: parameters })
    return { status: 200, reply, credits }
  } catch (error) {
    const { status, code, message } = toRouteFailure(error, definition)
    expect(message).not.toMatch(/solana-secret|127\.0\.0\.1|upstream text/)
    return { status, code, message }
  }
}

async function figures(kind: 'yield' | 'risk', changes: SceneChanges = {}): Promise<Record<string, unknown>> {
  double.accounts = scene(changes)
  passedMs += SLOT_MS
  const { reply, message } = await ask(kind)
  if (reply === undefined) throw new Error(message)
  return reply.data as Record<string, unknown>
}

describe('GET …/risk', () => {
  test('answers the figures of the scene', async () => {
    expect(await ask('risk')).toEqual({
      status: 200,
      credits: 8,
      reply: {
        data: {
          chain_id: 101,
          wallet: WALLET,
          market_address: MARKET,
          obligation_address: OBLIGATION,
          health_factor: '2.0000',
          liquidatable_because: [],
          due_at: null,
          target_health_factor: '1.5',
          current_ltv_percentage: '40.0000',
          safe_borrow_amount_usd: '2000.000000',
          safe_withdraw_amount_usd: '3750.000000',
          risk_metrics: {
            maxBorrowCapacityUSD: '11250.000000',
            borrowUtilization: '0.53333333',
            liquidationThreshold: '0.80000000',
            currentLtv: '0.40000000',
          },
        },
        asOf: [{ chainId: 101, blockNumber: BigInt(SLOT) }],
      },
    })
  })

  test('uses the requested target health factor', async () => {
    const { reply } = await ask('risk', { target_health_factor: '1.0010' })
    expect(reply?.data).toMatchObject({
      target_health_factor: '1.001',
      safe_borrow_amount_usd: '5250.000000',
      safe_withdraw_amount_usd: '7000.000000',
    })
  })

  test('is MAX without debt, and allows to withdraw everything', async () => {
    expect(await figures('risk', { borrows: [] })).toMatchObject({
      health_factor: 'MAX',
      current_ltv_percentage: '0.0000',
      safe_borrow_amount_usd: '8000.000000',
      safe_withdraw_amount_usd: '15000.000000',
      risk_metrics: { borrowUtilization: '0.00000000', currentLtv: '0.00000000', liquidationThreshold: '0.80000000' },
    })
  })

  test('of debt with nothing under it is 0 and MAX, never a broken number', async () => {
    expect(await figures('risk', { deposits: [] })).toMatchObject({
      health_factor: '0.0000',
      current_ltv_percentage: '0.0000',
      safe_borrow_amount_usd: '0.000000',
      safe_withdraw_amount_usd: '0.000000',
      risk_metrics: {
        maxBorrowCapacityUSD: '0.000000',
        borrowUtilization: 'MAX',
        currentLtv: '0.00000000',
        liquidationThreshold: '0.00000000',
      },
    })
  })

  test('of an empty obligation is nothing at no risk', async () => {
    expect(await figures('risk', { deposits: [], borrows: [] })).toMatchObject({
      health_factor: 'MAX',
      risk_metrics: { borrowUtilization: '0.00000000' },
    })
  })

  test('rounds the health factor down', async () => {
    const borrows = [{ reserve: USDC, amountSf: 6_000_000_001n * SF }]
    expect(await figures('risk', { borrows })).toMatchObject({ health_factor: '1.9999' })
    const close = [{ reserve: USDC, amountSf: 12_000_000_001n * SF }]
    expect(await figures('risk', { borrows: close })).toMatchObject({ health_factor: '0.9999' })
  })

  test('finds a debt behind free slots', async () => {
    const borrows = [{ reserve: USDC, amountSf: 6_000_000_000n * SF, slot: 4 }]
    const deposits = [{ reserve: SOL, collateralAmount: 100_000_000_000n, slot: 7 }]
    expect(await figures('risk', { borrows, deposits })).toMatchObject({ health_factor: '2.0000' })
  })
})

describe('GET …/yield', () => {
  /** Yearly yield of a yearly rate, over slots of 400 ms. */
  const apy = (apr: number) => Math.expm1(63_072_000 * Math.log1p((apr * 1.25) / 63_072_000))
  const [earned, paid] = [15_000 * apy(0.025), 6_000 * apy(0.1)]

  test('answers the figures of the scene', async () => {
    const answer = await ask('yield', { target_health_factor: '3' })
    expect(answer).toMatchObject({
      status: 200,
      credits: 8,
      reply: { asOf: [{ chainId: 101, blockNumber: BigInt(SLOT) }] },
    })
    expect(answer.reply?.data).toEqual({
      chain_id: 101,
      wallet: WALLET,
      market_address: MARKET,
      obligation_address: OBLIGATION,
      daily_supply_interest_usd: (earned / 365).toFixed(6),
      daily_borrow_interest_usd: (paid / 365).toFixed(6),
      net_daily_interest_usd: ((earned - paid) / 365).toFixed(6),
      net_apy: ((earned - paid) / 9_000).toFixed(8),
      position_leverage: '1.66666667',
      weighted_supply_apy: apy(0.025).toFixed(8),
      weighted_borrow_apy: apy(0.1).toFixed(8),
      projected_earnings: {
        daily: ((earned - paid) / 365).toFixed(6),
        weekly: (((earned - paid) / 365) * 7).toFixed(6),
        monthly: (((earned - paid) / 365) * 30).toFixed(6),
        yearly: (earned - paid).toFixed(6),
      },
      slot_ms: 400,
      incomplete: [],
    })
  })

  test('without debt is the yield of suppliers, at leverage 1', async () => {
    expect(await figures('yield', { borrows: [] })).toMatchObject({
      daily_borrow_interest_usd: '0.000000',
      net_apy: apy(0.025).toFixed(8),
      weighted_borrow_apy: '0.00000000',
      position_leverage: '1.00000000',
    })
  })

  test('of an insolvent obligation has net yield 0 and leverage MAX', async () => {
    expect(await figures('yield', { borrows: [{ reserve: USDC, amountSf: 20_000_000_000n * SF }] })).toMatchObject({
      net_apy: '0.00000000',
      position_leverage: 'MAX',
    })
  })

  test('of an empty obligation is nothing', async () => {
    expect(await figures('yield', { deposits: [], borrows: [] })).toMatchObject({
      daily_supply_interest_usd: '0.000000',
      net_apy: '0.00000000',
      position_leverage: '1.00000000',
      weighted_supply_apy: '0.00000000',
    })
  })
})

describe('prices', () => {
  test('are the live ones, and the cached one if the feed is gone', async () => {
    double.accounts = { ...scene(), [FEED]: toServedAccount(new Uint8Array(3)) }
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '1.8666' })
    expect(lines.some((line) => line.includes('Used the cached price of a Kamino reserve'))).toBe(true)
  })

  test.each([
    ['an absent feed', undefined],
    ['a feed of another kind', toServedAccount(reserveBytes({ market: MARKET }))],
    ['a feed without the entry', toServedAccount(scopeBytes([{ index: 13, value: 1n, exponent: 0n }]), SCOPE)],
  ])('fall back with %s', async (_, feed) => {
    const { [FEED]: __, ...rest } = scene()
    double.accounts = feed === undefined ? rest : { ...rest, [FEED]: feed }
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '1.8666' })
  })

  test('are cached ones if the reserve never had a feed, without a warning', async () => {
    double.accounts = scene({ sol: { scopeChain: [65_535] } })
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '1.8666' })
    expect(lines).toEqual([])
  })

  test('are a 502 if both are missing, never a zero', async () => {
    double.accounts = scene({ sol: { scopeChain: [65_535], priceSf: 0n } })
    expect(await ask('risk')).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
  })

  test('are chained from several entries', async () => {
    const prices = [
      { index: 50, value: 75n, exponent: 0n },
      { index: 511, value: 2_000n, exponent: 3n },
    ]
    expect(await figures('risk', { sol: { scopeChain: [50, 511] }, prices })).toMatchObject({ health_factor: '2.0000' })
  })

  test('of tokens that the obligation does not hold are not needed', async () => {
    double.accounts = scene({
      usdc: { scopeChain: [65_535], priceSf: 0n },
      borrows: [{ reserve: USDC, amountSf: 0n }],
    })
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: 'MAX' })
  })
})

describe('a price that the program would refuse', () => {
  const now = () => BigInt(Math.floor(Date.now() / 1000))
  const MISSING = { status: 502, code: 'UPSTREAM_ERROR' }
  const other = toFakeAddress('another program')
  type Cached = SceneChanges['sol'] & { readonly aheadSec?: bigint }
  const feed = (timestampSec: bigint) =>
    scopeBytes([
      { index: 7, value: 300n, exponent: 0n, timestampSec },
      { index: 13, value: 1n, exponent: 0n, timestampSec: now() },
    ])

  test.each([
    ['of 1970', () => 1n],
    ['of a moment longer ago than the reserve allows', () => now() - MAX_PRICE_AGE_SEC - 5n],
    ['of the future', () => now() + 120n],
  ])('%s does not count live: the cached one does', async (_, timestampSec) => {
    double.accounts = { ...scene(), [FEED]: toServedAccount(feed(timestampSec()), SCOPE) }
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '1.8666' })
  })

  test.each([
    ['as old as the reserve allows', () => now() - MAX_PRICE_AGE_SEC + 5n],
    ['a little ahead of a clock that lags', () => now() + 20n],
  ])('is not one that is %s', async (_, timestampSec) => {
    double.accounts = { ...scene(), [FEED]: toServedAccount(feed(timestampSec()), SCOPE) }
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '4.0000' })
  })

  test('is judged by the oldest entry of its chain', async () => {
    const prices = [
      { index: 50, value: 300n, exponent: 0n },
      { index: 51, value: 1n, exponent: 0n, timestampSec: now() - MAX_PRICE_AGE_SEC - 5n },
    ]
    double.accounts = scene({ sol: { scopeChain: [50, 51] }, prices })
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '1.8666' })
  })

  test('is judged by the cluster’s clock, not by ours', async () => {
    double.clockSec = Number(now()) - 40
    double.accounts = scene({}, { pricedAtSec: now() - MAX_PRICE_AGE_SEC - 20n })
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '2.0000' })
  })

  test('in a feed of another program does not count', async () => {
    double.accounts = { ...scene(), [FEED]: toServedAccount(feed(now()), other) }
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '1.8666' })
    const { routes } = newFamily({ scopeProgramId: other })
    expect((await ask('risk', {}, routes)).reply?.data).toMatchObject({ health_factor: '4.0000' })
  })

  test('is a 502 if live and cached are both too old', async () => {
    double.accounts = scene({}, { pricedAtSec: now() - MAX_PRICE_AGE_SEC - 5n })
    expect(await ask('risk')).toMatchObject(MISSING)
  })

  test.each([
    ['is as old as the reserve allows', { aheadSec: -MAX_PRICE_AGE_SEC }],
    ['is of the future', { aheadSec: 120n }],
    ['was not loaded', { priceStatus: 0b11_1110 }],
    ['was too old already', { priceStatus: 0b11_1101 }],
    ['was out of bounds', { priceStatus: 0b10_1111 }],
    ['was not to be used', { priceStatus: 0b01_1111 }],
    ['is out of bounds now', { priceBounds: { lower: 141n, upper: 0n, exponent: 0n } }],
  ])('cached, which %s, is a 502', async (_, { aheadSec = 0n, ...sol }: Cached) => {
    double.accounts = scene({ sol: { scopeChain: [65_535], ...sol, priceTimestampSec: now() + aheadSec } })
    expect(await ask('risk')).toMatchObject(MISSING)
  })

  test('cached, that only moved fast, counts: the program liquidates at it', async () => {
    double.accounts = scene({ sol: { scopeChain: [65_535], priceStatus: 0b11_0011 } })
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '1.8666' })
  })

  test.each([
    ['below the lowest that its market takes for possible', { lower: 1_501n, upper: 0n, exponent: 1n }, 502],
    ['above the highest', { lower: 0n, upper: 1_499n, exponent: 1n }, 502],
    ['with bounds that cannot be read', { lower: 1n, upper: 0n, exponent: 37n }, 502],
    ['on both bounds', { lower: 1_500n, upper: 1_500n, exponent: 1n }, 200],
    ['without bounds', { lower: 0n, upper: 0n, exponent: 99n }, 200],
  ])('live, %s, falls back to nothing', async (_, priceBounds, status) => {
    double.accounts = scene({ sol: { priceBounds } })
    expect((await ask('risk')).status).toBe(status)
  })

  test.each([
    ['a reserve in emergency', { emergencyMode: 1 }],
    ['a reserve whose price is blocked', { blockPriceUsage: 1 }],
  ])('is that of %s', async (_, sol) => {
    double.accounts = scene({ sol })
    expect(await ask('risk')).toMatchObject(MISSING)
  })

  test('names the reserve that has none', async () => {
    double.accounts = scene({ usdc: { blockPriceUsage: 1 } })
    expect((await ask('risk')).message).toContain(USDC)
  })
})

describe('an endpoint whose slot is before a refresh that it returns', () => {
  const second = startSolanaDouble()
  afterAll(() => second.stop(), 60_000)

  test.each([
    ['a reserve', { [USDC]: scene({}, { slot: SLOT + 50_000_000 })[USDC] }],
    ['an obligation', { [OBLIGATION]: scene({}, { slot: SLOT + 1 })[OBLIGATION] }],
  ])('refreshed %s later does not count, and the next endpoint is asked', async (_, ahead) => {
    const accounts = { ...scene(), ...ahead } as ServedAccounts
    double.accounts = accounts
    expect(await ask('risk')).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
    Object.assign(second, { accounts: scene(), slot: SLOT })
    const { routes } = newFamily({ rpcUrls: [double.url, second.url] })
    expect((await ask('risk', {}, routes)).reply?.data).toMatchObject({ health_factor: '2.0000' })
    expect(lines.join()).toContain('was refreshed after its slot')
  })

  test('does not include one that returns a refresh at the slot itself', async () => {
    double.accounts = scene({}, { slot: SLOT })
    expect((await ask('risk')).status).toBe(200)
  })

  test('cannot be made of an account of another program', async () => {
    double.accounts = {
      ...scene(),
      [OBLIGATION]: toServedAccount(
        obligationBytes({ market: MARKET, owner: WALLET, lastUpdateSlot: 2n ** 60n }),
        SCOPE,
      ),
    }
    expect(await ask('risk')).toMatchObject({ status: 404 })
    expect(lines).toEqual([])
  })
})

describe('rewards that a market pays into a reserve', () => {
  const rewarded = {
    market: { rewardsMaxAprBps: 10_000 },
    sol: { rewardsPerUnit: 10n ** 9n, rewardsAvailable: 10n ** 15n },
  }

  test('raise the balance and the yield of suppliers from slot to slot', async () => {
    // A thousandth of the program's year: 10 SOL into 10,000, as much as the market allows.
    double.slot = SLOT + 63_072
    const [without, with_] = [await figures('risk'), await figures('risk', rewarded)]
    expect([without['health_factor'], with_['health_factor']]).toEqual(['1.9998', '2.0018'])
    double.slot = SLOT
    const [plain, paid] = [await figures('yield'), await figures('yield', rewarded)]
    // The market allows 100 % a year, over slots of 400 ms, on top of interest.
    const apy = (apr: number) => Math.expm1(63_072_000 * Math.log1p((apr * 1.25) / 63_072_000))
    expect([plain['weighted_supply_apy'], paid['weighted_supply_apy']]).toEqual([
      apy(0.025).toFixed(8),
      apy(1.025).toFixed(8),
    ])
  })
})

describe('reads', () => {
  const asked = () => double.seen.map(({ addresses }) => addresses.length)

  test('take three requests for a new obligation, and one for a cached one', async () => {
    expect((await ask('risk')).status).toBe(200)
    expect(asked()).toEqual([3, 5, 6])
    passedMs += SLOT_MS
    expect((await ask('yield')).status).toBe(200)
    expect(asked()).toEqual([3, 5, 6, 6])
  })

  test('are shared by requests within the duration of a slot, and not after it', async () => {
    await ask('risk')
    const before = asked().length
    const answers = await Promise.all([ask('risk'), ask('yield'), ask('risk', { target_health_factor: '3' })])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(asked().length).toBe(before)
    expect((await ask('risk', { wallet: toFakeAddress('another wallet') })).status).toBe(404)
    expect(asked().length).toBe(before + 1)
    double.slot += 1
    passedMs += SLOT_MS
    expect((await ask('risk')).reply?.asOf).toMatchObject([{ chainId: 101, blockNumber: BigInt(SLOT + 1) }])
  })

  test('that fail are not cached', async () => {
    double.always = { kind: 'http', status: 503 }
    expect((await ask('risk')).status).toBe(502)
    double.always = undefined
    expect((await ask('risk')).status).toBe(200)
  })

  test('answer from the last slot alone, and never go back', async () => {
    double.slotsPerRead = 2
    const { reply } = await ask('risk')
    expect(reply?.asOf).toMatchObject([{ chainId: 101, blockNumber: BigInt(SLOT + 4) }])
    expect(double.seen.map(({ minContextSlot }) => minContextSlot)).toEqual([undefined, SLOT, SLOT + 2])
  })

  test('notice that an obligation changed after it was cached', async () => {
    double.accounts = scene({ borrows: [] })
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: 'MAX' })
    double.seen.length = 0
    double.accounts = scene()
    passedMs += SLOT_MS
    expect((await ask('risk')).reply?.data).toMatchObject({ health_factor: '2.0000' })
    expect(asked().length).toBeLessThanOrEqual(3)
  })

  test('survive a passing failure in the middle', async () => {
    double.faults.push({ kind: 'http', status: 503 })
    expect((await ask('risk')).status).toBe(200)
    expect(asked()).toEqual([3, 3, 5, 6])
  })

  test.each([
    ['HTTP 503', { kind: 'http', status: 503 }],
    ['HTTP 429', { kind: 'http', status: 429, headers: { 'retry-after': '60' } }],
    ['HTTP 403', { kind: 'http', status: 403 }],
    ['-32005', { kind: 'rpc', code: -32005 }],
    ['HTML', { kind: 'body', text: '<html>upstream text</html>' }],
  ] as const)('that stay at %s are 502', async (_, fault) => {
    double.always = fault
    expect(await ask('yield')).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
  })
})

describe('404', () => {
  test.each([
    ['no account', { obligation_address: toFakeAddress('nobody') }, 'there is no such obligation'],
    ['an account of another kind', { obligation_address: SOL }, 'there is no such obligation'],
    ['another wallet', { wallet: toFakeAddress('stranger') }, 'it does not belong to wallet'],
    ['another market', { market_address: toFakeAddress('elsewhere') }, 'it is not in market'],
  ])('%s', async (_, query, why) => {
    for (const kind of ['yield', 'risk'] as const) {
      const answer = await ask(kind, query)
      expect(answer).toMatchObject({ status: 404, code: 'NOT_FOUND' })
      expect(answer.message).toContain(why)
    }
  })

  test('an obligation of another program', async () => {
    const { data } = toServedAccount(obligationBytes({ market: MARKET, owner: WALLET }))
    double.accounts = { ...scene(), [OBLIGATION]: toServedAccount(data, toFakeAddress('another program')) }
    expect(await ask('risk')).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect((await ask('risk', {}, newFamily({ programId: toFakeAddress('another program') }).routes)).status).toBe(502)
  })
})

describe('502 for accounts that an obligation names', () => {
  const usual = scene()
  const data = (address: string) => usual[address]?.data ?? new Uint8Array()
  const other = toFakeAddress('another program')

  test.each([
    ['a market that is gone', MARKET, undefined],
    ['a market of another program', MARKET, toServedAccount(data(MARKET), other)],
    ['a market of another size', MARKET, toServedAccount(data(MARKET).subarray(1))],
    ['a market with absurd fees', MARKET, toServedAccount(marketBytes({ referralFeeBps: 10_001 }))],
    ['a reserve that is gone', SOL, undefined],
    ['a reserve of another program', SOL, toServedAccount(data(SOL), other)],
    ['a reserve of another market', SOL, toServedAccount(reserveBytes({ market: other, priceSf: sf('1') }))],
    ['a reserve with more fees than funds', SOL, toServedAccount(reserveBytes({ market: MARKET, protocolFeesSf: SF }))],
    [
      'an unknown elevation group',
      OBLIGATION,
      toServedAccount(obligationBytes({ market: MARKET, owner: WALLET, elevationGroup: 9 })),
    ],
    [
      'a debt without a rate',
      OBLIGATION,
      toServedAccount(
        obligationBytes({
          market: MARKET,
          owner: WALLET,
          borrows: [{ reserve: USDC, amountSf: SF, cumulativeRateSf: 0n }],
        }),
      ),
    ],
  ])('%s', async (_, address, account) => {
    const { [address]: __, ...rest } = scene()
    double.accounts = account === undefined ? rest : { ...rest, [address]: account }
    const answer = await ask('risk')
    expect(answer).toMatchObject({ status: 502, code: 'UPSTREAM_ERROR' })
    expect(answer.message).toStartWith(`Cannot read Kamino obligation ${OBLIGATION}: `)
    expect(double.seen.length).toBe(3)
  })

  test('ends with a read that finds the accounts complete', async () => {
    double.faults.push({
      kind: 'reply',
      change: (reply) => ({ ...reply, result: { ...reply.result, value: reply.result.value.toSpliced(1, 1, null) } }),
    })
    expect((await ask('risk')).status).toBe(200)
    expect(double.seen.length).toBe(3)
  })
})

describe('input', () => {
  test.each([
    ['no wallet', { wallet: '' }, 'MISSING_PARAMETER'],
    ['no market', { market_address: '' }, 'MISSING_PARAMETER'],
    ['an EVM wallet', { wallet: '0x1F98431c8aD98523631AE4a59f267346ea31F984' }, 'INVALID_PARAMETER'],
    ['a wallet of 31 bytes', { wallet: '1111111111111111111111111111111' }, 'INVALID_PARAMETER'],
    ['a market with a letter that base58 has not', { market_address: `${MARKET.slice(0, -1)}l` }, 'INVALID_PARAMETER'],
    ['an obligation that is not an address', { obligation_address: 'abc' }, 'INVALID_PARAMETER'],
    ['an obligation too long', { obligation_address: 'z'.repeat(45) }, 'INVALID_PARAMETER'],
    ['a target of 1', { target_health_factor: '1' }, 'INVALID_PARAMETER'],
    ['a target above 100', { target_health_factor: '100.1' }, 'INVALID_PARAMETER'],
    ['a target that is not a number', { target_health_factor: '1e1' }, 'INVALID_PARAMETER'],
  ])('%s is refused before anything is read', async (_, query, code) => {
    for (const kind of ['yield', 'risk'] as const) {
      expect(await ask(kind, query)).toMatchObject({ status: 400, code })
    }
    expect(double.seen).toEqual([])
  })

  test('of another case is another address', async () => {
    const flipped = WALLET.replace(/[a-z]/, (letter) => letter.toUpperCase())
    const answer = await ask('risk', { wallet: flipped })
    expect([400, 404]).toContain(answer.status)
  })
})

test('both routes fail with API_ENDPOINT_NOT_CONFIGURED without Solana', async () => {
  const routes = createFamilyRoutes(KAMINO, { solana: undefined })
  for (const kind of ['yield', 'risk'] as const) {
    expect(await ask(kind, {}, routes)).toMatchObject({ status: 500, code: 'API_ENDPOINT_NOT_CONFIGURED' })
    const definition = findRoute(kind, routes)
    const values = { obligation_address: OBLIGATION, wallet: WALLET, market_address: MARKET }
    const accepted = await definition.accept({
      parameters: () => ({ values }),
      body: async () => ({ value: () => undefined }),
    })
    const { creditsMin } = accepted.call()
    expect([creditsMin, definition.errors]).toEqual([8, [404, 502]])
  }
})
