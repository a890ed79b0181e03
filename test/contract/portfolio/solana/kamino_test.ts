import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { kaminoStage } from '../../../support/family/kamino/stage.ts'
import {
  marketBytes,
  obligationBytes,
  patchAccount,
  type ServedAccounts,
  SF,
  ticketBytes,
  toFakeAddress,
  toServedAccount,
} from '../../../support/kamino.ts'
import {
  MARKET,
  OBLIGATION,
  type SceneChanges,
  SLOT,
  SOL as SOL_RESERVE,
  scene,
  USDC as USDC_RESERVE,
  WALLET,
} from '../../../support/kamino_scene.ts'
import { portfolioStage, type SolanaRow } from '../../../support/portfolio/solana/stage.ts'
import { priceAccounts, SOL, USDC, walletAccounts } from '../../../support/portfolio/solana/wallets.ts'
import { startSolanaDouble } from '../../../support/solana.ts'
import { TOKEN } from '../../../support/solana_token.ts'
import { e6 } from '../support.ts'

/** A configuration that knows the scene's market. */
const KNOWN = { kaminoMarkets: [{ market: MARKET, reserves: [SOL_RESERVE, USDC_RESERVE] }] }
const HOUR_OF_SLOTS = 9_000
/** Mints and names of the tokens of the scene's reserves. */
const TOKENS = [
  { mint: SOL, program: TOKEN, decimals: 9, symbol: 'SOL', name: 'Wrapped SOL', accounts: [] },
  { mint: USDC, program: TOKEN, decimals: 6, symbol: 'USDC', name: 'USD Coin', accounts: [] },
] as const

const double = startSolanaDouble()
let stage = portfolioStage([double], { row: KNOWN })

beforeEach(() => {
  double.slot = SLOT
  double.ofMethod.clear()
  stage = portfolioStage([double], { row: KNOWN })
  serve()
})

afterEach(() => {
  expect(stage.lines.join()).not.toMatch(/solana-secret|127\.0\.0\.1|upstream text/)
  stage.solana?.close()
})

afterAll(() => double.stop(), 60_000)

function serve(changes: SceneChanges = {}, others: ServedAccounts = {}, pricedAgoSec = 0): void {
  const nowSec = Math.floor(Date.now() / 1_000)
  const at = { pricedAtSec: BigInt(nowSec - pricedAgoSec) }
  const mints = walletAccounts(toFakeAddress('somebody'), { lamports: 0n, tokens: TOKENS })
  double.accounts = { ...priceAccounts(nowSec), ...mints, ...scene(changes, at), ...others }
}

function shown({ kind, token, amount, price_usd, value_usd, counted, reason }: SolanaRow) {
  return [kind, token.symbol, amount.raw, price_usd, value_usd, counted ? 'counted' : reason]
}

test('an obligation has rows of its deposits and debts, at the prices of its market if that is known', async () => {
  const rows = await stage.assets({ wallet: WALLET })
  expect(rows.map(shown)).toEqual([
    ['supplied', 'SOL', '100000000000', '150', '15000.000000', 'counted'],
    ['borrowed', 'USDC', '6000000000', '1', '-6000.000000', 'counted'],
  ])
  expect(rows.map(({ token, position }) => [token.id, position])).toEqual(
    [SOL, USDC].map((mint) => [mint, { family: 'kamino', market_id: MARKET, obligation_address: OBLIGATION }]),
  )
  expect(await stage.balance({ wallet: WALLET })).toMatchObject({
    net_worth_usd: '9000.000000',
    assets_usd: '15000.000000',
    debt_usd: '6000.000000',
    by_kind: { wallet_usd: '0.000000', supplied_usd: '15000.000000', borrowed_usd: '6000.000000' },
    coverage: { found_by: [{ family: 'kamino', complete: true, by: 'program_accounts' }] },
  })
})

