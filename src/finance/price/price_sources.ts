import { type Address, zeroAddress } from 'viem'
import type { LensCursor } from '../../chain/call/cursor.ts'
import { encodeBytes, encodeStruct, packAddress } from '../../chain/call/words.ts'
import { memoize } from '../../lib/memoize.ts'
import type { FinanceChain, Wrapper } from '../chain.ts'
import type { UsdAnswers } from './price.ts'
import { WRAPPER_KINDS } from './table/wrappers.ts'

/** The contracts that a lens calls for prices of a chain's tokens; `price.ts` interprets their answers. */
export interface PriceSources {
  readonly feeds: readonly { readonly token: Address; readonly feed: Address }[]
  readonly wrappers: readonly (Pick<Wrapper, 'of'> & {
    readonly token: Address
    /** `same`: one wrapper token is worth one token inside. */
    readonly kind: Wrapper['kind'] | 'same'
  })[]
  readonly aaveOracle: Address | undefined
  /** The feed that tells since when the chain's sequencer is up or down. */
  readonly sequencerFeed?: Address | undefined
}

/** Sources of a chain without any. */
export const NO_PRICE_SOURCES: PriceSources = { feeds: [], wrappers: [], aaveOracle: undefined }

/** Returns the price contracts of a chain. The native token, as the zero address, has the price of its wrapper. */
export const getPriceSources = memoize(
  ({ nativeCurrency, prices: { usdFeeds, wrappers = {}, aaveOracle, sequencerFeed } }: FinanceChain): PriceSources => {
    const feeds = toEntries(usdFeeds).map(([token, { feed }]) => ({ token, feed }))
    const wrapperRows = toEntries(wrappers).map(([token, { kind, of: inner }]) => ({ token, kind, of: inner }))
    const native = nativeCurrency?.wrapped
    const same = native === undefined ? [] : [{ token: zeroAddress, kind: 'same' as const, of: native }]
    return { feeds, wrappers: [...same, ...wrapperRows], aaveOracle, sequencerFeed }
  },
)

/** True if any source of prices is configured for a chain. */
export function hasPriceSource({ prices: { usdFeeds, stablecoins, aaveOracle } }: FinanceChain): boolean {
  return Object.keys(usdFeeds).length > 0 || stablecoins.length > 0 || aaveOracle !== undefined
}

function toEntries<T>(rows: Readonly<Record<Address, T>>): [Address, T][] {
  return Object.entries(rows) as [Address, T][]
}

/** The struct `PriceSources` of `prices.sol` as an argument of a lens. */
export const PRICE_SOURCES_ARGUMENT = '(bytes feeds, bytes wrappers, address aaveOracle, address sequencerFeed) prices'

/** Encodes the value of that argument. */
export const encodePriceSources = memoize(
  ({ feeds, wrappers, aaveOracle = zeroAddress, sequencerFeed = zeroAddress }: PriceSources) => {
    const feedRows = feeds.map(({ token, feed }) => packAddress(token) + packAddress(feed))
    const wrapperRows = wrappers.map(
      ({ token, kind, of: inner }) =>
        packAddress(token) + KINDS.indexOf(kind).toString(16).padStart(2, '0') + packAddress(inner),
    )
    return encodeStruct(encodeTable(feedRows), encodeTable(wrapperRows), aaveOracle, sequencerFeed)
  },
)

/** Kinds of wrappers, in the order of their numbers in `prices.sol`. */
const KINDS: readonly (Wrapper['kind'] | 'same')[] = ['same', ...WRAPPER_KINDS]

/** Encodes a table. Rows ascend, because the lens searches tokens by bisection. */
function encodeTable(rows: readonly string[]) {
  return encodeBytes(rows.toSorted().join(''))
}

/** Decodes a token's answers as written by `writePrice` of `prices.sol`. */
export function readUsdAnswers(cursor: LensCursor): UsdAnswers {
  const rates = Array.from({ length: cursor.number(1) }, () => {
    const isAnswered = cursor.number(1) === 1
    const rate = { units: cursor.uint(32), scale: cursor.number(1) }
    return isAnswered ? rate : undefined
  })
  const feedTag = cursor.number(1)
  const round =
    feedTag === 2
      ? { answer: BigInt.asIntN(256, cursor.uint(32)), updatedAtSec: cursor.uint(8), decimals: cursor.number(1) }
      : undefined
  const roundFault = feedTag === 3 ? 'bound' : feedTag === 4 ? 'halt' : undefined
  const aaveTag = cursor.number(1)
  return {
    rates,
    round,
    roundFault,
    aave: aaveTag === 0 ? undefined : { price: aaveTag === 2 ? cursor.uint(32) : undefined },
  }
}
