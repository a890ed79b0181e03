import { describe, expect, test } from 'bun:test'
import {
  getConfidence,
  noPriceBecause,
  PRICE_CONFIDENCES,
  type PriceMark,
  USD_PRICE_SOURCES,
} from '../../../../src/finance/price/price.ts'
import { sortRows } from '../../../../src/portfolio/routes/assets.ts'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import { type HeldAsset, ROW_KINDS, type Row } from '../../../../src/portfolio/sum/row.ts'
import { computeBalance } from '../../../../src/portfolio/sum/total.ts'
import { TOKENS } from '../../../devnet/addresses.ts'
import { createRandom, type Random } from '../../../devnet/random.ts'
import { caseCount } from '../../../support/cases.ts'
import { asset, dollars } from './assets.ts'

/** Every chain has a source of prices. */
const SOURCED = { unsourced: new Set<number>() }

const REFUSED = { reason: 'spam', detail: '' } as const

/** A number above zero of at most `digits` digits. */
function digits(random: Random, max: number): bigint {
  const text = Array.from({ length: 1 + random.below(max) }, () => random.below(10)).join('')
  return BigInt(text) + 1n
}

function randomAsset(random: Random): HeldAsset {
  const source = random.pick(USD_PRICE_SOURCES)
  const price = { units: digits(random, 24), scale: random.below(31), source } as const
  const address = `0x${String(1 + random.below(9)).repeat(40)}` as const
  return asset({
    chainId: random.pick([1, 10, 8453]),
    kind: random.pick(ROW_KINDS),
    token: { address, symbol: 'T', name: 'Token', decimals: random.below(41) },
    amount: digits(random, 40),
    price: random.below(10) === 0 ? noPriceBecause('no source says it') : { kind: 'price', price },
    refused: random.below(10) === 0 ? REFUSED : undefined,
  })
}

/** Exact value in units of 10^-80 dollars, without any of the code under test. */
function exactValue({ kind, amount, token: { decimals = 0 }, price }: HeldAsset): bigint {
  if (price.kind === 'missing') return 0n
  const value = (amount * price.price.units * 10n ** 80n) / 10n ** BigInt(decimals + price.price.scale)
  return kind === 'borrowed' ? -value : value
}

function rounded(exact: bigint): bigint {
  const unit = 10n ** 74n
  const half = exact < 0n ? -unit / 2n : unit / 2n
  return (exact + half) / unit
}

function sumExact(assets: readonly HeldAsset[]): bigint {
  const counted = assets.filter(
    ({ kind, price, refused }) => price.kind === 'price' && (kind === 'borrowed' || !refused),
  )
  return rounded(counted.reduce((sum, each) => sum + exactValue(each), 0n))
}