test('interest equals that of the obligation list, to the base unit', async () => {
  double.slot = SLOT + 100 * HOUR_OF_SLOTS
  const list = kaminoStage([double])
  const { reply } = await list.list({ wallet: WALLET })
  const { data } = reply as { readonly data: readonly { readonly positions: readonly Listed[] }[] }
  const { supplied_usd = '', borrowed_usd = '' } = (await stage.balance({ wallet: WALLET })).by_kind
  const listed = data[0]?.positions[0]
  // A unit of SOL is 15 hundred-millionths of a dollar, one of USDC a millionth: deposits are cut, debts rounded up.
  expect(e6(listed?.totalCollateralUSD ?? '') - e6(supplied_usd)).toBeOneOf([0n, 1n])
  expect(e6(borrowed_usd) - e6(listed?.totalDebtUSD ?? '')).toBeOneOf([0n, 1n])
  expect(e6(borrowed_usd)).toBeGreaterThan(6_000_000_000n)
})

interface Listed {
  readonly totalCollateralUSD: string
  readonly totalDebtUSD: string
}

test('collateral of an obligation is not a token of the wallet, and each obligation has its own rows', async () => {
  const second = toFakeAddress('second obligation')
  serve(
    {},
    {
      [second]: toServedAccount(
        obligationBytes({
          market: MARKET,
          owner: WALLET,
          deposits: [{ reserve: USDC_RESERVE, collateralAmount: 7_000_000n }],
        }),
      ),
    },
  )
  const rows = await stage.assets({ wallet: WALLET })
  expect(rows.map(({ kind, position }) => [kind, position?.['obligation_address']])).toEqual([
    ['supplied', OBLIGATION],
    ['supplied', second],
    ['borrowed', OBLIGATION],
  ])
})

describe('collateral that waits in a withdraw ticket', () => {
  const TICKET = toFakeAddress('ticket')
  const WAITING = 'collateral of kamino that waits in withdraw tickets'
  const ticket = (owner = WALLET, collateralAmount = 20n * 10n ** 9n) => ({
    [TICKET]: toServedAccount(ticketBytes({ sequence: 3n, owner, reserve: SOL_RESERVE, collateralAmount })),
  })
  /** Tickets are paid, and this one is the next of 20 SOL in the queue. */
  const openQueue = (): void => {
    const accounts = double.accounts as ServedAccounts
    patchAccount(accounts, MARKET, { at: 3353, length: 1, value: 1n })
    patchAccount(accounts, SOL_RESERVE, { at: 6968, length: 8, value: 20n * 10n ** 9n })
    patchAccount(accounts, SOL_RESERVE, { at: 6984, length: 8, value: 3n })
  }

  test('is a row of its own, with what of it is paid now', async () => {
    serve({}, ticket())
    openQueue()
    const rows = await stage.assets({ wallet: WALLET })
    expect(rows.map(shown)).toEqual([
      ['supplied', 'SOL', '100000000000', '150', '15000.000000', 'counted'],
      ['supplied', 'SOL', '20000000000', '150', '3000.000000', 'counted'],
      ['borrowed', 'USDC', '6000000000', '1', '-6000.000000', 'counted'],
    ])
    const queued = rows.find(({ position }) => position?.['part'] === 'queued')
    expect(queued).toMatchObject({
      position: { family: 'kamino', market_id: MARKET, ticket_address: TICKET, part: 'queued' },
      withdrawable: { raw: '20000000000' },
      limited_by: null,
    })
    const balance = await stage.balance({ wallet: WALLET })
    expect(balance.net_worth_usd).toBe('12000.000000')
    expect(balance.coverage.not_read).not.toContain(WAITING)
  })

  test('is there without any obligation, and limited where the market pays no tickets', async () => {
    serve({ deposits: [], borrows: [] }, ticket())
    const [row, ...others] = await stage.assets({ wallet: WALLET })
    expect([row?.value_usd, row?.withdrawable?.raw, row?.limited_by, others.length]).toEqual([
      '3000.000000',
      '0',
      'paused',
      0,
    ])
  })

  test('has no row once it is cancelled, or of another wallet', async () => {
    for (const others of [ticket(WALLET, 0n), ticket(toFakeAddress('other'))]) {
      serve({ deposits: [], borrows: [] }, others)
      expect(await stage.assets({ wallet: WALLET })).toEqual([])
    }
  })

  test('is named as not read where no endpoint searches', async () => {
    double.ofMethod.set('getProgramAccounts', { kind: 'rpc', code: -32010 })
    serve({}, ticket())
    expect((await stage.balance({ wallet: WALLET })).coverage.not_read).toContain(WAITING)
  })
})

