import { type Address, type Hex, size, toFunctionSelector } from 'viem'
import { decodeLensPage, type LensCursor } from '../../../chain/call/cursor.ts'
import type { LensPage } from '../../../chain/call/pages.ts'
import { encodeBytes, encodeCall } from '../../../chain/call/words.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { UsdAnswers } from '../../price/price.ts'
import {
  encodePriceSources,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
  readUsdAnswers,
} from '../../price/price_sources.ts'
import { type RawToken, readToken } from '../token.ts'

const READ = toFunctionSelector(`read(address wallet, bytes tokens, ${PRICE_SOURCES_ARGUMENT})`)

/** The part of a query that all its pages share. */
export interface BalanceLensQuery {
  readonly wallet: Address
  readonly prices: PriceSources
}

/** A token held by the wallet. */
export interface RawTokenBalance {
  /** Index in the page's tokens. */
  readonly index: number
  readonly balance: bigint
  readonly token: RawToken
  readonly price: UsdAnswers
}

/** One page of an answer; `taken` counts tokens. */
export interface RawBalances extends LensPage {
  /** The native balance; its price is undefined without a balance. */
  readonly native: { readonly balance: bigint; readonly price: UsdAnswers | undefined }
  readonly held: readonly RawTokenBalance[]
  /** Indexes of tokens that have code but do not answer. */
  readonly silent: readonly number[]
}

/** Bytes per token in the call data. */
export const TOKEN_BYTES = 20

/** Encodes the call data; `packed` are tokens as `packTokens` returns them. */
export function encodeBalances({ wallet, prices }: BalanceLensQuery, packed: string): Hex {
  return encodeCall(READ, wallet, encodeBytes(packed), encodePriceSources(prices))
}

/** Counts the bytes of call data besides the tokens, padding included. */
export function countFixedBytes(query: BalanceLensQuery): number {
  return size(encodeBalances(query, '')) + 32
}

/** Decodes one page. Throws `UpstreamError` if the stream is cut short or has an unknown layout. */
export function decodeBalances(answer: Hex): RawBalances {
  const { from: cursor, block, taken } = decodeLensPage(answer)
  const balance = cursor.uint(32)
  const native = { balance, price: balance === 0n ? undefined : readUsdAnswers(cursor) }
  const held: RawTokenBalance[] = []
  const silent: number[] = []
  while (!cursor.isAtEnd()) {
    const tag = cursor.number(1)
    if (tag === 1) held.push(readHeld(cursor))
    else if (tag === 2) silent.push(cursor.number(2))
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${tag}`)
  }
  if (held.some(({ index }) => index >= taken) || silent.some((index) => index >= taken)) {
    throw new UpstreamError('Cannot decode the lens: a record has an index beyond the tokens taken')
  }
  return { block, taken, native, held, silent }
}

function readHeld(cursor: LensCursor): RawTokenBalance {
  return { index: cursor.number(2), balance: cursor.uint(32), token: readToken(cursor), price: readUsdAnswers(cursor) }
}
