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

/** What every page of a question has in common. */
export interface BalanceLensQuery {
  readonly wallet: Address
  readonly prices: PriceSources
}

/** A token that the wallet has. */
export interface RawTokenBalance {
  /** Its place in the page's question. */
  readonly index: number
  readonly balance: bigint
  readonly token: RawToken
  readonly price: UsdAnswers
}

/** One page of an answer; `taken` counts tokens. */
export interface RawBalances extends LensPage {
  /** A price only if there is a balance. */
  readonly native: { readonly balance: bigint; readonly price: UsdAnswers | undefined }
  readonly held: readonly RawTokenBalance[]
  /** Places of tokens that have code but do not answer. */
  readonly silent: readonly number[]
}

/** Bytes of a token in the call data. */
export const TOKEN_BYTES = 20

/** Call data; `packed` are the tokens as `packedTokens` gives them. */
export function encodeBalances({ wallet, prices }: BalanceLensQuery, packed: string): Hex {
  return encodeCall(READ, wallet, encodeBytes(packed), encodePriceSources(prices))
}

/** Bytes of call data beside the tokens, padding included. */
export function fixedBytes(subject: BalanceLensQuery): number {
  return size(encodeBalances(subject, '')) + 32
}

/** Decodes one page. Throws `UpstreamError` if the stream is cut short or has an unknown layout. */
export function decodeBalances(answer: Hex): RawBalances {
  const { from, block, taken } = decodeLensPage(answer)
  const balance = from.uint(32)
  const native = { balance, price: balance === 0n ? undefined : readUsdAnswers(from) }
  const held: RawTokenBalance[] = []
  const silent: number[] = []
  while (!from.atEnd()) {
    const tag = from.number(1)
    if (tag === 1) held.push(readHeld(from))
    else if (tag === 2) silent.push(from.number(2))
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${tag}`)
  }
  if (held.some(({ index }) => index >= taken) || silent.some((index) => index >= taken)) {
    throw new UpstreamError('Cannot decode the lens: it answers about a token that it did not take')
  }
  return { block, taken, native, held, silent }
}

function readHeld(from: LensCursor): RawTokenBalance {
  return { index: from.number(2), balance: from.uint(32), token: readToken(from), price: readUsdAnswers(from) }
}