test('an empty obligation, and one of another wallet, have no row', async () => {
  const other = toServedAccount(
    obligationBytes({
      market: MARKET,
      owner: toFakeAddress('other'),
      deposits: [{ reserve: SOL_RESERVE, collateralAmount: 5n }],
    }),
  )
  serve({ deposits: [], borrows: [] }, { [toFakeAddress('of another')]: other })
  expect(await stage.assets({ wallet: WALLET })).toEqual([])
})

test('a price that is too old makes rows unpriced without an error', async () => {
  serve({}, {}, 600)
  const rows = await stage.assets({ wallet: WALLET })
  expect(rows.map(shown)).toEqual([
    ['supplied', 'SOL', '100000000000', null, null, 'unpriced'],
    ['borrowed', 'USDC', '6000000000', null, null, 'unpriced'],
  ])
  expect(rows[0]?.detail).toBe(`It has no price because the price of reserve ${SOL_RESERVE} is missing or too old`)
  expect((await kaminoStage([double]).list({ wallet: WALLET })).status).toBe(502)
})

describe('a market that is not configured', () => {
  beforeEach(() => {
    stage.solana?.close()
    stage = portfolioStage([double])
  })

  test('prices nothing: tokens have their wallet prices', async () => {
    expect((await stage.assets({ wallet: WALLET })).map(shown)).toEqual([
      ['supplied', 'SOL', '100000000000', '151.23456789', '15123.456789', 'counted'],
      ['borrowed', 'USDC', '6000000000', '0.999871', '-5999.226000', 'counted'],
    ])
  })

  test('of one’s own whose prices are absurd is worth what the wallet’s prices and the reserve say, and marked', async () => {
    const prices = [
      { index: 7, value: 150_000_000_000n, exponent: 0n },
      { index: 13, value: 1n, exponent: 0n },
    ]
    serve({ prices, borrows: [] })
    const { net_worth_usd } = await stage.balance({ wallet: WALLET })
    expect(net_worth_usd).toBe('15123.456789')
    const list = kaminoStage([double])
    const { data } = (await list.list({ wallet: WALLET })).reply as {
      readonly data: readonly { positions: object[] }[]
    }
    expect(data[0]?.positions).toMatchObject([{ marketKnown: false, netWorthUSD: '15000000000000.000000' }])
    list.solana?.close()
  })

  test('counts supply only up to the reserve’s available liquidity, over all obligations; debts always', async () => {
    const second = toFakeAddress('second obligation')
    const half = { reserve: SOL_RESERVE, collateralAmount: 3_000n * 10n ** 9n }
    serve(
      { deposits: [half], borrows: [{ reserve: USDC_RESERVE, amountSf: 10n ** 6n * SF }] },
      { [second]: toServedAccount(obligationBytes({ market: MARKET, owner: WALLET, deposits: [half] })) },
    )
    // 6,000 SOL of the 5,000 that the reserve has.
    const rows = await stage.assets({ wallet: WALLET })
    expect(rows.map(({ kind, not_counted }) => [kind, not_counted?.raw, not_counted?.reason])).toEqual([
      ['supplied', String(500n * 10n ** 9n), 'exceeds_liquidity'],
      ['supplied', String(500n * 10n ** 9n), 'exceeds_liquidity'],
      ['borrowed', undefined, undefined],
    ])
  })
})

test('an obligation whose market is broken fails the answer, naming it', async () => {
  serve({}, { [MARKET]: toServedAccount(marketBytes({ referralFeeBps: 20_000 })) })
  const { status, message } = await stage.ask('balance', { wallet: WALLET })
  expect([status, message]).toEqual([
    502,
    `Cannot read Kamino obligation ${OBLIGATION}: its market is missing or broken`,
  ])
})

test('without program search, positions seen before are still found', async () => {
  await stage.balance({ wallet: WALLET })
  double.ofMethod.set('getProgramAccounts', { kind: 'rpc', code: -32010 })
  stage.pass()
  const { net_worth_usd, coverage, complete } = await stage.balance({ wallet: WALLET })
  expect([net_worth_usd, complete]).toEqual(['9000.000000', false])
  expect(coverage.found_by).toMatchObject([{ complete: false, by: 'derived_addresses' }])
})
