import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/
const WORD = /^0x[0-9a-f]{64}$/
const DIGITS = /^0x[0-9a-f]*$/
const QUANTITY = /^0x[0-9a-f]{1,64}$/i

/** Reads a JSON-RPC quantity of at most 256 bits. Throws `UpstreamError` for anything else, such as `-0x10` or 16. */
export function parseQuantity(value: unknown): bigint {
  if (typeof value !== 'string' || !QUANTITY.test(value))
    throw new UpstreamError('Expected a quantity of at most 256 bits')
  return BigInt(value)
}

/** Reads JSON-RPC bytes: `0x` and an even number of hexadecimal digits. Throws `UpstreamError` for anything else. */
export function parseBytes(value: unknown): Hex {
  if (!isBytes(value)) throw new UpstreamError('Expected bytes in hexadecimal')
  return value
}

/** True for `0x` and an even number of hexadecimal digits. */
export function isBytes(value: unknown): value is Hex {
  if (typeof value !== 'string' || value.length % 2 !== 0 || !value.startsWith('0x')) return false
  // The decoder stops at what is not a digit, in a tenth of the time of a pattern. Node's looks only at low bytes.
  const isAscii = Buffer.byteLength(value) === value.length
  return isAscii && Buffer.from(value.slice(2), 'hex').length === value.length / 2 - 1
}

/** An address in lower case. Throws `TypeError` for anything else. */
export function parseLowerAddress(value: unknown): Hex {
  return lowerCase(value, ADDRESS)
}

/** 32 bytes in lower case. Throws `TypeError` for anything else. */
export function parseLowerWord(value: unknown): Hex {
  return lowerCase(value, WORD)
}

/** Bytes in lower case. Throws `TypeError` for anything else. */
export function parseLowerBytes(value: unknown): Hex {
  const digits = lowerCase(value, DIGITS)
  // A regular expression that counts in pairs takes several times as long.
  if (digits.length % 2 === 1) throw new TypeError('Expected whole bytes')
  return digits
}

/** Nodes write lower case; a few write addresses with a checksum. */
function lowerCase(value: unknown, pattern: RegExp): Hex {
  if (typeof value === 'string') {
    if (pattern.test(value)) return value as Hex
    const lower = value.toLowerCase()
    if (pattern.test(lower)) return lower as Hex
  }
  throw new TypeError('Expected hexadecimal')
}
