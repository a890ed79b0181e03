import { describe, expect, test } from 'bun:test'
import { SqrtPriceMath, TickMath } from '@uniswap/v3-sdk'
import JSBI from 'jsbi'
import { formatExact } from '../../../../src/lib/number/decimal.ts'
import { createRandom } from '../../../devnet/random.ts'
import { atBounds } from '../../../support/dashboard/explore/pages.ts'

const ROUNDS = 2_000

describe('the amount of a position at a bound', () => {
  test('equals the payout of the official SDK, rounded down, over all ticks, decimals and sizes', () => {
    const { below } = createRandom(252)
    const tick = () => below(1_774_545) - 887_272
    for (let round = 0; round < ROUNDS; round++) {
      const [tickLower, tickUpper] = [tick(), tick()].sort((a, b) => a - b) as [number, number]
      if (tickLower === tickUpper) continue
      const liquidity = BigInt(below(2 ** 30)) ** BigInt(1 + below(4))
      const [decimals0, decimals1] = [below(25), below(25)]
      const [lower, upper] = [TickMath.getSqrtRatioAtTick(tickLower), TickMath.getSqrtRatioAtTick(tickUpper)]
      const amount = JSBI.BigInt(liquidity.toString())
      const payout = (method: 'getAmount0Delta' | 'getAmount1Delta') =>
        BigInt(SqrtPriceMath[method](lower, upper, amount, false).toString())
      expect(
        atBounds({
          liquidity: liquidity.toString(),
          tickLower: String(tickLower),
          tickUpper: String(tickUpper),
          token0: { decimals: decimals0 },
          token1: { decimals: decimals1 },
        }),
      ).toEqual({
        token0: formatExact(payout('getAmount0Delta'), decimals0),
        token1: formatExact(payout('getAmount1Delta'), decimals1),
      })
    }
  })
})
