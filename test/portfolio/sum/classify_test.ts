import { describe, expect, test } from 'bun:test'
import { noPriceBecause } from '../../../src/finance/price/price.ts'
import { classifyAssets } from '../../../src/portfolio/sum/classify.ts'
import { type HeldAsset, UNCOUNTED_REASONS, type Verdict } from '../../../src/portfolio/sum/row.ts'
import { TOKENS } from '../../devnet/addresses.ts'
import { asset, dollars } from './assets.ts'

const WHOLE = 10n ** 18n

function verdictOn(only: Partial<HeldAsset>, includeUnlisted = false): Verdict | undefined {
  return classifyAssets([asset(only)], { includeUnlisted })[0]?.verdict
}

describe('classifyAssets()', () => {
  test('counts priced assets, and debts as negative', () => {
    expect(verdictOn({})).toEqual({ counted: true, value: { units: 3_000n * WHOLE * 10n ** 8n, scale: 26 } })
    expect(verdictOn({ kind: 'borrowed' })).toEqual({
      counted: true,
      value: { units: -3_000n * WHOLE * 10n ** 8n, scale: 26 },
    })
  })

  test('gives each reason with its sentence', () => {
    const cases: readonly (readonly [Partial<HeldAsset>, string, string])[] = [
      [{ refused: { reason: 'spam', detail: 'It lures' } }, 'spam', 'It lures'],
      [
        { refused: { reason: 'withdrawal_reverts', detail: 'The hook reverts' } },
        'withdrawal_reverts',
        'The hook reverts',
      ],
      [{ isUnlisted: true }, 'unlisted', 'The token is in no list that was asked'],
      [
        { price: noPriceBecause('its price feed is stale', 'stale') },
        'stale',
        'It has no price because its price feed is stale',
      ],
      [{ price: noPriceBecause('nobody says it') }, 'unpriced', 'It has no price because nobody says it'],
      [
        { token: { ...asset().token, decimals: undefined } },
        'unpriced',
        `Token ${TOKENS.weth.address} has no usable decimals`,
      ],
      [{ price: noPriceBecause('its pool is small', 'thin') }, 'thin', 'It has no price because its pool is small'],
      [
        { price: dollars(3_000n, 'pool', 2_999n) },
        'exceeds_liquidity',
        'The holding would be worth 3000.00 US dollars, and its pools pay 2999.00',
      ],
    ]
    for (const [only, reason, detail] of cases) {
      expect(verdictOn(only)).toEqual({ counted: false, reason, detail } as Verdict)
    }
    expect(new Set(cases.map(([, reason]) => reason))).toEqual(new Set(UNCOUNTED_REASONS))
  })

  test('names the first of several reasons, in the order of the interface', () => {
    const refused = (reason: 'spam' | 'withdrawal_reverts' | 'exceeds_liquidity') => ({
      refused: { reason, detail: '' },
    })
    const getReason = (only: Partial<HeldAsset>) => {
      const verdict = verdictOn(only)
      return verdict?.counted === false ? verdict.reason : undefined
    }
    const unlisted = { isUnlisted: true }
    const stale = { price: noPriceBecause('', 'stale') }
    expect(getReason({ ...refused('spam'), ...unlisted, ...stale })).toBe('spam')
    expect(getReason({ ...refused('withdrawal_reverts'), ...unlisted, ...stale })).toBe('withdrawal_reverts')
    expect(getReason({ ...refused('exceeds_liquidity'), ...unlisted, ...stale })).toBe('unlisted')
    expect(getReason({ ...refused('exceeds_liquidity'), ...stale })).toBe('stale')
    expect(getReason({ ...refused('exceeds_liquidity') })).toBe('exceeds_liquidity')
    expect(getReason({ ...unlisted, price: dollars(3_000n, 'pool', 1n) })).toBe('unlisted')
  })

  test('counts unlisted tokens on request', () => {
    expect(verdictOn({ isUnlisted: true }, true)?.counted).toBe(true)
    expect(verdictOn({ isUnlisted: true, price: noPriceBecause('') }, true)).toMatchObject({ reason: 'unpriced' })
  })

  test('counts a debt with a price, whatever the reasons against its token', () => {
    const debt = { kind: 'borrowed' } as const
    expect(verdictOn({ ...debt, refused: { reason: 'spam', detail: '' } })?.counted).toBe(true)
    expect(verdictOn({ ...debt, isUnlisted: true })?.counted).toBe(true)
    expect(verdictOn({ ...debt, price: dollars(3_000n, 'pool', 1n) })?.counted).toBe(true)
    expect(verdictOn({ ...debt, price: noPriceBecause('', 'thin') })).toMatchObject({ counted: false, reason: 'thin' })
  })

  test('bounds all of a token on a chain together by what its pool holds, and other chains and prices not at all', () => {
    const pooled = { price: dollars(3_000n, 'pool', 9_000n) }
    const judged = (assets: readonly HeldAsset[]) =>
      classifyAssets(assets, { includeUnlisted: false }).map(({ verdict }) => verdict.counted)
    const three = [asset(pooled), asset({ ...pooled, kind: 'liquidity' }), asset({ ...pooled, kind: 'supplied' })]
    expect(judged(three)).toEqual([true, true, true])
    expect(judged([...three, asset({ ...pooled, amount: 1n })])).toEqual([false, false, false, false])
    // The debt is among them, and counts all the same.
    expect(judged([...three, asset({ ...pooled, kind: 'borrowed', amount: 1n })])).toEqual([false, false, false, true])
    expect(judged([...three, asset({ ...pooled, chainId: 10 })])).toEqual([true, true, true, true])
    // A row that another source prices stays, and fills the bound.
    const oracle = asset({ price: dollars(3_000n, 'aave_oracle'), kind: 'supplied' })
    expect(judged([...three, oracle])).toEqual([false, false, false, true])
    // Spam of the token, too.
    const spam = asset({ ...pooled, refused: { reason: 'spam', detail: '' } })
    expect(judged([...three, spam])).toEqual([false, false, false, false])
    // Excluded: amounts that the market cannot pay, because a third party may lend to the wallet and borrow it back.
    const hollow = asset({ ...pooled, kind: 'supplied', refused: { reason: 'exceeds_liquidity', detail: '' } })
    expect(judged([...three, hollow])).toEqual([true, true, true, false])
  })

  test('compares the exact worth with what the pools pay', () => {
    const price = { units: 333_333_333_333_333_333n, scale: 18, source: 'pool' } as const
    const boundUsd = { units: 333_333n, scale: 6 }
    const row = asset({ price: { kind: 'price', price, boundUsd } })
    expect(classifyAssets([row], { includeUnlisted: false })[0]?.verdict.counted).toBe(false)
    const lighter = { ...row, amount: 999_999_000_000_000_000n }
    expect(classifyAssets([lighter], { includeUnlisted: false })[0]?.verdict.counted).toBe(true)
  })
})
