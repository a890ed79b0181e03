import { describe, expect, test } from 'bun:test'
import { stringToHex } from 'viem'
import type { RawCategory, RawHolding } from '../../../../src/family/aave_v3/math/state.ts'
import type { BrokenPart, RawAccount, RawRead, RawReserve } from '../../../../src/family/aave_v3/read/abi.ts'
import { interpret } from '../../../../src/family/aave_v3/read/position.ts'
import type { AaveV3Deployment } from '../../../../src/family/aave_v3/table.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'

const WALLETS = ['first', 'second', 'third'].map(toWalletAddress)
const DEPLOYMENTS: readonly AaveV3Deployment[] = ['main', 'lido'].map((market) => ({
  market,
  poolAddressesProvider: toWalletAddress(market),
  startBlock: 0,
}))
const ASSET = toWalletAddress('token')
const FEATURES = { liquidEModes: true, zeroLtvEModes: true, isolatedEModes: false }
const OLD = { liquidEModes: false, zeroLtvEModes: false, isolatedEModes: false }
const DATA = {
  totalCollateral: 1n,
  totalDebt: 0n,
  availableBorrows: 0n,
  liquidationThresholdBps: 0n,
  ltvBps: 0n,
  healthFactorWad: 0n,
}
const CATEGORY: RawCategory = {
  market: 0,
  id: 2,
  answered: true,
  ltvBps: 9_000n,
  liquidationThresholdBps: 9_500n,
  collateralBitmap: 1n,
  zeroLtvBitmap: 0n,
  borrowableBitmap: 0n,
  isolated: false,
  price: 0n,
}

function reserve(change: Partial<RawReserve> = {}): RawReserve {
  return {
    market: 0,
    id: 0,
    asset: ASSET,
    configuration: (1n << 56n) | (2n << 168n),
    liquidityRateRay: 0n,
    variableBorrowRateRay: 0n,
    isolationDebt: 0n,
    price: 7n,
    withdrawable: 0n,
    underBorrowCap: 0n,
    graceUntilSec: 0n,
    symbol: stringToHex('TKN', { size: 32 }),
    ...change,
  }
}

function holding(change: Partial<RawHolding> = {}): RawHolding {
  return {
    reserve: 0,
    isCollateral: true,
    supplied: 5n,
    variableDebt: 0n,
    stableDebt: 0n,
    stableRateRay: 0n,
    ...change,
  }
}

function account(change: Partial<RawAccount> = {}): RawAccount {
  return { wallet: 0, market: 0, category: 0, data: DATA, holdings: [holding()], ...change }
}

function interpreted(change: Partial<RawRead>, features = FEATURES) {
  const sentinel = { refusesLoans: false, delaysLiquidations: false }
  const market = { answered: true, unit: 10n ** 8n, features, sentinel, lenders: [] }
  const read: RawRead = {
    block: { chainId: 5, number: 9n, timestampSec: 8n, parentHash: '0x01' },
    taken: 3,
    markets: [market, market],
    categories: [],
    accounts: [],
    broken: [],
    reserves: [reserve()],
    ...change,
  }
  return interpret(read, { deployments: DEPLOYMENTS, wallets: WALLETS })
}

