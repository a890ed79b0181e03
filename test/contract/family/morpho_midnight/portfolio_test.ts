import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { MORPHO_MIDNIGHT } from '../../../../src/family/morpho_midnight/mod.ts'
import { createPriceMarket } from '../../../../src/finance/price/table/kamino.ts'
import { portfolioRoutes } from '../../../../src/portfolio/mod.ts'
import { callRoute } from '../../../support/call_route.ts'
import { createTestServices } from '../../../support/family.ts'
import { createHurriedClock } from '../../../support/test_clock.ts'
import {
  findMarket,
  type MidnightChain,
  type MidnightReader,
  startMidnightChain,
  startReader,
  vectors,
} from './support.ts'

const LIMIT_MS = 120_000
const CHAIN_ID = 31_337
/** Digits of a dollar below a token's smallest unit, so that sums of all tokens are whole. */
const DIGITS = 18

let chain: MidnightChain
let reader: MidnightReader

beforeAll(async () => {
  chain = await startMidnightChain()
  reader = await startReader([chain.anvil.rpcUrl])
}, LIMIT_MS)
afterAll(async () => {
  await reader?.close()
  await chain?.anvil.stop()
}, LIMIT_MS)

/** Asks a route of the portfolio, of a service that serves this chain alone. */
async function ask(name: 'balance' | 'assets', query: string): Promise<unknown> {
  const { client, history, database } = reader
  const services = createTestServices({ clients: [client], history, db: database.db, clock: createHurriedClock() })
  const row = { morphoMidnight: { midnight: vectors.midnight, startBlock: 1 } }
  const routes = portfolioRoutes({
    chainIds: [CHAIN_ID],
    connect: () => services,
    servesSolana: false,
    priceMarket: createPriceMarket(),
    nativeDoubles: new Map(),
    families: [MORPHO_MIDNIGHT.configure(new Map([[CHAIN_ID, row]]))],
  })
  const route = routes.find(({ path }) => path === `/v1/portfolio/${name}`)
  if (route === undefined) throw new Error(`Cannot find ${name}`)
  return (await callRoute(route, { query })).reply.data
}

interface Balance {
  readonly net_worth_usd: string
  readonly assets_usd: string
  readonly debt_usd: string
  readonly coverage: { readonly families: readonly string[]; readonly not_read: readonly string[] }
}

interface Row extends Readonly<Record<string, unknown>> {
  readonly kind: string
  readonly amount: { readonly raw: string }
  readonly not_counted: { readonly raw: string; readonly usd: string | null; readonly reason: string } | null
  readonly position: Readonly<Record<string, string>> | null
}

const decimals = new Map(
  [...vectors.tokens.loan, ...vectors.tokens.collateral].map((token) => [token.address, token.decimals]),
)

/** Whole tokens, of which each is a dollar here, in 10^-18 dollars. */
function toUsd(token: Address | undefined, raw: string | bigint): bigint {
  return BigInt(raw) * 10n ** BigInt(DIGITS - (decimals.get(token as Address) ?? 0))
}

/** With six digits, half away from zero. */
function toText(units: bigint): string {
  const scale = 10n ** BigInt(DIGITS - 6)
  const size = units < 0n ? -units : units
  const millionths = (2n * size + scale) / (2n * scale)
  const digits = String(millionths).padStart(7, '0')
  return `${units < 0n && millionths > 0n ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`
}

/** What a wallet has and owes at a checkpoint, as the contract said; credit as far as it can be withdrawn. */
function sumWallet(number: number, { markets, positions }: (typeof vectors.checkpoints)[number]) {
  let [assets, debts] = [0n, 0n]
  for (const { wallet, market: index, view, debt, collateral } of positions) {
    if (wallet !== number) continue
    const { loanToken, collateralParams = [] } = vectors.markets[index] ?? {}
    const pot = BigInt(markets.find(({ market }) => market === index)?.withdrawable ?? 0)
    const credit = BigInt(view.credit)
    assets += toUsd(loanToken, credit < pot ? credit : pot)
    for (const { index: place, raw } of collateral) assets += toUsd(collateralParams[place]?.token, raw)
    debts += toUsd(loanToken, debt)
  }
  return { assets, debts }
}

test(
  'the net worth of every wallet has its debts at par and of its credit what can be withdrawn, never par',
  async () => {
    let owing = 0
    for (const [index, checkpoint] of vectors.checkpoints.entries()) {
      if (index % 2 === 0) continue
      for (const [number, wallet] of vectors.wallets.entries()) {
        const query = `wallet=${wallet}&chain_id=${CHAIN_ID}&at_block=${chain.blocks[index]}`
        const { net_worth_usd, assets_usd, debt_usd, coverage } = (await ask('balance', query)) as Balance
        const { assets, debts } = sumWallet(number, checkpoint)
        expect([net_worth_usd, assets_usd, debt_usd]).toEqual([assets - debts, assets, debts].map(toText))
        expect(coverage.families).toEqual(['morpho-midnight'])
        expect(coverage.not_read.filter((text) => /midnight/i.test(text))).toEqual([])
        if (debts > 0n) owing++
      }
    }
    expect(owing).toBeGreaterThan(10)
  },
  LIMIT_MS,
)

test(
  'rows say when a debt falls due, whether it is safe, what backs it, and which credit is paid at maturity alone',
  async () => {
    const seen = { overdue: 0, unknown: 0, unhealthy: 0, later: 0, collateral: 0 }
    for (const [turn, checkpoint] of vectors.checkpoints.entries()) {
      for (const [number, wallet] of vectors.wallets.entries()) {
        const query = `wallet=${wallet}&chain_id=${CHAIN_ID}&at_block=${chain.blocks[turn]}&limit=25`
        for (const row of (await ask('assets', query)) as readonly Row[]) {
          if (row.position === null) continue
          const { index, market } = findMarket(row.position['market_id'])
          const position = checkpoint.positions.find((each) => each.wallet === number && each.market === index)
          if (row.kind === 'borrowed') {
            const isOverdue = checkpoint.time > Number(market.maturity)
            expect(row).toMatchObject({
              due_at: Number(market.maturity),
              is_overdue: isOverdue,
              is_healthy: position?.isHealthy ?? null,
            })
            expect(row['is_collateral']).toBeUndefined()
            expect(row['health_factor'] === null).toBe(position?.isHealthy === null)
            if (isOverdue) seen.overdue++
            if (position?.isHealthy === null) seen.unknown++
            if (position?.isHealthy === false) seen.unhealthy++
            continue
          }
          expect(row['due_at']).toBeUndefined()
          expect(row['is_collateral']).toBe(row.position['part'] !== 'lent')
          if (row['is_collateral'] === true) seen.collateral++
          if (row.not_counted === null) continue
          const pot = BigInt(checkpoint.markets.find((each) => each.market === index)?.withdrawable ?? 0)
          expect(row.not_counted).toMatchObject({
            raw: String(BigInt(position?.view.credit ?? 0) - pot),
            usd: null,
            reason: 'at_maturity',
          })
          expect(row['value_usd'] === null).toBe(pot === 0n)
          seen.later++
        }
      }
    }
    expect(Object.entries(seen).filter(([, count]) => count === 0)).toEqual([])
  },
  LIMIT_MS,
)
