import { type Address, zeroAddress } from 'viem'
import type { LensCursor } from '../../chain/call/cursor.ts'
import { encodeBytes, encodeStruct, packedAddress } from '../../chain/call/words.ts'
import { memoize } from '../../lib/memoize.ts'
import type { FinanceChain, Wrapper } from '../chain.ts'
import type { UsdAnswers } from './price.ts'
import { WRAPPER_KINDS } from './table/wrappers.ts'

/** The contracts that a lens asks for prices of a chain's tokens: `price.ts` says what becomes of their answers. */
export interface PriceSources {
  readonly feeds: readonly { readonly token: Address; readonly feed: Address }[]
  readonly wrappers: readonly (Pick<Wrapper, 'of'> & {
    readonly token: Address
    /** `same`: one of it is one of what is inside. */
    readonly kind: Wrapper['kind'] | 'same'
  })[]
  readonly aaveOracle: Address | undefined
}

/** None at all. */
export const NO_PRICE_SOURCES: PriceSources = { feeds: [], wrappers: [], aaveOracle: undefined }

/** The contracts that give a chain's prices. The native token, as the zero address, is worth what its wrapper is. */
export const getPriceSources = memoize(
  ({ nativeCurrency, prices: { usdFeeds, wrappers = {}, aaveOracle } }: FinanceChain): PriceSources => {
    const feeds = entries(usdFeeds).map(([token, { feed }]) => ({ token, feed }))
    const wrapping = entries(wrappers).map(([token, { kind, of }]) => ({ token, kind, of }))
    const native = nativeCurrency?.wrapped
    const same = native === undefined ? [] : [{ token: zeroAddress, kind: 'same' as const, of: native }]
    return { feeds, wrappers: [...same, ...wrapping], aaveOracle }
  },
)

function entries<T>(rows: Readonly<Record<Address, T>>): [Address, T][] {
  return Object.entries(rows) as [Address, T][]
}

/** The struct `PriceSources` of `prices.sol` as an argument of a lens. */
export const PRICE_SOURCES_ARGUMENT = '(bytes feeds, bytes wrappers, address aaveOracle) prices'

/** Its value. */
export const encodePriceSources = memoize(({ feeds, wrappers, aaveOracle = zeroAddress }: PriceSources) => {
  const feedRows = feeds.map(({ token, feed }) => packedAddress(token) + packedAddress(feed))
  const wrapperRows = wrappers.map(
    ({ token, kind, of }) =>
      packedAddress(token) + WAYS.indexOf(kind).toString(16).padStart(2, '0') + packedAddress(of),
  )
  return encodeStruct(encodeTable(feedRows), encodeTable(wrapperRows), aaveOracle)
})

/** In the order of the numbers that `prices.sol` gives them. */
const WAYS: readonly (Wrapper['kind'] | 'same')[] = ['same', ...WRAPPER_KINDS]

/** The lens looks a token up by halves, so rows ascend. */
function encodeTable(rows: readonly string[]) {
  return encodeBytes(rows.toSorted().join(''))
}

/** Decodes what `writePrice` of `prices.sol` wrote about a token. */
export function readUsdAnswers(from: LensCursor): UsdAnswers {
  const rates = Array.from({ length: from.number(1) }, () => {
    const answered = from.number(1) === 1
    const rate = { units: from.uint(32), scale: from.number(1) }
    return answered ? rate : undefined
  })
  const feed = from.number(1)
  const round =
    feed === 2
      ? { answer: BigInt.asIntN(256, from.uint(32)), updatedAtSec: from.uint(8), decimals: from.number(1) }
      : undefined
  const aave = from.number(1)
  return { rates, round, aave: aave === 0 ? undefined : { price: aave === 2 ? from.uint(32) : undefined } }
}
