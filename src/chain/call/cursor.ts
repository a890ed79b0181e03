import type { Address, Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import type { LensPage } from './pages.ts'
import { toChecksumAddress } from './words.ts'

/** Layout of the stream that `page.sol` writes. */
const LAYOUT_VERSION = 1
/** Length that marks a text whose call failed or returned more than 16 KiB. */
const TEXT_MISSING = 65_535

/** Sequential reader of a lens' answer, a packed big-endian stream. */
export type LensCursor = ReturnType<typeof createBytesCursor>

/** Bytes read at once of a large number. */
const LIMB_BYTES = 8

/** Creates a cursor at the start of an answer, as `createBytesCursor` does. */
export function createLensCursor(answer: Hex) {
  return createBytesCursor(Buffer.from(answer.slice(2), 'hex'))
}

/**
 * Creates a cursor at the start. Reads throw `UpstreamError` if the bytes end before the field does. Numbers are read
 * from bytes, which is several times as fast as parsing digits.
 */
function createBytesCursor(bytes: Buffer) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 0
  /** Takes a field and returns its start. */
  const take = (length: number): number => {
    const from = at
    at += length
    if (at > bytes.length) throw new UpstreamError('Cannot decode the lens: the answer is cut short')
    return from
  }
  /** Reads an unsigned number of at most 6 bytes; 8 bytes if the value is known to be small. */
  const number = (length: number): number => {
    let value = 0
    for (let index = take(length); index < at; index++) value = value * 256 + view.getUint8(index)
    return value
  }
  const digits = (length: number): string => bytes.toString('hex', take(length), at)
  return {
    bytes,
    isAtEnd: () => at >= bytes.length,
    /** Start of the next field, bytes from the start. */
    getPosition: () => at,
    seek(position: number): void {
      at = position
    },
    skip(length: number): void {
      take(length)
    },
    number,
    /** Reads an unsigned integer of `length` bytes. */
    uint(length: number): bigint {
      const odd = length % LIMB_BYTES
      // At most 3 bytes at a time, which a number represents exactly.
      let value = BigInt(number(odd % 4))
      if (odd >= 4) value = (value << 32n) | BigInt(number(4))
      for (let index = take(length - odd); index < at; index += LIMB_BYTES) {
        const limb = view.getBigUint64(index)
        value = value === 0n ? limb : (value << 64n) | limb
      }
      return value
    },
    hex: (length: number): Hex => `0x${digits(length)}`,
    /** Reads an address, checksummed. */
    address: (): Address => toChecksumAddress(digits(20)),
    /**
     * Reads the first bytes of a token's `symbol` or `name`; undefined if the call failed or returned more than 16 KiB.
     */
    text(): Hex | undefined {
      const length = number(2)
      return length === TEXT_MISSING ? undefined : `0x${digits(length)}`
    },
  }
}

/**
 * Decodes the header that `page.sol` writes before every answer; `from` is then at the start of the lens' own data.
 * Throws `UpstreamError` for another layout.
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

/** Reads a value after a flag for whether its contract answered; the value is present either way. */
export function readOptional<T>(from: LensCursor, read: () => T): T | undefined {
  const hasAnswered = from.number(1) === 1
  const value = read()
  return hasAnswered ? value : undefined
}

/**
 * Creates a set of records of an answer that are decoded on demand. Holds the answer's bytes if most of them are records,
 * else a copy of the records, so that a few records do not hold a long answer in memory.
 */
export function createLazyRecords() {
  let records: { start: number; readonly length: number }[] = []
  let length = 0
  /** The answer's, until `join` reduces it to the records: the returned closures hold its bytes in memory. */
  let cursor: LensCursor | undefined
  let isJoined = false
  return {
    /**
     * Keeps the bytes from `start` to where the cursor is, the same cursor each time. The returned function decodes them;
     * call it after `join` only.
     */
    keep<T>(from: LensCursor, start: number, read: (from: LensCursor) => T): () => T {
      const record = { start, length: from.getPosition() - start }
      records.push(record)
      length += record.length
      cursor = from
      return () => {
        if (cursor === undefined || !isJoined) throw new Error('Cannot decode records that are not joined')
        cursor.seek(record.start)
        return read(cursor)
      }
    },
    /** Completes the set; call it after the last record. */
    join(): void {
      isJoined = true
      if (cursor !== undefined && length < cursor.bytes.length / 2) {
        const { bytes } = cursor
        cursor = createBytesCursor(
          Buffer.concat(records.map(({ start, length }) => bytes.subarray(start, start + length))),
        )
        let position = 0
        for (const record of records) {
          record.start = position
          position += record.length
        }
      }
      records = []
    },
  }
}
