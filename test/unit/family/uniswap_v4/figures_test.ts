import { expect, test } from 'bun:test'
import { encodeAbiParameters, keccak256, zeroAddress } from 'viem'
import { computeFigures as computeProtocolFigures } from '../../../../src/family/liquidity/present.ts'
import {
  computeCountedAmounts,
  computeFees,
  computeHeldAmounts,
  earned,
  type Withdrawal,
} from '../../../../src/family/uniswap_v4/math/figures.ts'
import {
  getHookPermissions,
  isDynamicFee,
  mayChangePayment,
  mayChangeWithdrawal,
} from '../../../../src/family/uniswap_v4/math/hooks.ts'
import { PROTOCOL } from '../../../../src/family/uniswap_v4/protocol.ts'
import type { Position } from '../../../../src/family/uniswap_v4/read/position.ts'
import type { PricedToken } from '../../../../src/finance/token/priced_token.ts'
import { HOOK_BITS, hookAddress } from '../../../devnet/uniswap_v4/addresses.ts'
import { KEY_TUPLE } from '../../../devnet/uniswap_v4/calls.ts'

const NOTHING = { growth0: 0n, growth1: 0n }

function token(address: `0x${string}`, decimals: number, usd: bigint | undefined): PricedToken {
  const price = usd === undefined ? undefined : ({ units: usd, scale: 0, source: 'feed' } as const)
  return { address, symbol: 'T', name: 'T', asWritten: { symbol: 'T', name: 'T' }, decimals, price }
}

/** Ethereum's position 36628 at block 23,245,988, as it was recorded in public. */
const RECORDED = {
  liquidity: 333395415093280n,
  tickLower: -195600,
  tickUpper: -192180,
  growth: { insideLast: NOTHING, lower: NOTHING, upper: NOTHING },
  pool: { tick: -194948, sqrtPriceX96: 4632991693091202500687682n, global: NOTHING },
  token0: token('0x45804880De22913dAFE09f4980848ECE6EcbAf78', 18, 3416n),
  token1: token('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 6, 1n),
}

/** Computes the figures of a position of which only what they need is known. */
function computeFigures(position: typeof RECORDED, withdrawal?: Withdrawal) {
  return computeProtocolFigures(PROTOCOL, position as unknown as Position, { withdrawal })
}

test('a recorded position of Ethereum is worth what was recorded, which rounds up and leaves out fees', () => {
  const { principal, fees } = computeHeldAmounts(RECORDED)
  expect([principal.amount0 + 1n, principal.amount1 + 1n]).toEqual([736722406006832849n, 625820455n])
  expect(fees).toEqual({ amount0: 0n, amount1: 0n })
  const key = { currency0: RECORDED.token0.address, currency1: RECORDED.token1.address, fee: 3_000, tickSpacing: 60 }
  expect(keccak256(encodeAbiParameters([KEY_TUPLE], [{ ...key, hooks: zeroAddress }]))).toBe(
    '0xcc708109490fc52a42a73adc891367b617255164f35eb575fb428b6cd27c2663',
  )
})

test('fees are growth times liquidity, rounded down, also where growth has wrapped around', () => {
  const [from, to] = [
    { growth0: (1n << 256n) - 5n, growth1: 7n },
    { growth0: (1n << 128n) - 6n, growth1: 6n },
  ]
  expect(earned({ liquidity: 1_000n, from, to })).toEqual({
    amount0: (((1n << 128n) - 1n) * 1_000n) >> 128n,
    amount1: (((1n << 256n) - 1n) * 1_000n) >> 128n,
  })
  expect(earned({ liquidity: 3n, from: NOTHING, to: { growth0: 1n << 127n, growth1: 1n << 128n } })).toEqual({
    amount0: 1n,
    amount1: 3n,
  })
  expect(computeFees({ ...RECORDED, liquidity: 0n, growth: undefined })).toEqual({ amount0: 0n, amount1: 0n })
})

test('the total counts at most what the pool owes of each token, and nothing of a withdrawal that reverts', () => {
  const owed = { principal: { amount0: 100n, amount1: 200n }, fees: { amount0: 5n, amount1: 0n } }
  expect(computeCountedAmounts(owed, undefined)).toEqual({ amount0: 105n, amount1: 200n })
  expect(computeCountedAmounts(owed, { paid: { amount0: 90n, amount1: 10_000n } })).toEqual({
    amount0: 90n,
    amount1: 200n,
  })
  expect(computeCountedAmounts(owed, { error: 'reverts' })).toBeUndefined()
  expect(computeCountedAmounts(owed, { error: 'unsupported' })).toBeUndefined()
})

test('the total in dollars is unknown if a price is unknown or the withdrawal did not pay', () => {
  const { amounts, usd } = computeFigures(RECORDED)
  expect(usd?.totalE6).toBe(usd?.amountsE6)
  const half = { amount0: amounts.amount0 / 2n, amount1: amounts.amount1 * 5n }
  const halved = computeFigures(RECORDED, { paid: half }).usd
  const exactE6 = ((amounts.amount0 / 2n) * 3416n) / 10n ** 12n + amounts.amount1
  expect((halved?.totalE6 ?? 0n) - exactE6).toBeLessThanOrEqual(1n)
  expect(halved?.amountsE6).toBe(usd?.amountsE6 as bigint)
  const reverts = computeFigures(RECORDED, { error: 'reverts' }).usd
  expect([reverts?.totalE6, reverts?.amountsE6]).toEqual([undefined, usd?.amountsE6])
  expect(computeFigures({ ...RECORDED, token0: { ...RECORDED.token0, price: undefined } }).usd).toBeUndefined()
})

test('each bit of a hook’s address is one permission, from bit 13 down', () => {
  const names = Object.keys(HOOK_BITS) as (keyof typeof HOOK_BITS)[]
  for (const name of names) {
    const hook = hookAddress(`alone ${name}`, [name])
    expect(getHookPermissions(hook)).toEqual([name])
    expect(mayChangeWithdrawal(hook)).toBe((HOOK_BITS[name] & 0x301) !== 0)
    expect(mayChangePayment(hook)).toBe((HOOK_BITS[name] & 3) !== 0)
  }
  expect(getHookPermissions(hookAddress('all', names))).toEqual(names)
  expect(getHookPermissions(zeroAddress)).toEqual([])
  expect(mayChangeWithdrawal(zeroAddress)).toBe(false)
  expect([isDynamicFee({ keyFee: 0x800000 }), isDynamicFee({ keyFee: 3_000 })]).toEqual([true, false])
})
