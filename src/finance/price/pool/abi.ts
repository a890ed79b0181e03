import { type Address, type Hex, toFunctionSelector, zeroHash } from 'viem'
import { decodeLensPage, type LensCursor, readOptional } from '../../../chain/call/cursor.ts'
import type { LensPage } from '../../../chain/call/pages.ts'
import { encodeBytes, encodeCall, packAddress } from '../../../chain/call/words.ts'
import type { UsdAnswers } from '../price.ts'
import { encodePriceSources, PRICE_SOURCES_ARGUMENT, type PriceSources, readUsdAnswers } from '../price_sources.ts'
import { POOL_INIT_CODE_HASHES } from '../table/pools.ts'

const READ = toFunctionSelector(
  `read((address factory, bytes32 initCodeHash) origin, bytes quotes, bytes tokens, uint256 windowSec, ${PRICE_SOURCES_ARGUMENT})`,
)

/** The part of a query that all its pages share. */
export interface PoolLensQuery {
  readonly factory: Address
  /** Tokens with a feed, and the maximum age of its answer. */
  readonly quotes: readonly { readonly token: Address; readonly ageSecMax: number }[]
  /** Length of the averaging window. */
  readonly windowSec: number
  readonly prices: PriceSources
}

/** The pool of a token that holds the most quote tokens. */
export interface RawQuotePool {
  readonly pool: Address
  /** Index of the quote token in the pool. */
  readonly quote: number
  /** Amount of the quote token, smallest units. */
  readonly quoteRaw: bigint
  readonly tick: number
  /**
   * Sums of ticks over seconds at the start and the end of the window; undefined without an observation of the start.
   */
  readonly cumulative: { readonly first: bigint; readonly last: bigint } | undefined
}

/** One page of an answer; `taken` counts tokens. */
export interface RawPools extends LensPage {
  /** Decimals and prices of quote tokens; no decimals if the token does not return a uint8. */
  readonly quotes: readonly { readonly decimals: number | undefined; readonly usd: UsdAnswers }[]
  /** Pools in the order of the tokens; undefined for a token without one. */
  readonly pools: readonly (RawQuotePool | undefined)[]
}

/** Encodes the call data of the lens. */
export function encodePools({ factory, quotes, windowSec, prices }: PoolLensQuery, tokens: readonly Address[]): Hex {
  const quoteRows = quotes.map(({ token, ageSecMax }) => packAddress(token) + ageSecMax.toString(16).padStart(8, '0'))
  const [packedQuotes, packedTokens] = [quoteRows.join(''), tokens.map(packAddress).join('')]
  return encodeCall(
    READ,
    // A struct of words is encoded in place, without an offset.
    factory,
    POOL_INIT_CODE_HASHES[factory] ?? zeroHash,
    encodeBytes(packedQuotes),
    encodeBytes(packedTokens),
    BigInt(windowSec),
    encodePriceSources(prices),
  )
}

/** Decodes one page. The head of `lens.sol` describes its layout. Throws `UpstreamError` if the stream is cut short. */
export function decodePools(answer: Hex, quoteCount: number): RawPools {
  const { from, block, taken } = decodeLensPage(answer)
  const quotes = Array.from({ length: quoteCount }, () => ({
    decimals: readOptional(from, () => from.number(1)),
    usd: readUsdAnswers(from),
  }))
  return { block, taken, quotes, pools: Array.from({ length: taken }, () => readPool(from)) }
}

function readPool(from: LensCursor): RawQuotePool | undefined {
  if (from.number(1) === 0) return undefined
  return {
    quote: from.number(1),
    pool: from.address(),
    quoteRaw: from.uint(32),
    tick: (from.number(3) << 8) >> 8,
    cumulative: readOptional(from, () => ({ first: readCumulative(from), last: readCumulative(from) })),
  }
}

function readCumulative(from: LensCursor): bigint {
  return BigInt.asIntN(56, from.uint(7))
}
