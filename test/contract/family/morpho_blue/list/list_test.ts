import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { AccrualPosition, Market, MarketParams } from '@morpho-org/blue-sdk'
import { type Address, zeroAddress } from 'viem'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import type { MorphoMarket } from '../../../../devnet/morpho_blue/calls.ts'
import type { MorphoDevnet } from '../../../../devnet/morpho_blue/mod.ts'
import { createRandom } from '../../../../devnet/random.ts'
import { caseCount } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { type Lister, readTruth, startLister, type Wire } from './world.ts'

const BUILD_LIMIT_MS = 300_000
const WALLETS = 300
/** How many of them are asked for. */
const ASKED = caseCount(WALLETS, 24)
const ROUNDS = caseCount(40, 24)

let devnet: Devnet
let morpho: MorphoDevnet
let database: TestDatabase
let lister: Lister
let wallets: readonly Address[]
let markets: readonly MorphoMarket[]
/** First block with all markets. */
let begun: number

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 9 * 365 * 86_400 })
  morpho = await devnet.morpho()
  const random = await morpho.startRandom({ seed: 20_261_123, count: WALLETS })
  begun = Number(await devnet.client.getBlockNumber())
  for (let round = 0; round < ROUNDS; round++) await random.round()
  wallets = random.wallets.slice(0, ASKED)
  markets = [...Object.values(morpho.markets), ...random.markets]
  database = await testDatabase()
  lister = startLister(devnet, { database })
}, BUILD_LIMIT_MS)
afterAll(async () => {
  await lister?.close()
  await database?.close()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

/** Amounts of an entry in raw units, by market and side. */
function listAmounts([entry]: Wire, of: readonly MorphoMarket[]): Record<string, Record<string, bigint>> {
  const raw = (amount: string | null | undefined, decimals: number | undefined): bigint => {
    if (amount === undefined || amount === null || decimals === undefined) return 0n
    const [whole = '', fraction = ''] = amount.split('.')
    return BigInt(whole + fraction.padEnd(decimals, '0'))
  }
  return Object.fromEntries(
    (entry?.positions ?? []).map(({ marketId, suppliedAssets, borrowedAssets }) => {
      const market = of.find(({ id }) => id === marketId)
      const [loan, collateral] = [market?.params.loanToken, market?.params.collateralToken].map(getDecimals)
      const amounts = {
        supplied: raw(suppliedAssets.find(({ isCollateral }) => !isCollateral)?.amount, loan),
        owed: raw(borrowedAssets[0]?.amount, loan),
        collateral: raw(suppliedAssets.find(({ isCollateral }) => isCollateral)?.amount, collateral),
      }
      return [marketId, amounts]
    }),
  )
}

function getDecimals(token: Address | undefined): number | undefined {
  return Object.values(devnet.addresses.tokens).find(({ address }) => address === token)?.decimals
}

describe('the list', () => {
  test(`is position(id, wallet) of every market of the world, for ${ASKED} random wallets at random blocks`, async () => {
    const random = createRandom(7)
    const newest = Number(await devnet.client.getBlockNumber())
    const seen = { markets: 0, empty: 0, left: 0, most: 0 }
    const allWallets = [...wallets, ...Object.values(morpho.wallets)]
    expect(allWallets.length).toBeGreaterThan(ASKED)
    for (const wallet of allWallets) {
      const block = begun + random.below(newest - begun + 1)
      const [truth, answer] = await Promise.all([
        readTruth(devnet, { markets, wallet, block }),
        lister.ask({ wallet, at_block: block, chain_id: 1 }),
      ])
      expect(answer.message).toBeUndefined()
      expect(answer.reply.asOf).toMatchObject([{ chainId: 1, blockNumber: BigInt(block) }])
      // Its only endpoint alone says which markets the wallet had entered.
      expect(answer.reply.unwitnessed).toEqual([1])
      // The loan token of one market says nothing of its decimals.
      const { undescribed } = morpho.markets
      const told = listAmounts(answer.data, markets)
      const [unnamed, wanted] = [told[undescribed.id], Object.fromEntries(truth)]
      expect(unnamed === undefined).toBe(wanted[undescribed.id] === undefined)
      delete told[undescribed.id]
      delete wanted[undescribed.id]
      expect(told as unknown).toEqual(wanted)
      seen.markets += truth.size
      seen.most = Math.max(seen.most, truth.size)
      if (truth.size === 0) seen.empty++
      expect(answer.credits).toBe(truth.size === 0 ? 0 : 15)
      expect(answer.reply.pagination?.total).toBe(truth.size === 0 ? 0 : 1)
    }
    expect(seen.markets).toBeGreaterThan(ASKED * 0.834)
    expect(seen.most).toBeGreaterThan(4)
    expect(seen.empty).toBeGreaterThan(3)
  }, 180_000)

  test('has health factors and safe figures as Morpho’s SDK has them', async () => {
    const seen = { health: 0, borrow: 0, capped: 0, withdraw: 0, below: 0 }
    const { wethUsdc } = morpho.markets
    const { supplier } = morpho.wallets
    const { totalSupplyAssets, totalBorrowAssets } = await morpho.readStored(wethUsdc, supplier)
    const left = 10n ** 7n
    await morpho.withdraw({ market: wethUsdc, wallet: supplier, assets: totalSupplyAssets - totalBorrowAssets - left })
    const at = (await devnet.client.getBlock()).timestamp
    for (const wallet of [...Object.values(morpho.wallets), ...wallets]) {
      const target = ['1.05', '1.5', '4'][seen.health % 3] ?? '1.5'
      const { data, reply } = await lister.ask({ wallet, target_health_factor: target })
      expect(reply.unwitnessed).toBeUndefined()
      for (const [index, position] of (data[0]?.positions ?? []).entries()) {
        const calculations = data[0]?.calculations[index]
        const market = markets.find(({ id }) => id === position.marketId)
        if (market === undefined) throw new Error('There is no such market')
        const isOurs = market.params.irm === morpho.adaptiveCurve || market.params.irm === zeroAddress
        // The SDK does not give a fee recipient its fee.
        if (
          !isOurs ||
          wallet === morpho.wallets.feeRecipient ||
          position.oraclePrice === null ||
          position.reason !== null
        )
          continue
        const { supplyShares, borrowShares, collateral, rateAtTarget, ...books } = await morpho.readStored(
          market,
          wallet,
        )
        const theirs = new AccrualPosition(
          { user: wallet, supplyShares, borrowShares, collateral },
          new Market({
            params: new MarketParams(market.params),
            ...books,
            price: BigInt(position.oraclePrice),
            ...(market.params.irm === zeroAddress ? {} : { rateAtTarget }),
          }),
        ).accrueInterest(at)
        const health = position.borrowedAssets.length === 0 ? 'MAX' : fixed(theirs.healthFactor ?? 0n, 18, 4)
        expect(position.healthFactor).toBe(health)
        expect(calculations?.healthFactor).toBe(health)
        expect(calculations?.targetHealthFactor).toBe(Number(target))
        expect(position.lltv).toBe(fixed(market.params.lltv, 18, 8))
        if (health !== 'MAX') seen.health++
        if (health !== 'MAX' && Number(health) < 1) seen.below++

        const maxLtv = (market.params.lltv * 100n) / BigInt(Number(target) * 100)
        const token = Object.values(devnet.addresses.tokens).find(({ address }) => address === market.params.loanToken)
        const usd = (amount: bigint) => (Number(amount) / 10 ** (token?.decimals ?? 0)) * (token?.usd ?? 0)
        const borrow = theirs.getBorrowCapacityLimit({ maxLtv })
        const pledged = theirs.getWithdrawCollateralCapacityLimit({ maxLtv })?.value ?? 0n
        const lent = theirs.withdrawCapacityLimit
        const withdraw = usd((pledged * BigInt(position.oraclePrice)) / 10n ** 36n) + usd(lent.value)
        // The SDK rounds to whole units of both tokens.
        const rounded = usd((2n * BigInt(position.oraclePrice)) / 10n ** 36n + 3n)
        closeTo(calculations?.safeBorrowAmountUSD, usd(borrow?.value ?? 0n), rounded)
        closeTo(calculations?.safeWithdrawAmountUSD, withdraw, rounded)
        if (Number(calculations?.safeBorrowAmountUSD) > 0) seen.borrow++
        if (borrow?.limiter === 'Liquidity' || lent.limiter === 'Liquidity') seen.capped++
        if (pledged > 0n && health !== 'MAX') seen.withdraw++
      }
    }
    expect(seen.health).toBeGreaterThan(ASKED / 20)
    expect(seen.borrow).toBeGreaterThan(ASKED / 3)
    expect(seen.withdraw).toBeGreaterThan(ASKED / 30)
    expect(seen.capped).toBeGreaterThan(2)
    expect(seen.below).toBeGreaterThan(1)
  }, 120_000)

  test('adds up: net worth, what is supplied, owed and pledged, in each market', async () => {
    const [entry] = (await lister.ask({ wallet: morpho.wallets.both })).data
    const [position] = entry?.positions ?? []
    const sum = (values: readonly (string | null)[]) => values.reduce((all, value) => all + Number(value), 0)
    const supplied = sum(position?.suppliedAssets.map(({ amountSuppliedUSD }) => amountSuppliedUSD) ?? [])
    const owed = sum(position?.borrowedAssets.map(({ amountBorrowedUSD }) => amountBorrowedUSD) ?? [])
    expect(position?.suppliedAssets.map(({ symbol, isCollateral }) => [symbol, isCollateral])).toEqual([
      ['USDC', false],
      ['WETH', true],
    ])
    expect(Number(position?.netWorthUSD)).toBeCloseTo(supplied - owed, 4)
    expect(position?.totalCollateralUSD).toBe(position?.suppliedAssets[1]?.amountSuppliedUSD ?? null)
    expect(position?.totalDebtUSD).toBe(position?.borrowedAssets[0]?.amountBorrowedUSD ?? null)
    expect(position?.suppliedAssets[1]?.supplyAPY).toBe('0.00000000')
    // The market lent more than it holds, and the debt holds the collateral.
    expect(position?.suppliedAssets.map(({ limited_by }) => limited_by)).toEqual(['liquidity', 'health'])
    for (const { amount, withdrawable } of position?.suppliedAssets ?? [])
      expect(Number(withdrawable?.amount)).toBeLessThan(Number(amount))
    expect(entry?.positions.every(({ reason }) => reason === null)).toBe(true)
    expect(position).toMatchObject({ loanSymbol: 'USDC', collateralSymbol: 'WETH', lltv: '0.86000000' })
  })
})

/** All digits but those beyond `digits`, which are cut. */
function fixed(units: bigint, scale: number, digits: number): string {
  const text = String(units / 10n ** BigInt(scale - digits)).padStart(digits + 1, '0')
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

/** Floating point loses some digits. */
function closeTo(ours: string | undefined, theirs: number, rounded: number): void {
  expect(Math.abs(Number(ours) - theirs)).toBeLessThanOrEqual(rounded + 1e-6 + theirs * 1e-8)
}
