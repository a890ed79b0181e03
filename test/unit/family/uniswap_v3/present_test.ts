import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import type { Position } from '../../../../src/family/liquidity/enumerable/read/position.ts'
import type { PnlOutcome } from '../../../../src/family/liquidity/position_history/pnl.ts'
import { presentPosition as presentFull } from '../../../../src/family/liquidity/present.ts'
import { PROTOCOL } from '../../../../src/family/uniswap_v3/protocol.ts'
import type { UsdPrice } from '../../../../src/finance/price/price.ts'
import { Q96, Q128 } from '../../../../src/lib/number/fixed_point.ts'
import { TOKENS, UNISWAP_V3, WALLETS } from '../../../devnet/addresses.ts'

const FEED: UsdPrice = { units: 300_000_000_000n, scale: 8, source: 'feed' }
const DOLLAR: UsdPrice = { units: 1n, scale: 0, source: 'stablecoin' }
const NONE = { growth0: 0n, growth1: 0n }
const { position: positionOutput } = PROTOCOL.outputs

function token(
  of: { readonly address: `0x${string}`; readonly symbol: string; readonly name: string },
  decimals: number,
  price?: UsdPrice,
) {
  const { address, symbol, name } = of
  return { address, symbol, name, decimals, price, asWritten: { symbol, name } }
}

/** Ten units of liquidity from a price of a quarter to four, at a price of one, with fees of 12 and 3. */
function position(overrides: Partial<Position> = {}): Position {
  return {
    chainId: 1,
    deployment: { manager: UNISWAP_V3.manager, factory: UNISWAP_V3.factory, startBlock: 0, code: 'uniswap_v3' },
    tokenId: 2n ** 200n,
    owner: WALLETS.provider.toLowerCase() as `0x${string}`,
    pool: {
      address: WALLETS.market,
      fee: 3000,
      sqrtPriceX96: Q96,
      tick: 0,
      global: { growth0: Q128 / 1_000_000n, growth1: 0n },
    },
    token0: token(TOKENS.usdc, 6, DOLLAR),
    token1: token(TOKENS.weth, 18, FEED),
    tickLower: -13_863,
    tickUpper: 13_863,
    liquidity: 10n ** 13n,
    insideLast: NONE,
    shared: { liquidity: 0n, insideLast: NONE, owed: { amount0: 0n, amount1: 0n } },
    owed: { amount0: 2_000_000n, amount1: 3n * 10n ** 18n },
    outside: { lower: NONE, upper: NONE },
    spam: undefined,
    ...overrides,
  }
}

/** PnL of a position with known flows: 1.5 and 2 of the amounts stored as owed are principal. */
const missing = { token: UNISWAP_V3.manager, because: 'no source prices it', isLasting: false }
const pnl: PnlOutcome = { status: 'unpriced', missing, withdrawn: [1_500_000n, 2n * 10n ** 18n] }
const single = { pnl, hasSqrtPrice: true }

function presentPosition(
  position: Position,
  { pnl, hasSqrtPrice }: { readonly pnl?: PnlOutcome; readonly hasSqrtPrice: boolean },
) {
  const full = pnl && { position, withdrawal: undefined, pnl }
  return presentFull(PROTOCOL, position, { full, hasSqrtPrice })
}

