import { beforeAll, describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import type { Address } from 'viem'
import { presentReduced, presentWallet } from '../../../../src/family/aave_v3/present/present.ts'
import { batchOutput, listOutput } from '../../../../src/family/aave_v3/present/schema.ts'
import type { NamedReserve, Position, WalletPositions } from '../../../../src/family/aave_v3/read/position.ts'
import { MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { caseCount } from '../../../support/cases.ts'
import { createChain, createClient, readWallets } from './support.ts'

const WALLET = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
const RAY = 10n ** 27n
const USD = 10n ** 8n

function reserve(change: Partial<NamedReserve>): NamedReserve {
  return {
    id: 0,
    asset: toWalletAddress('token'),
    symbol: 'TKN',
    ltvBps: 7_500n,
    liquidationThresholdBps: 8_000n,
    decimals: 6,
    isOpen: true,
    isPaused: false,
    legacyCategory: 0,
    debtCeiling: 0n,
    isolationDebt: 0n,
    withdrawable: 10n ** 30n,
    underBorrowCap: 2n ** 128n - 1n,
    graceUntilSec: 0n,
    isSiloed: false,
    supplyApyRay: 0n,
    borrowApyRay: 0n,
    ...change,
  }
}

/** 1,000 USD at 3 % as collateral, 100 USD at 1 % that do not back debt, 400 USD of debt at 5 %. */
const POSITION: Position = {
  market: 'main',
  terms: {
    timestampSec: 1_000_000n,
    sentinel: { refusesLoans: false, delaysLiquidations: false },
    lenders: [{ id: 0, isEnabled: true, isEnabledInIsolation: true, isSiloed: false, legacyCategory: 0 }],
  },
  unit: USD,
  features: { liquidEModes: true, zeroLtvEModes: true, isolatedEModes: false },
  category: undefined,
  data: {
    totalCollateral: 1_000n * USD,
    totalDebt: 400n * USD,
    availableBorrows: 350n * USD,
    liquidationThresholdBps: 8_000n,
    ltvBps: 7_500n,
    healthFactorWad: 1_999_999_999_999_999_999n,
  },
  assets: [
    {
      isCollateral: true,
      supplied: 1_000_000_000n,
      variableDebt: 0n,
      stableDebt: 0n,
      stableRateRay: 0n,
      price: USD,
      reserve: reserve({ symbol: 'AAA', supplyApyRay: (3n * RAY) / 100n }),
    },
    {
      isCollateral: false,
      supplied: 50_000_000n,
      variableDebt: 0n,
      stableDebt: 0n,
      stableRateRay: 0n,
      price: 2n * USD,
      reserve: reserve({ id: 1, symbol: 'BBB', supplyApyRay: RAY / 100n }),
    },
    {
      isCollateral: false,
      supplied: 0n,
      variableDebt: 400_000_000n,
      stableDebt: 0n,
      stableRateRay: 0n,
      price: USD,
      reserve: reserve({ id: 2, symbol: 'CCC', borrowApyRay: (5n * RAY) / 100n }),
    },
  ],
}

function walletWith(...positions: Position[]): WalletPositions {
  return { chainId: 1, wallet: WALLET.toLowerCase() as Address, positions }
}

/** The first position and its calculations. */
function shown(position: Position, target = '1.5') {
  const { positions, calculations } = presentWallet(walletWith(position), { target })
  const [first, second] = [positions[0], calculations[0]]
  if (first === undefined || second === undefined) throw new Error('Expected a position')
  const { suppliedAssets, borrowedAssets, ...totals } = first
  return { suppliedAssets, borrowedAssets, totals, calculations: second }
}

describe('presentWallet()', () => {
  test('writes every field, each in its format', () => {
    expect(presentWallet(walletWith(POSITION), { target: '1.5' })).toEqual({
      chain_id: 1,
      wallet: WALLET,
      positions: [
        {
          marketId: 'main',
          healthFactor: '1.9999',
          liquidatable_because: [],
          due_at: null,
          totalCollateralUSD: '1000.000000',
          totalDebtUSD: '400.000000',
          netWorthUSD: '700.000000',
          suppliedAssets: [
            { symbol: 'AAA', amountSuppliedUSD: '1000.000000', supplyAPY: '0.03000000', isCollateral: true },
            { symbol: 'BBB', amountSuppliedUSD: '100.000000', supplyAPY: '0.01000000', isCollateral: false },
          ],
          borrowedAssets: [{ symbol: 'CCC', amountBorrowedUSD: '400.000000', borrowAPY: '0.05000000' }],
        },
      ],
      calculations: [
        {
          marketId: 'main',
          targetHealthFactor: 1.5,
          healthFactor: '1.9999',
          // 31 a year on 1,100, 20 on 400.
          dailySupplyInterestUSD: '0.084932',
          dailyBorrowInterestUSD: '0.054795',
          netDailyInterestUSD: '0.030137',
          safeBorrowAmountUSD: '133.333333',
          safeWithdrawAmountUSD: '250.000000',
          currentLtvPercentage: '40.0000',
          netAPY: '0.01571429',
          positionLeverage: '1.57142857',
          weightedSupplyAPY: '0.02818182',
          weightedBorrowAPY: '0.05000000',
          borrowUtilizationRate: '0.53333333',
        },
      ],
    })
  })

  test('truncates the health factor and never overstates it, and says MAX without debt', () => {
    const factor = (healthFactorWad: bigint, totalDebt = 1n) =>
      shown({ ...POSITION, data: { ...POSITION.data, totalDebt, healthFactorWad } }).totals.healthFactor
    expect(factor(999_999_999_999_999_999n)).toBe('0.9999')
    expect(factor(1_000_050_000_000_000_000n)).toBe('1.0000')
    expect(factor(10n ** 18n)).toBe('1.0000')
    expect(factor(99_999_999_999_999n)).toBe('0.0000')
    expect(factor(0n)).toBe('0.0000')
    expect(factor(123_456_789_012n * 10n ** 18n)).toBe('123456789012.0000')
    expect(factor(2n ** 256n - 1n, 0n)).toBe('MAX')
  })

  test('shows undefined ratios as the API specifies', () => {
    const debtAlone: Position = {
      ...POSITION,
      assets: POSITION.assets.slice(2),
      data: {
        totalCollateral: 0n,
        totalDebt: 400n * USD,
        availableBorrows: 0n,
        liquidationThresholdBps: 0n,
        ltvBps: 0n,
        healthFactorWad: 0n,
      },
    }
    expect(shown(debtAlone)).toMatchObject({
      totals: { healthFactor: '0.0000', netWorthUSD: '-400.000000' },
      calculations: {
        positionLeverage: 'MAX',
        borrowUtilizationRate: 'MAX',
        currentLtvPercentage: '0.0000',
        netAPY: '0.00000000',
        weightedSupplyAPY: '0.00000000',
        netDailyInterestUSD: '-0.054795',
        safeBorrowAmountUSD: '0.000000',
        safeWithdrawAmountUSD: '0.000000',
      },
    })
    const supplyAlone: Position = {
      ...POSITION,
      assets: POSITION.assets.slice(1, 2),
      data: {
        totalCollateral: 0n,
        totalDebt: 0n,
        availableBorrows: 0n,
        liquidationThresholdBps: 0n,
        ltvBps: 0n,
        healthFactorWad: 2n ** 256n - 1n,
      },
    }
    expect(shown(supplyAlone)).toMatchObject({
      totals: { healthFactor: 'MAX', netWorthUSD: '100.000000', totalCollateralUSD: '0.000000' },
      calculations: {
        positionLeverage: '1.00000000',
        borrowUtilizationRate: '0.00000000',
        currentLtvPercentage: '0.0000',
        netAPY: '0.01000000',
        weightedBorrowAPY: '0.00000000',
        dailyBorrowInterestUSD: '0.000000',
        safeBorrowAmountUSD: '0.000000',
        safeWithdrawAmountUSD: '0.000000',
      },
    })
  })

  test('shows utilization above 1 if the limit is exceeded, and loan-to-value in percent', () => {
    const data = { ...POSITION.data, totalDebt: 800n * USD, availableBorrows: 0n, healthFactorWad: 10n ** 18n }
    expect(shown({ ...POSITION, data }).calculations).toMatchObject({
      borrowUtilizationRate: '1.06666667',
      currentLtvPercentage: '80.0000',
      positionLeverage: '3.66666667',
    })
  })

  test('calculates in the unit of the market', () => {
    const coarse: Position = {
      ...POSITION,
      unit: 100n,
      data: { ...POSITION.data, totalCollateral: 100_000n, totalDebt: 40_000n, availableBorrows: 35_000n },
      assets: POSITION.assets.map((asset) => ({ ...asset, price: asset.price / 10n ** 6n })),
    }
    expect(presentWallet(walletWith(coarse), { target: '1.5' })).toEqual(
      presentWallet(walletWith(POSITION), { target: '1.5' }),
    )
  })

  test('calculates safe amounts at the target that it shows', () => {
    expect(shown(POSITION, '1.6').calculations).toMatchObject({
      targetHealthFactor: 1.6,
      safeBorrowAmountUSD: '100.000000',
      safeWithdrawAmountUSD: '200.000000',
    })
    expect(shown(POSITION, '100').calculations).toMatchObject({ safeBorrowAmountUSD: '0.000000' })
    expect(() => shown(POSITION, 'much')).toThrow(RangeError)
  })
})

describe('presentReduced()', () => {
  test('writes the same figures, and only three of each', () => {
    const other = { ...POSITION, market: 'lido' }
    expect(presentReduced(walletWith(POSITION, other), '1.25')).toEqual({
      chain_id: 1,
      wallet: WALLET,
      positions: ['main', 'lido'].map((marketId) => ({
        marketId,
        healthFactor: '1.9999',
        netWorthUSD: '700.000000',
      })),
      calculations: [1, 2].map(() => ({ healthFactor: '1.9999', netAPY: '0.01571429', targetHealthFactor: 1.25 })),
    })
  })
})

describe('what is shown of random wallets', () => {
  const RANDOM_COUNT = caseCount(120, 40)
  let devnet: Devnet
  let aave: AaveDevnet
  let wallets: readonly Address[]

  beforeAll(async () => {
    const shared = await sharedAave()
    devnet = shared.devnet
    aave = shared.aave
    const random = await aave.randomWallets(5_151, RANDOM_COUNT)
    wallets = [...Object.values(aave.wallets), ...random.wallets]
  }, 180_000)

  test('follows from what the contracts say, calculated another way, to the last digit but one', async () => {
    const { wallets: found, block } = await readWallets(createClient(createChain(devnet)), wallets)
    const prices = new Map(
      await Promise.all(
        (Object.keys(MARKETS) as MarketName[]).map(
          async (name) => [name, await aave.getPrices(name, block.number)] as const,
        ),
      ),
    )
    let compared = 0
    for (const held of found) {
      const entry = presentWallet(held, { target: '1.5' })
      v.assert(listOutput.entries.data.item, entry)
      v.assert(batchOutput.entries.data.item, presentReduced(held, '1.5'))
      for (const [index, position] of entry.positions.entries()) {
        const market = position.marketId as MarketName
        const data = await aave.getUserAccountData(market, held.wallet, block.number)
        const reserves = await aave.getUserReserves(market, held.wallet, block.number)
        const toUsd = (asset: (typeof reserves)[number]['asset'], amount: bigint) => {
          const decimals = aave.reserveOf(market, asset).decimals
          return (Number(amount) / 10 ** decimals) * (Number(prices.get(market)?.get(asset)) / 1e8)
        }
        const names = (of: typeof reserves) => of.map(({ asset }) => aave.reserveOf(market, asset).symbol).sort()
        const supplied = reserves.filter((each) => each.supplied > 0n)
        const owed = reserves.filter(({ variableDebt, stableDebt }) => variableDebt + stableDebt > 0n)
        expect(position.suppliedAssets.map(({ symbol }) => symbol).sort()).toEqual(names(supplied))
        expect([...new Set(position.borrowedAssets.map(({ symbol }) => symbol))].sort()).toEqual(names(owed))
        const suppliedUsd = supplied.reduce((sum, { asset, supplied: amount }) => sum + toUsd(asset, amount), 0)
        const [collateral, debt] = [Number(data.totalCollateralBase) / 1e8, Number(data.totalDebtBase) / 1e8]
        near(position.totalCollateralUSD, collateral)
        near(position.totalDebtUSD, debt)
        near(position.netWorthUSD, suppliedUsd - debt)
        for (const each of supplied.filter(({ isCollateral }) => isCollateral)) {
          const { symbol } = aave.reserveOf(market, each.asset)
          const ours = position.suppliedAssets.find((one) => one.symbol === symbol)
          expect(ours?.isCollateral).toBe(true)
          near(ours?.amountSuppliedUSD, toUsd(each.asset, each.supplied))
        }
        const figures = entry.calculations[index]
        const yearly = position.suppliedAssets.reduce((sum, each) => {
          return sum + Number(each.amountSuppliedUSD) * Number(each.supplyAPY)
        }, 0)
        const cost = position.borrowedAssets.reduce((sum, each) => {
          return sum + Number(each.amountBorrowedUSD) * Number(each.borrowAPY)
        }, 0)
        // Figures that are shown to 8 digits, multiplied by the dollars.
        const digits = { absolute: (2e-8 * (suppliedUsd + debt)) / 365 + 2e-6 }
        near(figures?.dailySupplyInterestUSD, yearly / 365, digits)
        near(figures?.dailyBorrowInterestUSD, cost / 365, digits)
        near(figures?.netDailyInterestUSD, (yearly - cost) / 365, digits)
        near(figures?.currentLtvPercentage, collateral === 0 ? 0 : (debt / collateral) * 100, { absolute: 1e-4 })
        const limit = (collateral * Number(data.ltv)) / 10_000
        if (debt > 0 && limit > 1) near(figures?.borrowUtilizationRate, debt / limit, { absolute: 2e-8 + 1e-8 / limit })
        if (suppliedUsd - debt > 1) {
          near(figures?.positionLeverage, suppliedUsd / (suppliedUsd - debt), { absolute: 1e-6 })
          near(figures?.netAPY, (yearly - cost) / (suppliedUsd - debt), {
            absolute: 1e-7 * (1 + suppliedUsd / (suppliedUsd - debt)),
          })
        }
        compared++
      }
    }
    expect(compared).toBeGreaterThan(RANDOM_COUNT)
  }, 60_000)
})

function near(text: string | undefined, value: number, { absolute = 1.1e-6 }: { readonly absolute?: number } = {}) {
  const difference = Math.abs(Number(text) - value)
  if (!(difference <= absolute + Math.abs(value) * 1e-12)) throw new Error(`Expected ${text} to be near ${value}`)
}
