import { describe, expect, test } from 'bun:test'
import * as book from '@aave-dao/aave-address-book'
import { getContractAddress, type Hex } from 'viem'
import { hasAllTokens } from '../../../../../src/family/aave_v3/event/balance.ts'
import type { ReserveToken, TokenSide } from '../../../../../src/family/aave_v3/event/log.ts'

const CONFIGURATOR = `0x${'c0'.repeat(20)}` as Hex
const [USDC, WETH] = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`] as [Hex, Hex]

const getCreatedAddress = (nonce: number) =>
  getContractAddress({ from: CONFIGURATOR, nonce: BigInt(nonce) }).toLowerCase() as Hex

function createTokens(...created: readonly (readonly [nonce: number, asset: Hex, side: TokenSide])[]) {
  return new Map<Hex, ReserveToken>(created.map(([nonce, asset, side]) => [getCreatedAddress(nonce), { asset, side }]))
}

const BOTH = createTokens(
  ...([1, 2, 3].map((nonce, index) => [nonce, USDC, (['supply', 'stable_debt', 'variable_debt'] as const)[index]]) as [
    number,
    Hex,
    TokenSide,
  ][]),
  [4, WETH, 'supply'],
  [5, WETH, 'variable_debt'],
)

/** A market of the address book, as far as it matters here. */
interface BookMarket {
  readonly POOL_CONFIGURATOR: Hex
  readonly ASSETS: Readonly<Record<string, { readonly UNDERLYING: Hex; readonly A_TOKEN: Hex; readonly V_TOKEN: Hex }>>
}

/** Its EraVM makes addresses otherwise; it is not served. */
const OTHERWISE = ['AaveV3ZkSync', 'AaveV3Sepolia']
const MARKETS = Object.entries(book as Readonly<Record<string, object>>).filter(
  (entry): entry is [string, BookMarket] =>
    entry[0].startsWith('AaveV3') && 'POOL_CONFIGURATOR' in entry[1] && !OTHERWISE.includes(entry[0]),
)

describe('hasAllTokens()', () => {
  test('is true for every market of the address book: none ever dropped a reserve', () => {
    expect(MARKETS.length).toBeGreaterThan(20)
    for (const [name, { POOL_CONFIGURATOR: configurator, ASSETS }] of MARKETS) {
      const tokens = new Map<Hex, ReserveToken>()
      for (const { UNDERLYING: asset, A_TOKEN, V_TOKEN } of Object.values(ASSETS)) {
        tokens.set(A_TOKEN.toLowerCase() as Hex, { asset, side: 'supply' })
        tokens.set(V_TOKEN.toLowerCase() as Hex, { asset, side: 'variable_debt' })
      }
      // Two or three tokens of each reserve.
      const count = Object.keys(ASSETS).length
      const nonces = Array.from({ length: count + 1 }, (_, index) => 1 + 2 * count + index)
      const isWhole = nonces.some((nonce) => hasAllTokens(tokens, { configurator, nonce }))
      expect({ name, isWhole }).toEqual({ name, isWhole: true })
    }
  }, 30_000)

  test('is true if the configurator created nothing else, with stable debt tokens or without', () => {
    expect(hasAllTokens(BOTH, { configurator: CONFIGURATOR, nonce: 6 })).toBe(true)
    const withoutStable = new Map([...BOTH].filter(([, { side }]) => side !== 'stable_debt'))
    expect(hasAllTokens(withoutStable, { configurator: CONFIGURATOR, nonce: 6 })).toBe(true)
  })

  test('is false if a reserve was dropped, at any index', () => {
    for (const [asset, nonce] of [
      [USDC, 6],
      [WETH, 6],
    ] as const) {
      const left = new Map([...BOTH].filter(([, token]) => token.asset !== asset))
      expect(hasAllTokens(left, { configurator: CONFIGURATOR, nonce })).toBe(false)
    }
    expect(hasAllTokens(BOTH, { configurator: CONFIGURATOR, nonce: 8 })).toBe(false)
  })

  test('is false if another contract created a token', () => {
    const more = new Map([...BOTH, [USDC, { asset: USDC, side: 'supply' }] as const])
    expect(hasAllTokens(more, { configurator: CONFIGURATOR, nonce: 6 })).toBe(false)
    expect(hasAllTokens(BOTH, { configurator: WETH, nonce: 6 })).toBe(false)
    expect(hasAllTokens(BOTH, { configurator: CONFIGURATOR, nonce: 1 })).toBe(false)
  })
})
