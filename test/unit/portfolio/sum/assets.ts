import type { UsdPrice } from '../../../../src/finance/price/price.ts'
import type { HeldAsset, Pricing } from '../../../../src/portfolio/sum/row.ts'
import { TOKENS } from '../../../devnet/addresses.ts'

/** A price in dollars. */
export function dollars(usd: bigint, source: UsdPrice['source'] = 'feed', boundUsd?: bigint): Pricing {
  const price: UsdPrice = { units: usd * 100_000_000n, scale: 8, source }
  return boundUsd === undefined
    ? { kind: 'price', price }
    : { kind: 'price', price, boundUsd: { units: boundUsd, scale: 0 } }
}

/** One whole WETH in the wallet, at 3,000 dollars. */
export function asset(overrides: Partial<HeldAsset> = {}): HeldAsset {
  return {
    chainId: 1,
    kind: 'wallet',
    token: { address: TOKENS.weth.address, symbol: 'WETH', name: 'Wrapped Ether', decimals: 18 },
    amount: 10n ** 18n,
    price: dollars(3_000n),
    isUnlisted: false,
    refused: undefined,
    position: null,
    ...overrides,
  }
}