describe('presentPosition()', () => {
  test('has the fields of the interface, with text for all numbers but decimals and chain ids', () => {
    expect(presentPosition(position(), { hasSqrtPrice: true }) as object).toEqual({
      token_id: (2n ** 200n).toString(),
      chain_id: 1,
      manager_address: UNISWAP_V3.manager,
      wallet: WALLETS.provider,
      is_active: true,
      position_state: {
        id: (2n ** 200n).toString(),
        owner: WALLETS.provider,
        liquidity: '10000000000000',
        tickLower: '-13863',
        tickUpper: '13863',
        token0: { id: TOKENS.usdc.address, symbol: 'USDC', decimals: 6, name: 'USD Coin' },
        token1: { id: TOKENS.weth.address, symbol: 'WETH', decimals: 18, name: 'Wrapped Ether' },
        pool: { id: WALLETS.market, tick: '0', feeTier: '3000', sqrtPrice: Q96.toString() },
        chain: { id: 1 },
        protocol: { code: 'uniswap_v3' },
        custodian: null,
      },
    })
  })

  test('leaves the square-root price out of lists', () => {
    const { pool } = presentPosition(position(), { pnl, hasSqrtPrice: false }).position_state
    expect(Object.keys(pool)).toEqual(['id', 'tick', 'feeTier'])
  })

  test('adds amounts, fees, range, prices and values to the detailed payload', () => {
    const { amounts, uncollected_fees, withdrawn_principal, in_range, prices, usd } = presentPosition(
      position(),
      single,
    ) as Record<string, unknown>
    expect({ amounts, uncollected_fees, withdrawn_principal, in_range }).toEqual({
      amounts: {
        token0: { raw: '4999840818718', amount: '4999840.818718' },
        token1: { raw: '4999840818718', amount: '0.000004999840818718' },
      },
      uncollected_fees: {
        token0: { raw: '10499999', amount: '10.499999' },
        token1: { raw: '1000000000000000000', amount: '1' },
      },
      withdrawn_principal: {
        token0: { raw: '1500000', amount: '1.5' },
        token1: { raw: '2000000000000000000', amount: '2' },
      },
      in_range: true,
    })
    expect(prices).toMatchObject({ current: '0.000000000001', inverse: { current: '1000000000000' } })
    expect(usd).toEqual({
      token0_price: '1.000000',
      token0_price_source: 'stablecoin',
      token0_price_confidence: 'assumed',
      token1_price: '3000.000000',
      token1_price_source: 'feed',
      token1_price_confidence: 'oracle',
      amounts: '4999840.833718',
      uncollected_fees: '3010.499999',
      withdrawn_principal: '6001.500000',
      total: '5008852.833717',
    })
  })

  test('has prices whose bounds enclose the current one, in both directions', () => {
    const { prices } = presentPosition(position(), single) as unknown as {
      prices: Record<string, string> & { inverse: Record<string, string> }
    }
    for (const each of [prices, prices.inverse]) {
      expect(Number(each['lower'])).toBeLessThan(Number(each['current']))
      expect(Number(each['current'])).toBeLessThan(Number(each['upper']))
    }
  })

  test('has no value if one token has no price, and still has the price of the other', () => {
    const half = presentPosition(position({ token1: token(TOKENS.weth, 18) }), single)
    expect((half as { usd?: unknown }).usd).toEqual({
      token0_price: '1.000000',
      token0_price_source: 'stablecoin',
      token0_price_confidence: 'assumed',
      token1_price: null,
      token1_price_source: null,
      token1_price_confidence: null,
      amounts: null,
      uncollected_fees: null,
      withdrawn_principal: null,
      total: null,
    })
  })

  test.each(['pending', 'failed'] as const)('has null fees if they may be principal while pnl is %s', (status) => {
    const unknown = presentPosition(position(), { pnl: { status }, hasSqrtPrice: true })
    expect(unknown as object).toMatchObject({
      uncollected_fees: null,
      withdrawn_principal: null,
      pnl: null,
      pnl_status: status,
      usd: { uncollected_fees: null, withdrawn_principal: null, total: '5008852.833717' },
    })
    // The manager stores nothing as owed: all can only be growth.
    const grown = presentPosition(position({ owed: { amount0: 0n, amount1: 0n } }), {
      pnl: { status },
      hasSqrtPrice: true,
    })
    expect(grown as object).toMatchObject({
      uncollected_fees: { token0: { raw: '9999999' }, token1: { raw: '0' } },
      withdrawn_principal: { token0: { raw: '0' }, token1: { raw: '0' } },
      usd: { uncollected_fees: '9.999999', withdrawn_principal: '0.000000' },
    })
    for (const owed of [
      { amount0: 1n, amount1: 0n },
      { amount0: 0n, amount1: 1n },
    ]) {
      const half = presentPosition(position({ owed }), { pnl: { status }, hasSqrtPrice: true })
      expect(half as object).toMatchObject({ uncollected_fees: null, withdrawn_principal: null })
    }
  })

  test('of a closed position has the amounts not yet collected', () => {
    const closed = presentPosition(position({ liquidity: 0n, outside: undefined }), single) as Record<string, unknown>
    expect(closed).toMatchObject({
      is_active: false,
      amounts: { token0: { raw: '0', amount: '0' }, token1: { raw: '0', amount: '0' } },
      uncollected_fees: { token0: { raw: '500000' }, token1: { raw: '1000000000000000000' } },
      withdrawn_principal: { token0: { raw: '1500000' }, token1: { raw: '2000000000000000000' } },
    })
  })

  test('fits its schema for every source of prices', () => {
    for (const source of ['feed', 'aave_oracle', 'stablecoin'] as const) {
      const data = presentPosition(position({ token1: token(TOKENS.weth, 18, { ...FEED, source }) }), single)
      expect(data).toMatchObject({ usd: { token1_price_source: source } })
      expect(v.safeParse(positionOutput, { data }).issues).toBeUndefined()
    }
  })

  test('fits its schema for tokens of 0 and of 77 decimals', () => {
    for (const decimals of [0, 77]) {
      const odd = position({
        token0: token(TOKENS.usdc, decimals, DOLLAR),
        token1: token(TOKENS.weth, 77 - decimals, FEED),
      })
      for (const full of [{ pnl }, {}]) {
        const data = presentPosition(odd, { ...full, hasSqrtPrice: true })
        expect(v.safeParse(positionOutput, { data }).issues).toBeUndefined()
      }
    }
  })
})