describe('computeBalance()', () => {
  test('sums exact values of counted rows and rounds each figure once', () => {
    const random = createRandom(20_261_123)
    for (let count = 0; count < caseCount(400); count++) {
      const assets = Array.from({ length: random.below(61) }, () => randomAsset(random))
      const balance = computeBalance(classifyAssets(assets, { includeUnlisted: false }), SOURCED)
      const of = (keep: (each: HeldAsset) => boolean) => sumExact(assets.filter(keep))
      const isBlind = (chainAssets: readonly HeldAsset[]) =>
        chainAssets.some(({ kind, price }) => kind === 'borrowed' && price.kind === 'missing')
      expect(balance.netE6).toBe(isBlind(assets) ? undefined : sumExact(assets))
      expect(balance.assetsE6).toBe(of(({ kind }) => kind !== 'borrowed'))
      expect(balance.debtE6).toBe(-of(({ kind }) => kind === 'borrowed'))
      for (const kind of ROW_KINDS) {
        const expected = of((each) => each.kind === kind)
        expect(balance.kindsE6[kind]).toBe(kind === 'borrowed' ? -expected : expected)
      }
      for (const { chainId, ...total } of balance.chains) {
        const here = assets.filter((each) => each.chainId === chainId)
        expect(total.netE6).toBe(isBlind(here) ? undefined : sumExact(here))
      }
      expect(balance.chains.map(({ chainId }) => chainId)).toEqual(
        [...new Set(assets.map(({ chainId }) => chainId))].sort((a, b) => a - b),
      )
      for (const confidence of PRICE_CONFIDENCES) {
        expect(balance.confidencesE6[confidence]).toBe(
          of(({ price }) => price.kind === 'price' && getConfidence(price.price) === confidence),
        )
      }
      const { counted, unpriced, spam, others } = balance.rows
      expect(counted + unpriced + spam + others).toBe(assets.length)
    }
  })

  test('is nothing without rows', () => {
    const none = computeBalance([], SOURCED)
    expect([none.netE6, none.assetsE6, none.debtE6, none.chains.length]).toEqual([0n, 0n, 0n, 0])
  })

  test('of collateral of 280 and a debt of 190 is 90', () => {
    const price = dollars(1n)
    const whole = 10n ** 18n
    const rows = classifyAssets(
      [
        asset({ kind: 'supplied', amount: 280n * whole, price }),
        asset({ kind: 'borrowed', amount: 190n * whole, price }),
      ],
      { includeUnlisted: false },
    )
    expect(computeBalance(rows, SOURCED)).toMatchObject({
      netE6: 90_000_000n,
      assetsE6: 280_000_000n,
      debtE6: 190_000_000n,
    })
  })

  const sum = (assets: readonly HeldAsset[], unsourced: readonly number[] = []) =>
    computeBalance(classifyAssets(assets, { includeUnlisted: false }), { unsourced: new Set(unsourced) })

  test('has no net worth on a chain and over all with a debt that nothing prices, and says of what', () => {
    const debt = asset({
      kind: 'borrowed',
      amount: 28n * 10n ** 18n,
      price: noPriceBecause('its feed is stale', 'stale'),
    })
    const balance = sum([asset(), debt, asset({ chainId: 10 })])
    expect(balance).toMatchObject({ netE6: undefined, assetsE6: 6_000_000_000n, debtE6: 0n })
    expect(balance.chains.map(({ netE6 }) => netE6)).toEqual([undefined, 3_000_000_000n])
    const gap = {
      what: `debt in WETH (${TOKENS.weth.address}) on chain 1`,
      amount: '28',
      why: 'It has no price because its feed is stale',
    }
    expect(balance.gaps).toEqual([gap])
    expect(balance.chains.map(({ gaps }) => gaps)).toEqual([[gap], []])
  })

  test('has no net worth on a chain without any source of prices, and names the chain in the sum of others', () => {
    const dark = asset({ chainId: 480, price: noPriceBecause('no source of its price is configured') })
    const gap = { what: 'prices on chain 480', amount: null, why: 'No source of prices is configured for the chain' }
    expect(sum([dark], [480])).toMatchObject({ netE6: undefined, gaps: [gap] })
    const both = sum([asset(), dark], [480])
    expect(both).toMatchObject({ netE6: 3_000_000_000n, gaps: [gap] })
    expect(both.chains.map(({ netE6 }) => netE6)).toEqual([3_000_000_000n, undefined])
    expect(sum([], [480])).toMatchObject({ netE6: 0n, gaps: [] })
  })

  test('names an account that owes more than it supplies, and stays negative', () => {
    const at = (market_id: string, only: Partial<HeldAsset>) =>
      asset({ kind: 'supplied', position: { family: 'morpho-blue', market_id }, ...only })
    const owed = at('a', { kind: 'borrowed', amount: 3n * 10n ** 18n })
    const part = (name: string) => ({ position: { family: 'morpho-blue', market_id: 'a', part: name } })
    const names = (assets: readonly HeldAsset[]) => sum(assets).gaps.map(({ what }) => what)
    const name = 'collateral of morpho-blue a on chain 1'
    expect(names([owed, at('a', { amount: 2n * 10n ** 18n })])).toEqual([name])
    expect(sum([owed, at('a', { amount: 2n * 10n ** 18n })]).netE6).toBe(-3_000_000_000n)
    expect(names([owed])).toEqual([name])
    // What another market or another chain has, what is lent there, or a reward, backs nothing.
    expect(names([owed, at('b', { amount: 9n * 10n ** 18n })])).toEqual([name])
    expect(names([owed, at('a', { chainId: 10, amount: 9n * 10n ** 18n })])).toEqual([name])
    for (const unpledged of ['lent', 'rewards']) {
      expect(names([owed, at('a', { amount: 9n * 10n ** 18n, ...part(unpledged) })])).toEqual([name])
    }
    expect(names([owed, at('a', { amount: 3n * 10n ** 18n, ...part('collateral') })])).toEqual([])
    // Nothing is known where a part is not counted.
    const unpriced = at('a', { token: { ...owed.token, symbol: 'ODD' }, price: noPriceBecause('no source says it') })
    expect(names([owed, unpriced])).toEqual([`value of ODD (${owed.token.address}) on chain 1`])
  })

  test('is incomplete if a debt is priced under a mark, an asset under one of bids alone, or an asset not at all', () => {
    const marked = (marks: readonly PriceMark[]): Partial<HeldAsset> => ({
      price: { ...dollars(3_000n, 'pool', 10_000n), marks } as HeldAsset['price'],
    })
    const whats = (assets: readonly HeldAsset[]) => sum(assets).gaps.map(({ what, why }) => [what.slice(0, 5), why])
    expect(whats([asset({ kind: 'borrowed', ...marked(['moved', 'thin']) })])).toEqual([
      ['debt ', 'Its price by pools is marked moved, thin'],
    ])
    expect(whats([asset(marked(['moved']))])).toEqual([])
    expect(whats([asset(marked(['one_sided']))])).toEqual([['value', 'Its price by pools is marked one_sided']])
    expect(whats([asset({ price: noPriceBecause('no source says it') })])).toHaveLength(1)
    // What a third party can give anybody makes no sum incomplete.
    expect(whats([asset({ price: noPriceBecause('no source says it'), isUnlisted: true })])).toEqual([])
    expect(whats([asset({ price: noPriceBecause('no source says it'), refused: REFUSED })])).toEqual([])
  })

  test('names few gaps, debts first, and counts the others', () => {
    const missing = Array.from({ length: 30 }, () => asset({ price: noPriceBecause('no source says it') }))
    const { gaps } = sum([...missing, asset({ kind: 'borrowed', price: noPriceBecause('no source says it') })])
    expect(gaps).toHaveLength(11)
    expect(gaps[0]?.what).toStartWith('debt in')
    expect(gaps[10]).toEqual({ what: '21 more', amount: null, why: 'Each row says what it lacks' })
  })
})

