import { beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import {
  feeGrowthInside,
  formatPoolPrice,
  isInRange,
  principal,
  sqrtPriceAtTickX96,
} from '../../../../src/finance/math/liquidity.ts'
import { Q96, UINT256_MAX, wrap256 } from '../../../../src/lib/number/fixed_point.ts'
import { BANK, MULTICALL3, toWalletAddress, UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'

/** As v3-core's TickMath has them. */
const TICK_MIN = -887_272
const TICK_MAX = 887_272
const tick = fc.integer({ min: TICK_MIN, max: TICK_MAX })
const uint = (bits: number) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })
const range = fc
  .tuple(tick, tick)
  .filter(([a, b]) => a !== b)
  .map(([a, b]) => ({ tickLower: Math.min(a, b), tickUpper: Math.max(a, b) }))

const ABI = parseAbi([
  'function createPool(address, address, uint24) returns (address)',
  'function getPool(address, address, uint24) view returns (address)',
  'function initialize(uint160 sqrtPriceX96)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16, uint16, uint16, uint8, bool)',
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) returns ((bool success, bytes returnData)[])',
])

describe('sqrtPriceAtTickX96() against a real pool', () => {
  let devnet: Devnet
  let pool: Hex

  beforeAll(async () => {
    devnet = await sharedDevnet()
    const pair = [toWalletAddress('tick math a'), toWalletAddress('tick math b'), 500] as const
    const data = encodeFunctionData({ abi: ABI, functionName: 'createPool', args: pair })
    await devnet.send([{ from: BANK, to: UNISWAP_V3.factory, data }])
    pool = await devnet.client.readContract({
      abi: ABI,
      address: UNISWAP_V3.factory,
      functionName: 'getPool',
      args: pair,
    })
  }, 60_000)

  /** The tick that the pool takes a price for, in one call that leaves nothing behind. */
  async function readTick(sqrtPriceX96: bigint): Promise<number | undefined> {
    const initialize = encodeFunctionData({ abi: ABI, functionName: 'initialize', args: [sqrtPriceX96] })
    const slot0 = encodeFunctionData({ abi: ABI, functionName: 'slot0' })
    const { result } = await devnet.client.simulateContract({
      abi: ABI,
      address: MULTICALL3,
      functionName: 'aggregate3',
      args: [[initialize, slot0].map((callData) => ({ target: pool, allowFailure: true, callData }))],
    })
    const [first, second] = result
    if (first?.success !== true || second === undefined) return undefined
    return Number(BigInt.asIntN(24, BigInt(`0x${second.returnData.slice(66, 130)}`)))
  }

  test('is the lowest price of its tick, for both ends, every bit of a tick, and 60 others', async () => {
    const bits = Array.from({ length: 20 }, (_, bit) => 2 ** bit).filter((each) => each <= TICK_MAX)
    const ticks = [
      0,
      1,
      TICK_MAX - 1,
      ...bits,
      ...fc.sample(fc.integer({ min: 2, max: TICK_MAX - 2 }), { numRuns: 30, seed: 7 }),
    ]
    for (const each of new Set(ticks.flatMap((value) => [value, -value]))) {
      const price = sqrtPriceAtTickX96(each)
      expect({ tick: each, at: await readTick(price), below: await readTick(price - 1n) }).toEqual({
        tick: each,
        at: each,
        below: each - 1,
      })
    }
  }, 60_000)

  test('has the limits that a pool has', async () => {
    expect(sqrtPriceAtTickX96(TICK_MIN)).toBe(4_295_128_739n)
    expect(sqrtPriceAtTickX96(TICK_MAX)).toBe(1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_342n)
    expect(await readTick(sqrtPriceAtTickX96(TICK_MIN))).toBe(TICK_MIN)
    expect(await readTick(sqrtPriceAtTickX96(TICK_MIN) - 1n)).toBeUndefined()
    expect(await readTick(sqrtPriceAtTickX96(TICK_MAX) - 1n)).toBe(TICK_MAX - 1)
    expect(await readTick(sqrtPriceAtTickX96(TICK_MAX))).toBeUndefined()
    for (const beyond of [TICK_MIN - 1, TICK_MAX + 1, 0.5, Number.NaN]) {
      expect(() => sqrtPriceAtTickX96(beyond)).toThrow(RangeError)
    }
  })
})

describe('principal()', () => {
  const state = fc.record({ sqrtPriceX96: tick.map(sqrtPriceAtTickX96), liquidity: uint(128), range })

  test('is in one token outside the range and never negative', () => {
    fc.assert(
      fc.property(state, ({ sqrtPriceX96, liquidity, range }) => {
        const { amount0, amount1 } = principal({ sqrtPriceX96, liquidity, ...range })
        expect(amount0 >= 0n && amount1 >= 0n).toBe(true)
        if (sqrtPriceX96 <= sqrtPriceAtTickX96(range.tickLower)) expect(amount1).toBe(0n)
        if (sqrtPriceX96 >= sqrtPriceAtTickX96(range.tickUpper)) expect(amount0).toBe(0n)
      }),
    )
  })

  test('moves from token0 to token1 as the price rises', () => {
    fc.assert(
      fc.property(state, tick.map(sqrtPriceAtTickX96), ({ sqrtPriceX96, liquidity, range }, other) => {
        const [low, high] = sqrtPriceX96 < other ? [sqrtPriceX96, other] : [other, sqrtPriceX96]
        const below = principal({ sqrtPriceX96: low, liquidity, ...range })
        const above = principal({ sqrtPriceX96: high, liquidity, ...range })
        expect(below.amount0 >= above.amount0 && below.amount1 <= above.amount1).toBe(true)
      }),
    )
  })

  test('of a single unit of liquidity is as exact as possible', () => {
    const range = { tickLower: -887_272, tickUpper: 887_272 }
    const { amount0 } = principal({ sqrtPriceX96: sqrtPriceAtTickX96(-887_272), liquidity: 1n, ...range })
    expect(amount0).toBeGreaterThan(2n ** 63n)
  })

  test('is nothing without liquidity', () => {
    const nothing = principal({ sqrtPriceX96: Q96, liquidity: 0n, tickLower: -1, tickUpper: 1 })
    expect(nothing).toEqual({ amount0: 0n, amount1: 0n })
  })
})

