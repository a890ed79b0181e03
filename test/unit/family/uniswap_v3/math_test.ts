import { describe, expect, test } from 'bun:test'
import { collectable } from '../../../../src/family/uniswap_v3/math/fees.ts'
import { Q128, UINT128_MAX, UINT256_MAX } from '../../../../src/lib/number/fixed_point.ts'

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
