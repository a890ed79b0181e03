import { memoizeText } from '../../lib/memoize.ts'
import { encodeBase58Address } from '../../lib/text/base58.ts'

/** Reads little-endian numbers and addresses at offsets of an account's data. Throws `RangeError` beyond its end. */
export type ByteReader = ReturnType<typeof createByteReader>

/** Creates a reader of an account's data. */
export function createByteReader(data: Uint8Array) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const u64 = (at: number): bigint => view.getBigUint64(at, true)
  const u128 = (at: number): bigint => u64(at) | (u64(at + 8) << 64n)
  return {
    u8: (at: number) => view.getUint8(at),
    u16: (at: number) => view.getUint16(at, true),
    i32: (at: number) => view.getInt32(at, true),
    u32: (at: number) => view.getUint32(at, true),
    u64,
    u128,
    u256: (at: number) => u128(at) | (u128(at + 16) << 128n),
    /** Reads an address, base58. */
    key(at: number): string {
      if (at + 32 > data.length) throw new RangeError('Cannot read an address beyond the end of an account')
      return encodeBase58Address(data.subarray(at, at + 32))
    },
  }
}

/** A kind of account: size in bytes and discriminator, hexadecimal. */
export interface AccountKind {
  readonly size: number
  /** @default {size} */
  readonly sizeMax?: number
  readonly discriminator: string
}

/** True if the bytes are an account of this kind, by discriminator and size. */
export function matchesAccountKind({ size, sizeMax = size, discriminator }: AccountKind, data: Uint8Array): boolean {
  return data.length >= size && data.length <= sizeMax && beginsWith(data, discriminator)
}

/** True if the bytes start with the discriminator of one of these kinds but have another size. */
export function isTruncatedAccount(kinds: readonly AccountKind[], data: Uint8Array): boolean {
  return kinds.some((kind) => beginsWith(data, kind.discriminator) && !matchesAccountKind(kind, data))
}

/** True if the data start with these bytes, given in hexadecimal. */
function beginsWith(data: Uint8Array, hex: string): boolean {
  const bytes = decodeHex(hex).bytes
  return data.length >= bytes.length && bytes.every((byte, index) => data[index] === byte)
}

const decodeHex = memoizeText((hex: string) => ({ bytes: new Uint8Array(Buffer.from(hex, 'hex')) }), 10_000)
