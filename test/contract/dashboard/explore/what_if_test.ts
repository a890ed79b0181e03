import { beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { presentWallet } from '../../../../src/family/aave_v3/present/present.ts'
import type { PresentedPosition } from '../../../../src/family/aave_v3/present/schema.ts'
import { ASSETS, type AssetName, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import { borrowCall, repayCall, setPriceCall } from '../../../devnet/aave_v3/calls.ts'
import { exclusiveAave, type SharedAave } from '../../../devnet/aave_v3/shared.ts'
import {
  aaveLegs,
  computeBorrowRoom,
  type Legs,
  liquidationAt,
  type Steps,
  whatIf,
} from '../../../support/dashboard/explore/pages.ts'
import { createChain, createClient, readWallets } from '../../family/aave_v3/support.ts'

/** Relative to the health factor: interest within the seconds of a test, and the sixth digit of US dollars. */
const NEAR = 5e-6
/** Below this, a raw unit or the contract's rounding exceeds `NEAR`. */
const LEAST_USD = 500

/** A position in a market, before a step. */
interface Case {
  readonly wallet: Address
  readonly market: MarketName
  readonly position: PresentedPosition
  readonly legs: Legs
}

describe("equals the pools' account data after the real steps", () => {
  let shared: SharedAave
  beforeAll(async () => {
    shared = await exclusiveAave()
  }, 180_000)

  /** Positions in all markets with a debt that may grow and be repaid. */
  async function cases(): Promise<Case[]> {
    const { devnet, aave } = shared
    const { paused, frozen, ...wallets } = aave.wallets
    const read = await readWallets(createClient(createChain(devnet)), Object.values(wallets))
    return read.wallets.flatMap((held) =>
      presentWallet(held, { target: '1.5', full: true })
        .positions.filter(
          ({ healthFactor, totalDebtUSD }) => Number(totalDebtUSD) > LEAST_USD && healthFactor !== 'MAX',
        )
        .map((position) => ({
          wallet: held.wallet,
          market: position.marketId as MarketName,
          position,
          legs: aaveLegs(position),
        })),
    )
  }

  /** Compares the forecast of each case with the pool's account data. */
  async function expectAgreement(forecasts: readonly (Case & { readonly steps: Steps })[]): Promise<void> {
    for (const { wallet, market, legs, steps, position } of forecasts) {
      const data = await shared.aave.getUserAccountData(market, wallet)
      const after = whatIf(legs, steps)
      const factor = Number(data.healthFactor) / 1e18
      // Pools before 3.6 count with the average threshold, cut to hundredths of a percent, once before and once after.
      const cut = market === 'v3_0' ? 1 / Number(data.currentLiquidationThreshold) : 0
      const off = Math.abs(after.healthFactor / factor - 1)
      expect({
        wallet,
        market,
        symbols: position.suppliedAssets.map(({ symbol }) => symbol),
        ok: off < NEAR + cut,
        off,
      }).toMatchObject({ ok: true })
      expect(Math.abs(after.debt / (Number(data.totalDebtBase) / 1e8) - 1)).toBeLessThan(NEAR)
    }
  }

  /** Finds the largest debt of a case, which the steps change. */
  function findDebt({ position: { borrowedAssets } }: Case) {
    const [debt] = borrowedAssets.toSorted((a, b) => Number(b.amountBorrowedUSD) - Number(a.amountBorrowedUSD))
    const { address, amount, priceUSD } = debt ?? {}
    const [asset] = Object.entries(ASSETS).find(([, token]) => token.address === address) ?? []
    if (asset === undefined || address === undefined) throw new Error('Cannot find what is owed')
    return { asset: asset as AssetName, id: address, amount: Number(amount), priceUsd: Number(priceUSD) }
  }

  const raw = (asset: AssetName, amount: number) =>
    BigInt(Math.floor(amount * 1e6)) * 10n ** BigInt(ASSETS[asset].decimals - 6)

  test('without a step, in and out of eModes, in pools of 3.6 and 3.0', async () => {
    const all = await cases()
    expect(all.length).toBeGreaterThan(15)
    expect(new Set(all.map(({ market }) => market)).size).toBe(4)
    await expectAgreement(all.map((each) => ({ ...each, steps: { prices: {}, borrowed: {} } })))
  }, 60_000)

  test('after repaying a third of a debt', async () => {
    const all = await cases()
    const steps = all.map((each) => {
      const { asset, id, amount, priceUsd } = findDebt(each)
      const repaid = raw(asset, amount / 3)
      const usd = (Number(repaid) / 10 ** ASSETS[asset].decimals) * priceUsd
      return {
        each,
        call: repayCall({ ...each, asset, amount: repaid }),
        steps: { prices: {}, borrowed: { [id]: -usd } },
      }
    })
    await shared.devnet.send(steps.map(({ call }) => call))
    await expectAgreement(steps.map(({ each, steps }) => ({ ...each, steps })))
  }, 60_000)

  test('after borrowing half of what the pool still lends', async () => {
    const all = (await cases()).filter(({ position }) => roomToBorrow(position) > 50)
    expect(all.length).toBeGreaterThan(10)
    const steps = all.map((each) => {
      const { asset, id, priceUsd } = findDebt(each)
      const borrowed = raw(asset, Math.min(roomToBorrow(each.position), 2_000) / 2 / priceUsd)
      const usd = (Number(borrowed) / 10 ** ASSETS[asset].decimals) * priceUsd
      return {
        each,
        call: borrowCall({ ...each, asset, amount: borrowed }),
        steps: { prices: {}, borrowed: { [id]: usd } },
      }
    })
    await shared.devnet.send(steps.map(({ call }) => call))
    await expectAgreement(steps.map(({ each, steps }) => ({ ...each, steps })))
  }, 60_000)

  test('after price moves of tokens that are supplied, borrowed, or both', async () => {
    const moves = { weth: 0.83, wbtc: 1.21, usdc: 0.97, wsteth: 0.9, dai: 1.04 } as const
    const names = Object.keys(moves) as (keyof typeof moves)[]
    const before = await cases()
    const prices = await shared.aave.getPrices('main')
    const calls = names.map((name) => setPriceCall(name, BigInt(Math.round(Number(prices.get(name)) * moves[name]))))
    await shared.devnet.send(calls)
    const after = await shared.aave.getPrices('main')
    const multiples = Object.fromEntries(
      [...after].map(([name, price]) => [ASSETS[name].address, Number(price) / Number(prices.get(name))]),
    )
    await expectAgreement(before.map((each) => ({ ...each, steps: { prices: multiples, borrowed: {} } })))
  }, 60_000)

  test('a token at its liquidation price alone has the pool call the health factor 1', async () => {
    const { devnet, aave } = shared
    const tokens = Object.entries(ASSETS) as [AssetName, { readonly address: Address }][]
    const all = (await cases()).flatMap((each) =>
      [...each.legs.supplies, ...each.legs.debts].flatMap(({ id }) => {
        const [name] = tokens.find(([, { address }]) => address === id) ?? []
        const multiple = liquidationAt(each.legs, id)
        return name === undefined || multiple === undefined || multiple > 10 ? [] : [{ ...each, name, multiple }]
      }),
    )
    expect([all.some(({ multiple }) => multiple < 1), all.some(({ multiple }) => multiple > 1)]).toEqual([true, true])
    expect(all.length).toBeGreaterThan(15)
    for (const { wallet, market, name, multiple } of all) {
      const before = (await aave.getPrices(market)).get(name) ?? 0n
      await devnet.send([setPriceCall(name, BigInt(Math.round(Number(before) * multiple)))])
      const { healthFactor, currentLiquidationThreshold } = await aave.getUserAccountData(market, wallet)
      const cut = market === 'v3_0' ? 1 / Number(currentLiquidationThreshold) : 0
      expect(Math.abs(Number(healthFactor) / 1e18 - 1)).toBeLessThan(NEAR + cut)
      await devnet.send([setPriceCall(name, before)])
    }
  }, 60_000)
})

function roomToBorrow({ borrowLimitUSD, totalDebtUSD }: PresentedPosition): number {
  return Number(borrowLimitUSD) - Number(totalDebtUSD)
}

describe('computed by hand', () => {
  const legs: Legs = {
    supplies: [
      { id: 'eth', symbol: 'WETH', usd: 1_000, weight: 0.8 },
      { id: 'btc', symbol: 'WBTC', usd: 500, weight: 0.7 },
      { id: 'usd', symbol: 'USDC', usd: 300, weight: 0 },
    ],
    debts: [
      { id: 'usd', symbol: 'USDC', usd: 600, weight: 1 },
      { id: 'eth', symbol: 'WETH', usd: 100, weight: 1 },
    ],
  }
  const none: Steps = { prices: {}, borrowed: {} }

  test('sums collateral, and ignores supplies that are no collateral', () => {
    expect(whatIf(legs, none)).toEqual({ collateral: 1_500, debt: 700, ltv: 700 / 1_500, healthFactor: 1_150 / 700 })
    expect(computeBorrowRoom(legs)).toBe(450)
  })

  test('has no health factor without debt, and never repays more than is owed', () => {
    const repaid = whatIf(legs, { prices: {}, borrowed: { usd: -10_000, eth: -100 } })
    expect([repaid.debt, repaid.healthFactor]).toEqual([0, Number.POSITIVE_INFINITY])
    expect(whatIf({ supplies: [], debts: [] }, none)).toEqual({
      collateral: 0,
      debt: 0,
      ltv: 0,
      healthFactor: Number.POSITIVE_INFINITY,
    })
  })

  test('moves a token on both sides, and what is borrowed with it', () => {
    const after = whatIf(legs, { prices: { eth: 2 }, borrowed: { eth: 50 } })
    expect(after.healthFactor).toBeCloseTo((1_600 + 350) / (600 + 300), 12)
  })

  test('finds the price of one token at which the health factor is 1', () => {
    for (const id of ['eth', 'usd']) {
      const multiple = liquidationAt(legs, id) ?? 0
      expect(whatIf(legs, { prices: { [id]: multiple }, borrowed: {} }).healthFactor).toBeCloseTo(1, 12)
    }
    expect(liquidationAt(legs, 'usd')).toBeCloseTo(1.75, 12)
    // The rest of the collateral is enough.
    expect(liquidationAt(legs, 'btc')).toBeUndefined()
    expect(liquidationAt(legs, 'none')).toBeUndefined()
    expect(liquidationAt({ supplies: legs.supplies, debts: [] }, 'eth')).toBeUndefined()
  })
})
