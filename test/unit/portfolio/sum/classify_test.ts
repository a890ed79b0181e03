import { describe, expect, test } from 'bun:test'
import { noPriceBecause, sumE6 } from '../../../../src/finance/price/price.ts'
import { classifyAssets } from '../../../../src/portfolio/sum/classify.ts'
import { type HeldAsset, UNCOUNTED_REASONS, type Verdict } from '../../../../src/portfolio/sum/row.ts'
import { TOKENS } from '../../../devnet/addresses.ts'
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
      [{ refused: { reason: 'dust', detail: '50 more' } }, 'dust', '50 more'],
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
      [{ price: noPriceBecause('no source says it') }, 'unpriced', 'It has no price because no source says it'],
      [
        { token: { ...asset().token, decimals: undefined } },
        'unpriced',
        `Token ${TOKENS.weth.address} has no usable decimals`,
      ],
      [{ price: noPriceBecause('its pool is small', 'thin') }, 'thin', 'It has no price because its pool is small'],
      [
        { price: dollars(3_000n, 'pool', 0n) },
        'exceeds_liquidity',
        'The holding would be worth 3000.00 US dollars, and its pools pay 0.00',
      ],
      [{ payable: { amount: 0n, detail: 'The market is empty' } }, 'exceeds_liquidity', 'The market is empty'],
      [
        { payable: { amount: 0n, detail: 'It is paid later', reason: 'at_maturity' } },
        'at_maturity',
        'It is paid later',
      ],
    ]
    for (const [only, reason, detail] of cases) {
      expect(verdictOn(only)).toEqual({ counted: false, reason, detail } as Verdict)
    }
    expect(new Set(cases.map(([, reason]) => reason))).toEqual(new Set(UNCOUNTED_REASONS))
  })

  test('says what a withdrawal of a row pays, and nothing of wallets, debts and dust', () => {
    const classify = (only: Partial<HeldAsset>) => classifyAssets([asset(only)], { includeUnlisted: false })[0]
    const half = { amount: WHOLE / 2n, limitedBy: 'liquidity' } as const
    expect(classify({ kind: 'supplied', withdrawable: half })?.withdrawal).toEqual({
      raw: WHOLE / 2n,
      value: { units: 1_500n * WHOLE * 10n ** 8n, scale: 26 },
      limitedBy: 'liquidity',
    })
    expect(classify({ kind: 'supplied' })?.withdrawal?.raw).toBe(WHOLE)
    const others = [
      { kind: 'wallet' },
      { kind: 'borrowed' },
      { kind: 'supplied', refused: { reason: 'dust', detail: '' } },
    ] as const
    expect(others.map((only) => classify(only)?.withdrawal)).toEqual([undefined, undefined, undefined])
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

  test('counts all of a token on a chain up to one bound, shared in proportion, and other chains and prices not at all', () => {
    const pooled = { price: dollars(3_000n, 'pool', 9_000n) }
    const three = [asset(pooled), asset({ ...pooled, kind: 'liquidity' }), asset({ ...pooled, kind: 'supplied' })]
    expect(countE6(three)).toEqual([3_000_000_000n, 3_000_000_000n, 3_000_000_000n])
    expect(countE6([...three, asset({ ...pooled, amount: 3n * WHOLE })])).toEqual([
      1_500_000_000n,
      1_500_000_000n,
      1_500_000_000n,
      4_500_000_000n,
    ])
    expect(countE6([...three, asset({ ...pooled, chainId: 10 })])).toEqual(
      three.concat(asset()).map(() => 3_000_000_000n),
    )
    // A row that another source prices counts in full, and fills the bound.
    const oracle = asset({ price: dollars(3_000n, 'aave_oracle'), kind: 'supplied' })
    expect(countE6([...three, oracle])).toEqual([2_000_000_000n, 2_000_000_000n, 2_000_000_000n, 3_000_000_000n])
  })

  test('does not let refused rows of a token take part in its bound, whatever the reason', () => {
    const pooled = { price: dollars(3_000n, 'pool', 3_000n) }
    for (const reason of ['spam', 'withdrawal_reverts', 'exceeds_liquidity'] as const) {
      const refused = asset({ ...pooled, amount: 20n * WHOLE, refused: { reason, detail: '' } })
      expect(countE6([asset(pooled), refused])).toEqual([3_000_000_000n, 'none'])
    }
    expect(countE6([asset(pooled), asset({ ...pooled, isUnlisted: true })])).toEqual([3_000_000_000n, 'none'])
    const unpayable = asset({ ...pooled, payable: { amount: 0n, detail: '' } })
    expect(countE6([asset(pooled), unpayable])).toEqual([3_000_000_000n, 'none'])
  })

  test('does not change net worth by a loan that is still held, and bounds no debt', () => {
    const pooled = {
      price: { ...dollars(2n, 'pool', 1_000n), debtPrice: { units: 21n, scale: 1, source: 'pool' } } as const,
    }
    const debt = asset({ ...pooled, kind: 'borrowed', amount: 30_000n * WHOLE })
    const loan = asset({ ...pooled, amount: 30_000n * WHOLE })
    expect(countE6([debt])).toEqual([-63_000_000_000n])
    expect(countE6([debt, loan])).toEqual([-63_000_000_000n, 63_000_000_000n])
    // Beyond what covers the debt, the bound holds.
    const own = asset({ ...pooled, amount: 40_000n * WHOLE })
    expect(countE6([debt, own])).toEqual([-63_000_000_000n, 64_000_000_000n])
    // What another source prices covers the debt first.
    const oracle = asset({ ...loan, kind: 'supplied', price: dollars(2n, 'aave_oracle') })
    expect(countE6([debt, oracle, loan])).toEqual([-63_000_000_000n, 60_000_000_000n, 1_000_000_000n])
  })

  test('says which part is not counted, and why', () => {
    const pooled = { price: dollars(3_000n, 'pool', 3_000n) }
    const classifyRest = (only: Partial<HeldAsset>) =>
      classifyAssets([asset(only)], { includeUnlisted: false })[0]?.rest
    expect(classifyRest({})).toBeUndefined()
    const four = { raw: 3n * WHOLE, reason: 'exceeds_liquidity' } as const
    expect(classifyRest({ ...pooled, amount: 4n * WHOLE })).toMatchObject(four)
    expect(classifyRest({ amount: 4n * WHOLE, payable: { amount: WHOLE, detail: '' } })).toMatchObject(four)
    // Both: of four, three can be paid out, and the bound takes one of those.
    const both = classifyRest({ ...pooled, amount: 4n * WHOLE, payable: { amount: 3n * WHOLE, detail: '' } })
    expect(both).toMatchObject(four)
    expect(both?.value).toBeDefined()
    expect(sumE6([both?.value ?? { units: 0n, scale: 0 }])).toBe(9_000_000_000n)
    expect(classifyRest({ isUnlisted: true })).toMatchObject({ raw: WHOLE, reason: 'unlisted' })
    // What is paid at maturity alone has no worth before.
    const later = { amount: WHOLE, detail: '', reason: 'at_maturity' } as const
    expect(classifyRest({ amount: 4n * WHOLE, payable: later })).toEqual({
      raw: 3n * WHOLE,
      value: undefined,
      reason: 'at_maturity',
    })
    expect(classifyRest({ payable: { ...later, amount: 0n } })).toMatchObject({
      value: undefined,
      reason: 'at_maturity',
    })
    expect(classifyRest({ price: noPriceBecause('') })).toEqual({ raw: WHOLE, value: undefined, reason: 'unpriced' })
  })

  test('counts the same whatever the order of the rows', () => {
    const pooled = { price: dollars(7n, 'pool', 5n) }
    const assets = [1n, 3n, 10n ** 17n, 9n * 10n ** 18n].map((amount) => asset({ ...pooled, amount }))
    const values = classifyAssets(assets, { includeUnlisted: false }).map(({ verdict }) => verdict)
    const reversed = classifyAssets(assets.toReversed(), { includeUnlisted: false }).map(({ verdict }) => verdict)
    expect(reversed.toReversed()).toEqual(values)
  })
})

/** Counted value of each row in millionths of a dollar. */
function countE6(assets: readonly HeldAsset[]): (bigint | 'none')[] {
  return classifyAssets(assets, { includeUnlisted: false }).map(({ verdict }) =>
    verdict.counted ? sumE6([verdict.value]) : 'none',
  )
}
