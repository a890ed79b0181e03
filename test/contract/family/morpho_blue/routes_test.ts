import { afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { MORPHO_BLUE } from '../../../../src/family/morpho_blue/mod.ts'
import type { FinanceChain, FinanceClient } from '../../../../src/finance/chain.ts'
import type { Reply, Route } from '../../../../src/http/route/route.ts'
import { TOKENS } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import type { MorphoDevnet } from '../../../devnet/morpho_blue/mod.ts'
import type { MorphoMarketName } from '../../../devnet/morpho_blue/scenario.ts'
import { oraclePrice } from '../../../devnet/morpho_blue/tools.ts'
import { callRoute, toRouteFailure } from '../../../support/call_route.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { createClient, DEPLOYMENT, patient } from './support.ts'

const { usdc, weth, dai, wbtc } = TOKENS

let devnet: Devnet
let morpho: MorphoDevnet

beforeAll(async () => {
  devnet = await sharedDevnet()
  morpho = await devnet.morpho()
}, 60_000)

afterEach(async () => {
  await devnet.setFeed(usdc.feed, { answer: 100_000_000n })
})

interface Answer {
  readonly status: number
  readonly code?: string
  readonly message?: string
  readonly retryAfter?: string | undefined
  readonly reply?: Reply
  readonly credits?: readonly [least: number, exact: number]
}

function createRoute(
  clients: readonly FinanceClient[] = [createClient(createDevnetChain(devnet))],
  chainIds = [1],
): Route {
  const known = clients.filter(({ chain }) => chainIds.includes(chain.id))
  const rows = chainIds.map((id) => [id, { morphoBlue: DEPLOYMENT }] as const)
  const routes = createFamilyRoutes(MORPHO_BLUE, { clients: known, rows })
  const found = routes.find(({ path }) => path.endsWith('/yield'))
  if (found === undefined) throw new Error('There is no such route')
  return found
}

function pricedChain(prices: Partial<FinanceChain['prices']>): FinanceClient {
  return createClient(createDevnetChain(devnet, { prices: { usdFeeds: {}, stablecoins: [], ...prices } }))
}

/** What the app does with a route, from the parameters to the body. */
async function ask(query: Readonly<Record<string, string | undefined>>, route = createRoute()): Promise<Answer> {
  const defaults = { wallet: morpho.wallets.supplier, market_id: morpho.markets.wethUsdc.id }
  const { chain_id = '1', ...rest }: Record<string, string | undefined> = { ...defaults, ...query }
  const given = Object.entries(rest).filter(([, value]) => value !== undefined) as [string, string][]
  try {
    const query = new URLSearchParams(given).toString()
    const { reply, credits, creditsMin } = await callRoute(route, { params: { chain_id }, query }, patient.signal)
    return { status: 200, reply, credits: [creditsMin, credits] }
  } catch (error) {
    const { status, code, message, headers } = toRouteFailure(error, route)
    expect(message).not.toContain('127.0.0.1')
    return { status, code, message, retryAfter: headers['retry-after'] }
  }
}

async function figures(
  wallet: keyof MorphoDevnet['wallets'],
  market: MorphoMarketName,
  route = createRoute(),
): Promise<Record<string, string> & { projected_earnings: Record<string, string> }> {
  const { reply, message } = await ask({ wallet: morpho.wallets[wallet], market_id: morpho.markets[market].id }, route)
  if (reply === undefined) throw new Error(message)
  return reply.data as never
}

describe('GET /v1/lending/morpho-blue/position/:chain_id/yield', () => {
  test('answers a supplier for eight credits, as of the block', async () => {
    const { supplier } = morpho.wallets
    const { wethUsdc } = morpho.markets
    const answer = await ask({ wallet: supplier.toLowerCase(), market_id: wethUsdc.id.toUpperCase().replace('X', 'x') })
    expect(answer).toMatchObject({ status: 200, credits: [8, 8] })
    expect(answer.reply?.asOf).toMatchObject([{ chainId: 1, blockNumber: await devnet.client.getBlockNumber() }])
    expect(answer.reply?.data).toMatchObject({
      chain_id: 1,
      wallet: supplier,
      market_id: wethUsdc.id,
      daily_borrow_interest_usd: '0.000000',
      weighted_borrow_apy: '0.00000000',
      position_leverage: '1.00000000',
    })
  })

  test('gives a supplier the borrowers’ rate on what is lent, without the fee', async () => {
    const [supplier, borrower] = [await figures('supplier', 'wethUsdc'), await figures('borrower', 'wethUsdc')]
    const { totalBorrowAssets, totalSupplyAssets, fee } = await morpho.readAccrued(
      morpho.markets.wethUsdc,
      morpho.wallets.supplier,
    )
    const rate = Math.log1p(Number(borrower['weighted_borrow_apy']))
    const kept = (Number(totalBorrowAssets) / Number(totalSupplyAssets)) * (1 - Number(fee) / 1e18)
    expect(fee).toBe(10n ** 17n)
    expect(Number(supplier['weighted_supply_apy'])).toBeCloseTo(Math.expm1(rate * kept), 7)
    expect(supplier['net_apy']).toBe(supplier['weighted_supply_apy'] ?? '')
  })

  test('values a borrower by the oracle and the loan token’s price, and adds up', async () => {
    const { wethUsdc } = morpho.markets
    await devnet.setFeed(usdc.feed, { answer: 99_000_000n })
    const [figure, accrued, owedRaw] = await Promise.all([
      figures('borrower', 'wethUsdc'),
      morpho.readAccrued(wethUsdc, morpho.wallets.borrower),
      morpho.staticRepayAll(wethUsdc, morpho.wallets.borrower),
    ])
    const collateral = (Number(accrued.collateral) / 1e18) * 3_000 * 0.99
    const debt = (Number(owedRaw) / 1e6) * 0.99
    const apy = Number(figure['weighted_borrow_apy'])
    expect(Number(figure['position_leverage'])).toBeCloseTo(collateral / (collateral - debt), 6)
    expect(Number(figure['daily_borrow_interest_usd'])).toBeCloseTo((debt * apy) / 365, 3)
    expect(Number(figure['net_apy'])).toBeCloseTo((-debt * apy) / (collateral - debt), 7)
    expect(figure['net_daily_interest_usd']).toBe(`-${figure['daily_borrow_interest_usd']}`)
    const { daily, weekly, monthly, yearly } = figure.projected_earnings
    expect(daily).toBe(figure['net_daily_interest_usd'] ?? '')
    expect(Number(weekly)).toBeCloseTo(Number(daily) * 7, 4)
    expect(Number(monthly)).toBeCloseTo(Number(daily) * 30, 4)
    expect(Number(yearly)).toBeCloseTo(Number(daily) * 365, 3)
    expect(Number(yearly)).toBeCloseTo(Number(figure['net_apy']) * (collateral - debt), 1)
  })

  test('counts collateral as supplied, at no yield', async () => {
    const [both, supplier] = [await figures('both', 'wethUsdc'), await figures('supplier', 'wethUsdc')]
    const lent = 40_000
    const share = lent / (lent + 90_000)
    expect(Number(both['weighted_supply_apy']) / Number(supplier['weighted_supply_apy'])).toBeCloseTo(share, 2)
    expect(await figures('collateralOnly', 'wethUsdc')).toMatchObject({
      daily_supply_interest_usd: '0.000000',
      net_daily_interest_usd: '0.000000',
      net_apy: '0.00000000',
      position_leverage: '1.00000000',
      weighted_supply_apy: '0.00000000',
      weighted_borrow_apy: '0.00000000',
    })
  })

  test('has leverage MAX and net APY 0 if the debt is worth more than the collateral', async () => {
    const figure = await figures('badDebt', 'crashed')
    expect(figure).toMatchObject({ position_leverage: 'MAX', net_apy: '0.00000000' })
    expect(Number(figure['net_daily_interest_usd'])).toBeLessThan(0)
  })

  test('answers an idle market and a market of another model', async () => {
    expect(await figures('supplier', 'idle')).toMatchObject({
      weighted_supply_apy: '0.00000000',
      net_apy: '0.00000000',
      position_leverage: '1.00000000',
    })
    const figure = await figures('borrower', 'linear')
    const { totalBorrowAssets, totalSupplyAssets } = await morpho.readAccrued(
      morpho.markets.linear,
      morpho.wallets.borrower,
    )
    const rate = 0.02 + (0.1 * Number(totalBorrowAssets)) / Number(totalSupplyAssets)
    expect(Number(figure['weighted_borrow_apy'])).toBeCloseTo(Math.expm1(rate), 7)
  })

  test.each([
    ['silentOracle', 'its oracle does not answer'],
    ['zeroPrice', 'its oracle answers zero'],
  ] as const)('needs an oracle only for collateral: %s', async (market, because) => {
    expect(await figures('supplier', market)).toMatchObject({ position_leverage: '1.00000000' })
    for (const wallet of ['borrower', 'collateralOnly'] as const) {
      const { status, code, message, retryAfter } = await ask({
        wallet: morpho.wallets[wallet],
        market_id: morpho.markets[market].id,
      })
      expect({ status, code, retryAfter }).toEqual({ status: 503, code: 'SERVICE_UNAVAILABLE', retryAfter: '60' })
      expect(message).toBe(
        `Cannot price the collateral of Morpho market ${morpho.markets[market].id} on chain 1 (Devnet) because ${because}`,
      )
    }
  })

  test('is unavailable for every way in which an oracle fails, and answers again afterwards', async () => {
    const { silentOracle } = morpho.markets
    const query = { wallet: morpho.wallets.borrower, market_id: silentOracle.id }
    for (const mood of ['burns_gas', 'answers_too_little', 'reverts'] as const) {
      await morpho.setOracle(silentOracle, { price: 1n, mood })
      expect((await ask(query)).message).toContain('its oracle does not answer')
    }
    // A megabyte whose first word is zero.
    await morpho.setOracle(silentOracle, { price: 1n, mood: 'answers_too_much' })
    expect((await ask(query)).message).toMatch(/its oracle (answers zero|does not answer)/)
    await morpho.setOracle(silentOracle, { price: oraclePrice(dai, wbtc) })
    expect((await ask(query)).status).toBe(200)
    await morpho.setOracle(silentOracle, { price: 1n, mood: 'reverts' })
  })

  test('needs the rate only for supplies and debts', async () => {
    const { linear } = morpho.markets
    const rates = { base: 634_195_839n, slope: 3_170_979_198n }
    await morpho.supplyCollateral({ market: linear, wallet: morpho.wallets.collateralOnly, assets: 10n ** 18n })
    await morpho.setLinearIrm({ ...rates, silent: true })
    const silent = await ask({ wallet: morpho.wallets.borrower, market_id: linear.id })
    expect(silent).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' })
    expect(silent.message).toContain('its interest-rate model does not answer')
    expect((await figures('collateralOnly', 'linear'))['position_leverage']).toBe('1.00000000')
    await morpho.setLinearIrm({ ...rates, base: 10n ** 15n })
    expect((await ask({ market_id: linear.id })).message).toContain('its interest-rate model asks an absurd rate')
    await morpho.setLinearIrm(rates)
    expect((await ask({ market_id: linear.id })).status).toBe(200)
  })

  test('is NOT_FOUND for an unknown market, and for a wallet without a position', async () => {
    const unknown = await ask({ market_id: `0x${'0'.repeat(64)}` })
    expect(unknown).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect(unknown.message).toContain('there is no such market')
    const nothing = await ask({ wallet: morpho.wallets.none })
    expect(nothing).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect(nothing.message).toContain(`wallet ${morpho.wallets.none} has no position in it`)
  })

  test.each([
    ['MISSING_PARAMETER', 'wallet', { wallet: undefined }],
    ['MISSING_PARAMETER', 'market_id', { market_id: undefined }],
    ['MISSING_PARAMETER', 'market_id', { market_id: '' }],
    ['INVALID_PARAMETER', 'market_id', { market_id: '0x12' }],
    ['INVALID_PARAMETER', 'market_id', { market_id: 'g'.repeat(66) }],
    ['INVALID_PARAMETER', 'market_id', { market_id: `0x${'a'.repeat(65)}` }],
    ['INVALID_PARAMETER', 'wallet', { wallet: 'vitalik.eth' }],
    ['INVALID_PARAMETER', 'target_health_factor', { target_health_factor: '1' }],
    ['INVALID_PARAMETER', 'chain_id', { chain_id: '10' }],
    ['INVALID_PARAMETER', 'chain_id', { chain_id: 'mainnet' }],
  ] as const)('answers %s for an invalid %s', async (code, parameter, query) => {
    const answer = await ask(query)
    expect(answer).toMatchObject({ status: 400, code })
    expect(answer.message).toContain(`"${parameter}"`)
  })

  test('accepts a target health factor, which changes nothing here', async () => {
    const [plain, aimed] = [await ask({}), await ask({ target_health_factor: '2.5' })]
    expect(aimed.status).toBe(200)
    expect(aimed.reply?.data).toEqual(plain.reply?.data as never)
  })

  test('lists the chains that have Morpho, and says if none has it', async () => {
    const other = createClient(createDevnetChain(devnet, { id: 43_114, rpcUrls: ['http://127.0.0.1:9'] }))
    const refused = await ask({ chain_id: '43114' }, createRoute([createClient(createDevnetChain(devnet)), other]))
    expect(refused).toMatchObject({ status: 400, code: 'INVALID_PARAMETER' })
    expect(refused.message).toContain('expected the id of a configured chain with Morpho Blue (1), got')
    const nowhere = await ask({}, createRoute([other]))
    expect(nowhere).toMatchObject({ status: 500, code: 'API_ENDPOINT_NOT_CONFIGURED' })
  })

  test('is 503 that names the chain if that cannot be read', async () => {
    const dead = createClient(createDevnetChain(devnet, { rpcUrls: ['http://127.0.0.1:9'] }))
    const { status, code, message } = await ask({}, createRoute([dead]))
    expect({ status, code }).toEqual({ status: 503, code: 'SERVICE_UNAVAILABLE' })
    expect(message).toMatch(/chain 1 \(Devnet\) after \d+ attempts$/)
  })
})

describe('the price of the loan token', () => {
  const missing = (token: string, because: string) =>
    `Cannot price the loan token ${token} of Morpho market ${morpho.markets.wethUsdc.id} on chain 1 (Devnet) because ${because}`

  test('is that of its feed, and missing if the feed is stale, below zero or does not answer', async () => {
    const { timestamp } = await devnet.client.getBlock()
    const broken = [
      [{ answer: 100_000_000n, updatedAtSec: timestamp - 90_000n }, 'its price feed is stale'],
      [{ answer: 0n }, 'its price feed answers nothing above zero'],
      [{ answer: -1n }, 'its price feed answers nothing above zero'],
      [{ answer: 100_000_000n, updatedAtSec: timestamp + 10n ** 9n }, 'its price feed answers from the future'],
    ] as const
    for (const [round, because] of broken) {
      await devnet.setFeed(usdc.feed, round)
      expect(await ask({})).toEqual({
        status: 503,
        code: 'SERVICE_UNAVAILABLE',
        retryAfter: '60',
        message: missing(usdc.address, because),
      })
    }
    const feeds = { [usdc.address]: { feed: morpho.wallets.none, heartbeatSec: 3_600 } }
    const silent = await ask({}, createRoute([pricedChain({ usdFeeds: feeds })]))
    expect(silent.message).toBe(missing(usdc.address, 'its price feed does not answer'))
  })

  test('is missing if its own feed fails, even if a list or Aave (through a cap too) has a price', async () => {
    const { usdFeeds } = createDevnetChain(devnet).prices
    const route = createRoute([pricedChain({ usdFeeds, aaveOracle: morpho.aaveOracle, stablecoins: [usdc.address] })])
    expect((await ask({}, route)).status).toBe(200)
    await devnet.setFeed(usdc.feed, { answer: 0n })
    const zero = missing(usdc.address, 'its price feed answers nothing above zero')
    expect(await ask({}, route)).toMatchObject({ status: 503, message: zero })
    const unchanged = await devnet.client.snapshot()
    try {
      await morpho.capAaveSource('usdc', usdc.feed)
      const { timestamp } = await devnet.client.getBlock()
      await devnet.setFeed(usdc.feed, { answer: 100_000_000n, updatedAtSec: timestamp - 30n * 86_400n })
      const stale = missing(usdc.address, 'its price feed is stale')
      expect(await ask({}, route)).toMatchObject({ status: 503, message: stale })
    } finally {
      await devnet.client.revert({ id: unchanged })
    }
  })

  test('is Aave’s if there is no feed, and a list’s dollar if Aave does not know the token', async () => {
    const worth = async (client: FinanceClient, market: MorphoMarketName = 'wethUsdc') =>
      Number((await figures('supplier', market, createRoute([client])))['daily_supply_interest_usd'])
    const dollar = await worth(pricedChain({ stablecoins: [usdc.address] }))
    const byAave = await worth(pricedChain({ aaveOracle: morpho.aaveOracle, stablecoins: [usdc.address] }))
    expect(byAave / dollar).toBeCloseTo(1.01, 5)
    const { usdt } = TOKENS
    expect(
      await worth(pricedChain({ aaveOracle: morpho.aaveOracle, stablecoins: [usdt.address] }), 'crashed'),
    ).toBeGreaterThan(0)
  })

  test('is missing if Aave’s source fails, even of a listed stablecoin, and if no source has it', async () => {
    const client = pricedChain({ aaveOracle: morpho.aaveOracle, stablecoins: [dai.address] })
    const query = { market_id: morpho.markets.linear.id }
    await morpho.setAavePrice('dai', 0n)
    expect((await ask(query, createRoute([client]))).message).toContain("because Aave's oracle has no price for it")
    await morpho.setAavePrice('dai', 99_000_000n)
    expect((await ask(query, createRoute([client]))).status).toBe(200)
    const unknown = await ask({ market_id: morpho.markets.usdcWeth.id }, createRoute([client]))
    expect(unknown).toMatchObject({ status: 503, code: 'SERVICE_UNAVAILABLE' })
    expect(unknown.message).toContain(`loan token ${weth.address}`)
    expect(unknown.message).toContain('because no source of its price is configured')
    // No contract at the oracle's address: a source that failed.
    const nothing = pricedChain({ aaveOracle: morpho.wallets.none, stablecoins: [usdc.address] })
    expect((await ask({}, createRoute([nothing]))).status).toBe(503)
  })

  test('is missing if the token does not say its decimals', async () => {
    const { message } = await ask({ market_id: morpho.markets.undescribed.id })
    expect(message).toContain('because it has no usable decimals')
  })
})