describe('isInRange()', () => {
  test('holds the lower bound and not the upper', () => {
    const range = { tickLower: -10, tickUpper: 10 }
    expect([-11, -10, 0, 9, 10].map((each) => isInRange(each, range))).toEqual([false, true, true, true, false])
  })
})

describe('feeGrowthInside()', () => {
  const growth = fc.record({ growth0: uint(256), growth1: uint(256) })

  test('does not depend on the counters’ start values, even if they wrap', () => {
    fc.assert(
      fc.property(tick, range, growth, growth, growth, uint(256), (at, ends, global, lower, upper, start) => {
        const moved = (each: { growth0: bigint; growth1: bigint }) => ({
          growth0: wrap256(each.growth0 + start),
          growth1: wrap256(each.growth1 + start),
        })
        const inside = feeGrowthInside({ tick: at, ...ends, global, outsideLower: lower, outsideUpper: upper })
        // Seen from inside the range it is global − lower − upper, from outside the difference of its ends.
        const again = isInRange(at, ends)
          ? { global: moved(global), outsideLower: moved(lower), outsideUpper: upper }
          : { global, outsideLower: moved(lower), outsideUpper: moved(upper) }
        expect(feeGrowthInside({ tick: at, ...ends, ...again })).toEqual(inside)
        for (const value of Object.values(inside)) expect(value >= 0n && value <= UINT256_MAX).toBe(true)
      }),
    )
  })

  test('is the growth while the price was inside', () => {
    const none = { growth0: 0n, growth1: 0n }
    const grown = (value: bigint) => ({ growth0: value, growth1: 2n * value })
    const ends = { tickLower: -10, tickUpper: 10 }
    expect(
      feeGrowthInside({ tick: 0, ...ends, global: grown(9n), outsideLower: grown(2n), outsideUpper: grown(3n) }),
    ).toEqual(grown(4n))
    expect(
      feeGrowthInside({ tick: -11, ...ends, global: grown(9n), outsideLower: grown(6n), outsideUpper: grown(2n) }),
    ).toEqual(grown(4n))
    expect(
      feeGrowthInside({ tick: 10, ...ends, global: grown(9n), outsideLower: grown(1n), outsideUpper: grown(5n) }),
    ).toEqual(grown(4n))
    // The lower bound belongs to the range.
    expect(
      feeGrowthInside({ tick: -10, ...ends, global: grown(9n), outsideLower: grown(2n), outsideUpper: grown(3n) }),
    ).toEqual(grown(4n))
    expect(
      feeGrowthInside({ tick: 0, ...ends, global: none, outsideLower: grown(1n), outsideUpper: none }).growth0,
    ).toBe(UINT256_MAX)
  })
})

describe('formatPoolPrice()', () => {
  test('gives 18 significant digits, halves away from zero, without zeros at the end', () => {
    const at = (sqrtPriceX96: bigint, decimals0: number, decimals1: number, inverse = false) =>
      formatPoolPrice(sqrtPriceX96, { decimals0, decimals1, inverse })
    expect(at(Q96, 18, 18)).toBe('1')
    expect(at(2n * Q96, 18, 18)).toBe('4')
    expect(at(2n * Q96, 18, 18, true)).toBe('0.25')
    expect(at(Q96, 6, 18)).toBe('0.000000000001')
    expect(at(Q96, 18, 6)).toBe('1000000000000')
    expect(at(3n * Q96, 0, 0, true)).toBe('0.111111111111111111')
    expect(at(sqrtPriceAtTickX96(1), 0, 0)).toBe('1.0001')
    expect(at(0n, 6, 18)).toBe('0')
  })

  test('of a pool without a price is 0 in both directions', () => {
    for (const inverse of [false, true]) expect(formatPoolPrice(0n, { decimals0: 6, decimals1: 18, inverse })).toBe('0')
  })

  test('is a plain positive decimal for all decimals and prices, within half a unit of the 18th digit', () => {
    const decimals = fc.integer({ min: 0, max: 255 })
    fc.assert(
      fc.property(
        tick.map(sqrtPriceAtTickX96),
        decimals,
        decimals,
        fc.boolean(),
        (price, decimals0, decimals1, inverse) => {
          const text = formatPoolPrice(price, { decimals0, decimals1, inverse })
          expect(text).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
          expect(text.replace('.', '').replace(/^0+/, '').replace(/0+$/, '').length).toBeLessThanOrEqual(18)
          const [whole = '', fraction = ''] = text.split('.')
          const units = BigInt(whole + fraction)
          expect(units > 0n).toBe(true)
          const [above, below] = [price * price * 10n ** BigInt(decimals0), Q96 * Q96 * 10n ** BigInt(decimals1)]
          const [numerator, denominator] = inverse ? [below, above] : [above, below]
          const error = units * denominator - numerator * 10n ** BigInt(fraction.length)
          expect((error < 0n ? -error : error) * 2n * 10n ** 17n <= numerator * 10n ** BigInt(fraction.length)).toBe(
            true,
          )
        },
      ),
    )
  })
})
