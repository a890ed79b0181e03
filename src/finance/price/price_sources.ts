import { type Address, zeroAddress } from 'viem'
import { encodeArray, encodeStruct } from '../../chain/call/words.ts'
import { onceEach } from '../../lib/once_each.ts'
import type { ChainPrices, UsdFeed } from '../chain.ts'

/** Contracts that a lens asks for prices of a chain's tokens. */
export interface PriceSources {
  readonly feeds: readonly { readonly token: Address; readonly feed: Address }[]
  readonly aaveOracle: Address | undefined
}

/** The contracts that give a chain's prices. */
export const priceSourcesOf = onceEach(({ usdFeeds, aaveOracle }: ChainPrices): PriceSources => {
  const feeds = Object.entries(usdFeeds) as [Address, UsdFeed][]
  return { feeds: feeds.map(([token, { feed }]) => ({ token, feed })), aaveOracle }
})

/** The struct `PriceSources` of `prices.sol` as an argument of a lens. */
export const PRICE_SOURCES_ARGUMENT = '(address[] tokens, address[] feeds, address aaveOracle) prices'

/** Its value. */
export function encodePriceSources({ feeds, aaveOracle = zeroAddress }: PriceSources) {
  const { tokens, sources } = encodeFeeds(feeds)
  return encodeStruct(tokens, sources, aaveOracle)
}

const encodeFeeds = onceEach((feeds: PriceSources['feeds']) => ({
  tokens: encodeArray(feeds.map(({ token }) => token)),
  sources: encodeArray(feeds.map(({ feed }) => feed)),
}))
