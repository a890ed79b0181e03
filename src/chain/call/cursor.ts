import type { Address, Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { checksummed } from './checksum.ts'
import type { LensPage } from './pages.ts'

/** Layout of the stream that `page.sol` writes. */
const LAYOUT_VERSION = 1
/** Length of a text whose call failed or answered more than 16 KiB. */
const TEXT_MISSING = 65_535

/** Reads the fields of a lens' answer, a packed big-endian stream, one after the other. */
export interface LensCursor {
  atEnd(): boolean
  /** Where the next field begins, for another cursor. */
  place(): number
  skip(bytes: number): void
  /** Unsigned, of at most 6 bytes; 8 bytes if the value is known to be small. */
  number(bytes: number): number
  uint(bytes: number): bigint
  hex(bytes: number): Hex
  /** 20 bytes, checksummed. */
  address(): Address
  /**
   * First bytes of a token's answer to `symbol` or `name`; undefined if the call failed or answered more than 16 KiB.
   */
  text(): Hex | undefined
}

/** Where an answer begins: behind its `0x`. */
const START = 2

/**
 * Reads hexadecimal text from a place on: slices of it become numbers faster than bytes would. Throws `UpstreamError` if
 * the answer ends before the field does.
 */
export function createLensCursor(text: string, place = START): LensCursor {
  let at = place
  const skip = (bytes: number): void => {
    at += bytes * 2
    if (at > text.length) throw new UpstreamError('Cannot decode the lens: the answer is cut short')
  }
  const take = (bytes: number): string => {
    const from = at
    skip(bytes)
    return text.slice(from, at)
  }
  const number = (bytes: number): number => Number.parseInt(take(bytes), 16)
  return {
    atEnd: () => at >= text.length,
    place: () => at,
    skip,
    number,
    uint: (bytes) => BigInt(`0x${take(bytes)}`),
    hex: (bytes) => `0x${take(bytes)}`,
    address: () => checksummed(take(20)),
    text() {
      const length = number(2)
      return length === TEXT_MISSING ? undefined : `0x${take(length)}`
    },
  }
}

/**
 * Reads the header that `page.sol` writes before every answer; `from` is then at what the lens itself wrote. Throws
 * `UpstreamError` for another layout.
 */
export function openLensPage(answer: Hex): LensPage & { readonly from: LensCursor } {
  const from = createLensCursor(answer)
  if (from.number(1) !== LAYOUT_VERSION) throw new UpstreamError('Cannot decode the lens: unknown layout')
  const block = {
    chainId: from.number(8),
    number: from.uint(8),
    timestampSec: from.uint(8),
    parentHash: from.hex(32),
  }
  return { from, block, taken: from.number(4) }
}

/** A value behind a flag that says whether its contract answered; the value is sent in any case. */
export function ifAnswered<T>(from: LensCursor, read: () => T): T | undefined {
  const answered = from.number(1) === 1
  const value = read()
  return answered ? value : undefined
}