describe('sortRows()', () => {
  function named(rows: readonly Row[]) {
    return rows.map(({ chainId, kind, token, position }) => [chainId, kind, token.address, position?.['token_id']])
  }

  test('sorts by value, then chain, kind, address and position; what is not counted comes last, spam at the end', () => {
    const at = (id: string) => ({ position: { family: 'uniswap-v3', token_id: id, part: 'principal' } })
    const token = (digit: string) => ({ ...asset().token, address: `0x${digit.repeat(40)}` as const })
    const [a, b] = [token('a'), token('b')]
    const expected = [
      asset({ token: b, amount: 2n * 10n ** 18n }),
      asset({ token: a }),
      asset({ token: b }),
      asset({ token: a, kind: 'liquidity', ...at('9') }),
      asset({ token: a, kind: 'liquidity', ...at('10') }),
      asset({ token: a, kind: 'supplied' }),
      asset({ token: a, chainId: 10 }),
      asset({ token: b, kind: 'borrowed' }),
      asset({ token: b, price: noPriceBecause('') }),
      asset({ token: b, chainId: 10, price: noPriceBecause('') }),
      asset({ token: a, refused: REFUSED }),
      asset({ token: b, refused: REFUSED }),
    ]
    const rows = classifyAssets(expected, { includeUnlisted: false })
    expect(named(sortRows(rows.toReversed()))).toEqual(named(rows))
    expect(named(sortRows([...rows].sort(() => 1)))).toEqual(named(rows))
  })

  test('compares values as answers show them: what looks alike is sorted by the rest', () => {
    const rows = classifyAssets([asset({ chainId: 10, amount: 10n ** 18n + 1n }), asset({})], {
      includeUnlisted: false,
    })
    expect(sortRows(rows).map(({ chainId }) => chainId)).toEqual([1, 10])
  })
})
