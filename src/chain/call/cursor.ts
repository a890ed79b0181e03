import type { Address, Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { toChecksumAddress } from './checksum.ts'
import type { LensPage } from './pages.ts'

/** Layout of the stream that `page.sol` writes. */
const LAYOUT_VERSION = 1
/** Length of a text whose call failed or answered more than 16 KiB. */
const TEXT_MISSING = 65_535

/** Reads the fields of a lens' answer, a packed big-endian stream, one after the other. */
export type LensCursor = ReturnType<typeof createLensCursor>

/** Bytes of a large number that are read at once. */
const LIMB_BYTES = 8

/**
 * Reads from the start. Throws `UpstreamError` if the answer ends before the field does. Numbers are made of bytes: to
 * make them of digits takes several times as long.
 */
export function createLensCursor(answer: Hex) {
  const bytes = Buffer.from(answer.slice(2), 'hex')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 0
  /** Where the field that is taken begins. */
  const take = (length: number): number => {
    const from = at
    at += length
    if (at > bytes.length) throw new UpstreamError('Cannot decode the lens: the answer is cut short')
    return from
  }
  /** Unsigned, of at most 6 bytes; 8 bytes if the value is known to be small. */
  const number = (length: number): number => {
    let value = 0
    for (let place = take(length); place < at; place++) value = value * 256 + view.getUint8(place)
    return value
  }
  const digits = (length: number): string => bytes.toString('hex', take(length), at)
  return {
    atEnd: () => at >= bytes.length,
    /** Where the next field begins, bytes from the start. */
    place: () => at,
    goTo(place: number): void {
      at = place
    },
    skip(length: number): void {
      take(length)
    },
    number,
    /** Unsigned. */
    uint(length: number): bigint {
      const odd = length % LIMB_BYTES
      // No more than a number holds exactly.
      let value = BigInt(number(odd % 4))
      if (odd >= 4) value = (value << 32n) | BigInt(number(4))
      for (let place = take(length - odd); place < at; place += LIMB_BYTES) {
        const limb = view.getBigUint64(place)
        value = value === 0n ? limb : (value << 64n) | limb
      }
      return value
    },
    hex: (length: number): Hex => `0x${digits(length)}`,
    /** 20 bytes, checksummed. */
    address: (): Address => toChecksumAddress(digits(20)),
    /** First bytes of a token's answer to `symbol` or `name`; undefined if the call failed or answered more than 16 KiB. */
    text(): Hex | undefined {
      const length = number(2)
      return length === TEXT_MISSING ? undefined : `0x${digits(length)}`
    },
  }
}

/**
 * Reads the header that `page.sol` writes before every answer; `from` is then at what the lens itself wrote. Throws
 * `UpstreamError` for another layout.
 */
export function decodeLensPage(answer: Hex): LensPage & { readonly from: LensCursor } {
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
export function readOptional<T>(from: LensCursor, read: () => T): T | undefined {
  const answered = from.number(1) === 1
  const value = read()
  return answered ? value : undefined
}
