import { describe, expect, test } from 'bun:test'
import { capByPool, collectable, splitOwed } from '../../../../src/family/liquidity/enumerable/math.ts'
import type { TokenAmounts } from '../../../../src/finance/math/liquidity.ts'
import { Q128, UINT128_MAX, UINT256_MAX } from '../../../../src/lib/number/fixed_point.ts'

const toAmounts = (amount0: bigint, amount1: bigint): TokenAmounts => ({ amount0, amount1 })
const NONE = { growth0: 0n, growth1: 0n }

describe('collectable()', () => {
  test('counts growth over the end of 256 bits and keeps to 128 bits', () => {
    const insideLast = { growth0: UINT256_MAX - Q128 + 1n, growth1: 0n }
    const inside = { growth0: Q128, growth1: 0n }
    const owed = { amount0: 5n, amount1: UINT128_MAX }
    expect(collectable({ liquidity: 3n, owed, inside, insideLast })).toEqual({ amount0: 11n, amount1: UINT128_MAX })
    const full = { growth0: 0n, growth1: 3n * Q128 }
    expect(collectable({ liquidity: 1n, owed, inside: full, insideLast: { growth0: 0n, growth1: 0n } }).amount1).toBe(
      2n,
    )
  })
})

describe('capByPool()', () => {
  /** A real collect: 200 collects of another id of the range have cost the pool 48 and 50 units. */
  const liquidity = 16_918_749_915_866_320_128n
  const inside = {
    growth0: 9_398_461_778_819_888_427_377_402_686_785_743n,
    growth1: 9_367_146_234_535_434_664_020_532_753_161_459n,
  }
  const counted = collectable({ liquidity, owed: toAmounts(0n, 0n), inside, insideLast: NONE })
  const owed = toAmounts(467_289_051_350_139n, 465_732_050_712_631n)
  const shared = { liquidity: 50_756_249_750_449_907_767n, insideLast: inside, owed }

  test('pays no more than the pool owes for the range, which it settles first if there is liquidity', () => {
    expect(counted).toEqual(toAmounts(467_289_051_350_187n, 465_732_050_712_681n))
    expect(capByPool(counted, { liquidity, inside, shared })).toEqual(owed)
    const grown = { ...shared, insideLast: { ...inside, growth0: inside.growth0 - Q128 / shared.liquidity - 1n } }
    expect(capByPool(counted, { liquidity, inside, shared: grown })).toEqual({ ...owed, amount0: owed.amount0 + 1n })
    expect(capByPool(toAmounts(1n, 2n), { liquidity, inside, shared })).toEqual(toAmounts(1n, 2n))
  })

  test('settles nothing for a position without liquidity', () => {
    const unsettled = { ...shared, insideLast: NONE }
    expect(capByPool(counted, { liquidity: 0n, inside: undefined, shared: unsettled })).toEqual(owed)
    const paid = { ...unsettled, owed: toAmounts(0n, 0n) }
    expect(capByPool(counted, { liquidity: 0n, inside: undefined, shared: paid })).toEqual(toAmounts(0n, 0n))
    // A range that is empty and paid keeps the growth of its last touch, of either token.
    for (const insideLast of [
      { ...NONE, growth0: 1n },
      { ...NONE, growth1: 1n },
    ]) {
      const left = { ...paid, liquidity: 0n, insideLast }
      expect(capByPool(counted, { liquidity: 0n, inside: undefined, shared: left })).toEqual(toAmounts(0n, 0n))
    }
  })

  test('leaves the amounts of the manager where the pool stores nothing, or less liquidity than the position has', () => {
    const empty = { liquidity: 0n, insideLast: NONE, owed: toAmounts(0n, 0n) }
    expect(capByPool(counted, { liquidity: 0n, inside: undefined, shared: empty })).toEqual(counted)
    expect(capByPool(counted, { liquidity, inside, shared: { ...shared, liquidity: liquidity - 1n } })).toEqual(counted)
    expect(capByPool(counted, { liquidity, inside, shared: { ...shared, liquidity } })).toEqual(owed)
  })
})

describe('splitOwed()', () => {
  test('takes what the pool lacks from fees first, then from withdrawn principal', () => {
    const split = (amount0: bigint) =>
      splitOwed(toAmounts(amount0, 7n), { stored: toAmounts(10n, 7n), withdrawn: [10n, 7n] })
    expect(split(12n)).toEqual({ fees: toAmounts(2n, 0n), withdrawn: toAmounts(10n, 7n) })
    expect(split(10n)).toEqual({ fees: toAmounts(0n, 0n), withdrawn: toAmounts(10n, 7n) })
    expect(split(8n)).toEqual({ fees: toAmounts(0n, 0n), withdrawn: toAmounts(8n, 7n) })
  })
})
