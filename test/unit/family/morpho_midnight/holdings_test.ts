import { expect, test } from 'bun:test'
import type { Address } from 'viem'
import { toConfirmedFigures, toHoldings } from '../../../../src/family/morpho_midnight/present.ts'
import type { HeldMarket, MarketToken } from '../../../../src/family/morpho_midnight/read/position.ts'
import { noPriceBecause, type UsdPrice } from '../../../../src/finance/price/price.ts'

const KNOWN = { spam: new Set<string>(), listed: new Set<string>() }
const FEED: UsdPrice = { units: 3_000n, scale: 0, source: 'feed' }

function token(digit: string, decimals: number, price?: UsdPrice, name = 'Token'): MarketToken {
  const outcome =
    price === undefined
      ? { ...noPriceBecause('no source says it'), hasSource: false }
      : ({ kind: 'price', price } as const)
  const address = `0x${digit.repeat(40)}` as Address
  return { address, symbol: 'T', name, decimals, asWritten: { symbol: 'T', name }, price: outcome }
}

/** Loan tokens a whole collateral token, as an oracle tells it. */
const toOraclePrice = (tokens: bigint) => tokens * 10n ** BigInt(36 + 6 - 18)

function collateral(index: number, oraclePrice: bigint | undefined, held = token('2', 18, FEED)) {
  return { index, amount: 10n ** 18n, oraclePrice, lltvWad: 8n * 10n ** 17n, token: held }
}

/** A debt of 1,000 loan tokens, and one whole token of a collateral. */
function market(overrides: Partial<HeldMarket>): HeldMarket {
  return {
    marketId: `0x${'0'.repeat(64)}`,
    terms: { loanToken: `0x${'1'.repeat(40)}`, collaterals: [], maturitySec: 2_000n, encoded: '0x' },
    maturitySec: 2_000n,
    withdrawable: 0n,
    nowSec: 1_000n,
    credit: 0n,
    debt: 1_000n * 10n ** 6n,
    loan: token('1', 6),
    collaterals: [collateral(0, toOraclePrice(1_500n))],
    ...overrides,
  }
}

const findDebt = (held: HeldMarket) => toHoldings(held, KNOWN).find(({ kind }) => kind === 'borrowed')

test('a debt that only pools price has the greatest price by the oracles of its collaterals', () => {
  const toDollars = (price: UsdPrice | undefined) => price && Number(price.units) / 10 ** price.scale
  expect(toDollars(findDebt(market({}))?.marketPrice)).toBe(2)
  const two = [collateral(0, toOraclePrice(1_500n)), collateral(1, toOraclePrice(1_000n))]
  expect(toDollars(findDebt(market({ collaterals: two }))?.marketPrice)).toBe(3)
  expect(toDollars(findDebt(market({ collaterals: two.toReversed() }))?.marketPrice)).toBe(3)
  const pooled = collateral(1, toOraclePrice(1n), token('3', 18, { ...FEED, source: 'pool' }))
  expect(
    toDollars(findDebt(market({ collaterals: [collateral(0, toOraclePrice(1_500n)), pooled] }))?.marketPrice),
  ).toBe(2)
  for (const silent of [undefined, 0n])
    expect(findDebt(market({ collaterals: [collateral(0, silent)] }))?.marketPrice).toBeUndefined()
})

test('spam refuses its own row, and no debt', () => {
  const spam = token('2', 18, undefined, 'Claim your reward')
  const held = market({ loan: { ...spam, decimals: 6 }, credit: 5n, collaterals: [collateral(3, undefined, spam)] })
  expect(
    toHoldings(held, KNOWN).map(({ kind, position, refused }) => [position['part'] ?? kind, refused?.reason]),
  ).toEqual([
    ['lent', 'spam'],
    ['collateral-3', 'spam'],
    ['borrowed', undefined],
  ])
})

test('credit counts as far as borrowers have repaid, also after maturity', () => {
  const findCredit = (only: Partial<HeldMarket>) => {
    const [row] = toHoldings(market({ debt: 0n, collaterals: [], credit: 100n, ...only }), KNOWN)
    return [row?.amount, row?.payable?.amount, row?.payable?.reason, row?.withdrawable]
  }
  const limited = { amount: 40n, limitedBy: 'liquidity' as const }
  expect(findCredit({ withdrawable: 40n })).toEqual([100n, 40n, 'at_maturity', limited])
  expect(findCredit({ withdrawable: 40n, nowSec: 9_000n })).toEqual([100n, 40n, 'at_maturity', limited])
  expect(findCredit({ withdrawable: 100n })).toEqual([100n, undefined, undefined, undefined])
})

test('figures in dollars are unknown if anything has no price, and others are not', () => {
  const { text } = toConfirmedFigures(market({}))
  expect(['health_factor', 'due_in_sec', 'is_liquidatable', 'net_worth_usd', 'total_debt_usd'].map(text)).toEqual([
    '1.2000',
    '1000',
    false,
    null,
    null,
  ])
  const priced = toConfirmedFigures(market({ loan: token('1', 6, { units: 2n, scale: 0, source: 'feed' }) }))
  expect(['net_worth_usd', 'total_collateral_usd', 'current_ltv_percentage'].map(priced.text)).toEqual([
    '1000.000000',
    '3000.000000',
    '66.6667',
  ])
})
