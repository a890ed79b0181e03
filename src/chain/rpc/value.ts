import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/
const WORD = /^0x[0-9a-f]{64}$/
const DIGITS = /^0x[0-9a-f]*$/
const QUANTITY = /^0x[0-9a-f]{1,64}$/i

/** Where digits are decoded only to see that they can be. */
const decoded = Buffer.allocUnsafe(32 * 1024)

/** Parses a JSON-RPC quantity of at most 256 bits. Throws `UpstreamError` for anything else, such as `-0x10` or 16. */
export function parseQuantity(value: unknown): bigint {
  if (typeof value !== 'string' || !QUANTITY.test(value))
    throw new UpstreamError('Expected a quantity of at most 256 bits')
  return BigInt(value)
}

/** Parses JSON-RPC bytes: `0x` and an even number of hexadecimal digits. Throws `UpstreamError` for anything else. */
export function parseBytes(value: unknown): Hex {
  if (!isBytes(value)) throw new UpstreamError('Expected bytes in hexadecimal')
  return value
}

/** True for `0x` and an even number of hexadecimal digits. */
export function isBytes(value: unknown): value is Hex {
  if (typeof value !== 'string' || value.length % 2 !== 0 || !value.startsWith('0x')) return false
  // Node's decoder reads low bytes only.
  if (Buffer.byteLength(value) !== value.length) return false
  // Decoding stops at the first non-digit and is ten times as fast as a pattern, more so into memory that exists.
  for (let at = 2; at < value.length; at += 2 * decoded.length) {
    const digits = value.slice(at, at + 2 * decoded.length)
    if (decoded.write(digits, 'hex') !== digits.length / 2) return false
  }
  return true
}

/** Parses an address and converts it to lower case. Throws `TypeError` for anything else. */
export function parseLowerAddress(value: unknown): Hex {
  return parseLowerHex(value, ADDRESS)
}

/** Parses 32 bytes and converts them to lower case. Throws `TypeError` for anything else. */
export function parseLowerWord(value: unknown): Hex {
  return parseLowerHex(value, WORD)
}

/** Parses bytes and converts them to lower case. Throws `TypeError` for anything else. */
export function parseLowerBytes(value: unknown): Hex {
  const digits = parseLowerHex(value, DIGITS)
  // A regular expression that counts in pairs takes several times as long.
  if (digits.length % 2 === 1) throw new TypeError('Expected whole bytes')
  return digits
}

/** Tests the text before converting it: nearly all nodes write lower case already. */
function parseLowerHex(value: unknown, pattern: RegExp): Hex {
  if (typeof value === 'string') {
    if (pattern.test(value)) return value as Hex
    const lower = value.toLowerCase()
    if (pattern.test(lower)) return lower as Hex
  }
  throw new TypeError('Expected hexadecimal')
}