describe('interpret()', () => {
  test('gives each wallet its markets, in the order of the requested wallets, and leaves out empty ones', () => {
    const { wallets, unanswerable, block } = interpreted({
      reserves: [reserve(), reserve({ market: 1 })],
      accounts: [account({ wallet: 2 }), account({ wallet: 2, market: 1 }), account({ wallet: 0, market: 1 })],
    })
    expect(
      wallets.map(({ wallet, chainId, positions }) => [wallet, chainId, positions.map(({ market }) => market)]),
    ).toEqual([
      [WALLETS[0], 5, ['lido']],
      [WALLETS[2], 5, ['main', 'lido']],
    ] as never)
    expect([unanswerable, block.number]).toEqual([[], 9n])
  })

  test.each([
    ['configuration', "the pool does not return the wallet's configuration"],
    ['supplied', 'a supply token does not answer'],
    ['debt', 'a debt token does not answer'],
    ['category', "the pool does not return the wallet's eMode"],
  ] as const)('gives the reason if the %s of a market is broken', (part: BrokenPart, reason) => {
    const read = interpreted({ broken: [{ wallet: 1, market: 1, part }] })
    expect(read.unanswerable).toEqual([{ chainId: 5, wallet: WALLETS[1] as never, market: 'lido', reason }])
    expect(read.wallets).toEqual([])
  })

  test.each([
    ['a price of zero', reserve({ price: 0n }), holding()],
    ['an oracle that fails', reserve({ price: undefined }), holding()],
    ['no price for a debt', reserve({ price: 0n }), holding({ supplied: 0n, variableDebt: 1n })],
    ['no price for a stable debt', reserve({ price: 0n }), holding({ supplied: 0n, stableDebt: 1n })],
    ['no price for what is no collateral', reserve({ price: 0n }), holding({ isCollateral: false })],
  ])('has no answer for %s, and others have theirs', (_, unpriced, held) => {
    const other = account({ wallet: 1, holdings: [holding({ reserve: 1 })] })
    const read = interpreted({
      reserves: [unpriced, reserve({ id: 1 })],
      accounts: [account({ holdings: [held] }), other],
    })
    expect(read.unanswerable.map(({ wallet, reason: because }) => [wallet, because])).toEqual([
      [WALLETS[0], `reserve TKN (${ASSET}) has no price`] as never,
    ])
    expect(read.wallets.map(({ wallet }) => wallet)).toEqual([WALLETS[1]] as never)
  })

  test('needs no price of a reserve that is only switched on, if the pool values the account', () => {
    const holdings = [holding(), holding({ reserve: 1, supplied: 0n })]
    const reserves = [reserve(), reserve({ id: 1, price: undefined })]
    expect(interpreted({ reserves, accounts: [account({ holdings })] }).wallets).toHaveLength(1)
    const silent = interpreted({ reserves, accounts: [account({ holdings, data: undefined })] })
    expect(silent.unanswerable.map(({ reason: because }) => because)).toEqual(['the pool cannot value the account'])
    expect(silent.wallets).toEqual([])
  })

  test('has no answer if the wallet is in an eMode that the pool does not describe', () => {
    const read = interpreted({ categories: [{ ...CATEGORY, answered: false }], accounts: [account({ category: 2 })] })
    expect(read.unanswerable.map(({ reason: because }) => because)).toEqual([
      "the pool does not return the category of the wallet's eMode",
    ])
  })

  test('values an asset at the one price of its eMode before 3.2, and else at its own', () => {
    const categories = [{ ...CATEGORY, price: 1_000n }]
    const price = (change: Partial<RawAccount>, features = OLD, reserves = [reserve()]) =>
      interpreted({ reserves, categories, accounts: [account(change)] }, features).wallets[0]?.positions[0]?.assets[0]
        ?.price
    expect(price({ category: 2 })).toBe(1_000n)
    expect(price({ category: 0 })).toBe(7n)
    expect(price({ category: 2 }, OLD, [reserve({ configuration: 1n << 56n })])).toBe(7n)
    expect(
      interpreted({ categories: [CATEGORY], accounts: [account({ category: 2 })] }, OLD).wallets[0]?.positions[0]
        ?.assets[0]?.price,
    ).toBe(7n)
    // Its own need not exist then.
    expect(price({ category: 2 }, OLD, [reserve({ price: undefined })])).toBe(1_000n)
  })

  test('turns rates into yields and bytes into a symbol', () => {
    const rated = reserve({ liquidityRateRay: 10n ** 26n, variableBorrowRateRay: 2n * 10n ** 26n, withdrawable: 3n })
    const named = (symbol: RawReserve['symbol']) =>
      interpreted({ reserves: [{ ...rated, symbol }], accounts: [account()] }).wallets[0]?.positions[0]?.assets[0]
        ?.reserve
    const shown = named(stringToHex('MKR', { size: 32 }))
    expect(shown).toMatchObject({ symbol: 'MKR', asset: ASSET, withdrawable: 3n, isOpen: true, legacyCategory: 2 })
    expect(Number(shown?.supplyApyRay) / 1e27).toBeCloseTo(Math.expm1(0.1), 8)
    expect(Number(shown?.borrowApyRay) / 1e27).toBeCloseTo(Math.expm1(0.2), 8)
    expect(named(undefined)?.symbol).toBe('')
    const nameless = reserve({ symbol: undefined, price: 0n })
    expect(interpreted({ reserves: [nameless], accounts: [account()] }).unanswerable[0]?.reason).toBe(
      `reserve ${ASSET} has no price`,
    )
  })

  test.each([
    ['a reserve', { accounts: [account({ holdings: [holding({ reserve: 3 })] })] }],
    ['a category', { accounts: [account({ category: 9 })] }],
    ['a wallet', { broken: [{ wallet: 3, market: 0, part: 'debt' as const }] }],
    ['a market', { accounts: [account({ market: 2 })] }],
  ])('throws UpstreamError if %s is referred to but missing', (_, change) => {
    expect(() => interpreted(change)).toThrow(UpstreamError)
  })
})
