import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as v from 'valibot'
import { presentWallet } from '../../../../src/family/aave_v3/present/present.ts'
import { listOutput } from '../../../../src/family/aave_v3/present/schema.ts'
import { formatExact } from '../../../../src/lib/number/decimal.ts'
import { MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import { exclusiveAave, type SharedAave } from '../../../devnet/aave_v3/shared.ts'
import { createChain, createClient, readWallets } from './support.ts'

const MARKET_NAMES = Object.keys(MARKETS) as MarketName[]

let shared: SharedAave

beforeAll(async () => {
  // Other files change what limits a withdrawal.
  shared = await exclusiveAave()
}, 180_000)
afterAll(() => shared?.devnet.stop(), 60_000)

test("amounts, prices, thresholds and the limit are the contracts' own at the block, of every wallet with a name", async () => {
  const { devnet, aave } = shared
  const { wallets, block } = await readWallets(createClient(createChain(devnet)), Object.values(aave.wallets))
  const prices = new Map(
    await Promise.all(MARKET_NAMES.map(async (name) => [name, await aave.getPrices(name, block.number)] as const)),
  )
  let weighed = 0
  const limits = new Set<string | null>()
  for (const held of wallets) {
    const entry = presentWallet(held, { target: '1.5', full: true })
    v.assert(listOutput.entries.data.item, entry)
    for (const { marketId, borrowLimitUSD, suppliedAssets, borrowedAssets } of entry.positions) {
      const market = marketId as MarketName
      const data = await aave.getUserAccountData(market, held.wallet, block.number)
      const reserves = await aave.getUserReserves(market, held.wallet, block.number)
      const named = (address: string | undefined) =>
        reserves.find(({ asset }) => aave.reserveOf(market, asset).asset === address)
      for (const { address, amount, priceUSD, withdrawable, limited_by = null } of suppliedAssets) {
        const { asset, supplied } = expectFound(named(address))
        expect(amount).toBe(formatExact(supplied, aave.reserveOf(market, asset).decimals))
        expect(withdrawable?.amount === amount).toBe(limited_by === null)
        expect(Number(withdrawable?.raw)).toBeLessThanOrEqual(Number(supplied))
        limits.add(limited_by)
        expect(Number(priceUSD)).toBeCloseTo(Number(prices.get(market)?.get(asset)) / 1e8, 5)
      }
      for (const { address, amount } of borrowedAssets) {
        const { asset, variableDebt, stableDebt } = expectFound(named(address))
        const { decimals } = aave.reserveOf(market, asset)
        expect([formatExact(variableDebt, decimals), formatExact(stableDebt, decimals)]).toContain(amount ?? '')
      }
      if (data.availableBorrowsBase > 0n) {
        const limit = Number(data.totalDebtBase + data.availableBorrowsBase) / 1e8
        expect(Number(borrowLimitUSD)).toBeCloseTo(limit, 5)
      }
      if (data.totalCollateralBase < 100_000_000n) continue
      // The pool says the average alone, in whole hundredths of a percent.
      const backing = suppliedAssets.filter(({ isCollateral }) => isCollateral)
      const weight = backing.reduce((sum, each) => sum + usd(each) * Number(each.liquidationThreshold), 0)
      const average = weight / (Number(data.totalCollateralBase) / 1e8)
      expect(Math.abs(average * 10_000 - Number(data.currentLiquidationThreshold))).toBeLessThan(1.001)
      weighed += backing.length > 1 ? 1 : 0
    }
  }
  expect(weighed).toBeGreaterThan(3)
  for (const limit of [null, 'paused', 'liquidity', 'health']) expect(limits).toContain(limit)
})

function usd({ amountSuppliedUSD }: { readonly amountSuppliedUSD?: string }): number {
  return Number(amountSuppliedUSD)
}

function expectFound<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new Error('An asset is not among the reserves of the wallet')
  return found
}
