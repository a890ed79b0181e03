import { type Address, getAddress, type Hex } from 'viem'
import { UpstreamError } from '../lib/error.ts'

/** Takes the fields of a lens' answer, a packed big-endian stream, one after the other. */
export interface LensCursor {
  atEnd(): boolean
  /** Unsigned, of at most 6 bytes; 8 bytes where the value is known to be small. */
  number(bytes: number): number
  uint(bytes: number): bigint
  hex(bytes: number): Hex
  /** 20 bytes, checksummed. */
  address(): Address
}

/**
 * Walks over hexadecimal text: slices of it become numbers faster than bytes would. Throws `UpstreamError` where the
 * answer ends before the field does.
 */
export function createLensCursor(text: Hex): LensCursor {
  let at = 2
  const take = (bytes: number): string => {
    const end = at + bytes * 2
    if (end > text.length) throw new UpstreamError('Cannot decode the lens: the answer is cut short')
    const slice = text.slice(at, end)
    at = end
    return slice
  }
  return {
    atEnd: () => at >= text.length,
    number: (bytes) => Number.parseInt(take(bytes), 16),
    uint: (bytes) => BigInt(`0x${take(bytes)}`),
    hex: (bytes) => `0x${take(bytes)}`,
    address: () => getAddress(`0x${take(20)}`),
  }
}
