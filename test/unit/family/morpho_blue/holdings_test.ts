import { describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { toHoldings } from '../../../../src/family/morpho_blue/present/holdings.ts'
import type { HeldMarket, MarketToken } from '../../../../src/family/morpho_blue/read/position.ts'
import { noPriceBecause, type UsdPrice } from '../../../../src/finance/price/price.ts'

const KNOWN = { spam: new Set<string>(), listed: new Set<string>() }

function token(digit: string, decimals: number, price?: UsdPrice, name = 'Token'): MarketToken {
  const address = `0x${digit.repeat(40)}` as Address
  const outcome = price === undefined ? { ...noPriceBecause('no source says it'), hasSource: false } : undefined
  return {
    address,
    symbol: 'T',
    name,
    decimals,
    asWritten: { symbol: 'T', name },
    price: outcome ?? { kind: 'price', price: price as UsdPrice },
  }
}

/** 300,000 units lent, 250,000 owed and 12 whole tokens of collateral, in a market that holds 100,000 idle. */
function market(overrides: Partial<HeldMarket>): HeldMarket {
  return {
    marketId: `0x${'0'.repeat(64)}`,
    params: { lltv: 8n * 10n ** 17n } as HeldMarket['params'],
    market: { totalSupplyAssets: 400_000n, totalBorrowAssets: 300_000n } as HeldMarket['market'],
    isAccrued: true,
    supplied: 300_000n,
    owed: 250_000n,
    borrowShares: 1n,
    collateral: 12n * 10n ** 18n,
    loan: token('1', 6),
    collateralToken: token('2', 18, { units: 3_000n, scale: 0, source: 'feed' }),
    oraclePrice: undefined,
    ...overrides,
  }
}

const findDebt = (held: HeldMarket) => toHoldings(held, KNOWN).find(({ kind }) => kind === 'borrowed')

test('a debt has the price of its market’s oracle if a feed prices the collateral', () => {
  // 1,500 loan tokens a collateral token of 3,000 dollars: 2 dollars each.
  const oraclePrice = 1_500n * 10n ** BigInt(36 + 6 - 18)
  const price = findDebt(market({ oraclePrice }))?.marketPrice
  expect(price?.source).toBe('market_oracle')
  expect(Number(price?.units) / 10 ** (price?.scale ?? 0)).toBe(2)
  for (const source of ['pool', 'stablecoin'] as const) {
    const collateralToken = token('2', 18, { units: 3_000n, scale: 0, source })
    expect(findDebt(market({ oraclePrice, collateralToken }))?.marketPrice).toBeUndefined()
  }
  expect(findDebt(market({ oraclePrice, collateralToken: token('2', 18) }))?.marketPrice).toBeUndefined()
  expect(findDebt(market({ oraclePrice: 0n }))?.marketPrice).toBeUndefined()
  expect(findDebt(market({}))?.marketPrice).toBeUndefined()
})

test('what is lent can be paid as far as the market holds it idle, and all of it if it holds more', () => {
  const findLent = (held: HeldMarket) => toHoldings(held, KNOWN).find(({ position }) => position['part'] === 'lent')
  expect(findLent(market({}))).toMatchObject({ amount: 300_000n, payable: { amount: 100_000n } })
  expect(findLent(market({ supplied: 100_000n }))).toMatchObject({ amount: 100_000n })
  expect(findLent(market({ supplied: 100_000n }))?.payable).toBeUndefined()
})

test('spam refuses its own row only', () => {
  const held = market({ collateralToken: token('2', 18, undefined, 'Claim your reward') })
  const rows = toHoldings(held, KNOWN).map(({ kind, position, refused }) => [position['part'] ?? kind, refused?.reason])
  expect(rows).toEqual([
    ['lent', undefined],
    ['collateral', 'spam'],
    ['borrowed', undefined],
  ])
})

describe('a withdrawal alone', () => {
  const find = (held: HeldMarket, part: string) =>
    toHoldings(held, KNOWN).find(({ position }) => position['part'] === part)?.withdrawable

  test('of what is lent pays what the market holds idle', () => {
    expect(find(market({}), 'lent')).toEqual({ amount: 100_000n, limitedBy: 'liquidity' })
    expect(find(market({ supplied: 100_000n }), 'lent')).toBeUndefined()
  })

  test('of collateral pays what the debt does not need, to the unit', () => {
    // 250,000 owed at 80 % need a worth of 312,500, which is 312,500 × 10^12 of collateral units at a millionth of one.
    const oraclePrice = 10n ** (36n - 12n)
    const needed = 312_500n * 10n ** 12n
    expect(find(market({ oraclePrice }), 'collateral')).toEqual({
      amount: 12n * 10n ** 18n - needed,
      limitedBy: 'health',
    })
    expect(find(market({ oraclePrice, collateral: needed }), 'collateral')).toEqual({ amount: 0n, limitedBy: 'health' })
    expect(find(market({ oraclePrice, collateral: needed - 1n }), 'collateral')?.amount).toBe(0n)
    expect(find(market({ oraclePrice, owed: 0n }), 'collateral')).toBeUndefined()
    expect(find(market({ oraclePrice: 0n }), 'collateral')).toEqual({ amount: 0n, limitedBy: 'health' })
    expect(find(market({}), 'collateral')).toEqual({ amount: 0n, limitedBy: 'price' })
  })

  test('pays nothing where interest cannot be accrued, and a debt has none', () => {
    for (const part of ['lent', 'collateral'])
      expect(find(market({ isAccrued: false, owed: 0n }), part)).toEqual({ amount: 0n, limitedBy: 'halted' })
    expect(findDebt(market({}))?.withdrawable).toBeUndefined()
  })
})
