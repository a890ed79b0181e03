import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { decodeLensPage, type LensCursor } from '../../../chain/call/cursor.ts'
import { encodeArray, encodeCall } from '../../../chain/call/words.ts'
import type { UsdAnswers } from '../../../finance/price/price.ts'
import {
  encodePriceSources,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
  readUsdAnswers,
} from '../../../finance/price/price_sources.ts'
import { type RawToken, readToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { PairState } from '../math.ts'

const READ = toFunctionSelector(
  `read(address[] factories, address[] tokens, address wallet, uint256 bytesMax, ${PRICE_SOURCES_ARGUMENT})`,
)
const PAIR = 1

/** Tokens that may be pairs of the factories, in which a wallet may have liquidity. */
export interface PairsQuery {
  readonly factories: readonly Address[]
  readonly tokens: readonly Address[]
  readonly wallet: Address
}

/** Call data to read them. `bytesMax` limits the answer, bytes. */
export function encodeRead({ factories, tokens, wallet }: PairsQuery, bytesMax: number, sources: PriceSources): Hex {
  return encodeCall(
    READ,
    encodeArray(factories),
    encodeArray(tokens),
    wallet,
    BigInt(bytesMax),
    encodePriceSources(sources),
  )
}

interface RawPricedToken {
  readonly token: RawToken
  readonly usd: UsdAnswers
}

/** A pair in which the wallet has liquidity. */
export interface RawPair extends PairState {
  /** Index among the tokens of the query. */
  readonly index: number
  readonly tokens: readonly [RawPricedToken, RawPricedToken]
}

/** The result of one page. */
export interface RawPage {
  readonly block: Block
  /** Number of tokens that this page covers. */
  readonly taken: number
  readonly pairs: readonly RawPair[]
}

/** Decodes the lens' answer. The head of `lens.sol` describes its layout. Throws `UpstreamError` for another layout. */
export function decodeLens(answer: Hex): RawPage {
  const { from, block, taken } = decodeLensPage(answer)
  const pairs: RawPair[] = []
  while (!from.isAtEnd()) {
    const record = from.number(1)
    if (record !== PAIR) throw new UpstreamError(`Cannot decode the lens: unknown record ${record}`)
    pairs.push(readPair(from))
  }
  return { block, taken, pairs }
}

function readPair(from: LensCursor): RawPair {
  return {
    index: from.number(2),
    liquidity: from.uint(32),
    totalSupply: from.uint(32),
    kLast: from.uint(32),
    hasFee: from.number(1) === 1,
    reserves: [from.uint(32), from.uint(32)],
    balances: [from.uint(32), from.uint(32)],
    tokens: [readPriced(from), readPriced(from)],
  }
}

function readPriced(from: LensCursor): RawPricedToken {
  return { token: readToken(from), usd: readUsdAnswers(from) }
}
