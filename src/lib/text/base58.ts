import { base58 } from '@scure/base'

const LETTERS = /^[1-9A-HJ-NP-Za-km-z]+$/
/** Texts of the smallest and the largest number of exactly 32 bytes. */
const LEAST = base58.encode(Uint8Array.of(1, ...new Uint8Array(31)))
const GREATEST = base58.encode(new Uint8Array(32).fill(255))

/**
 * True for a Solana address: base58 of exactly 32 bytes, case-sensitive. The letters of base58 are in the order of
 * their codes, so texts of equal length compare like their numbers, a hundred times faster than decoding.
 */
export function isBase58Address(text: string): boolean {
  if (text.length < 32 || text.length > GREATEST.length || !LETTERS.test(text)) return false
  // Each leading 1 is a zero byte.
  if (text.startsWith('1')) return base58.decode(text).length === 32
  return text.length === GREATEST.length ? text <= GREATEST : text.length === LEAST.length && text >= LEAST
}

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** 58^5: its products with 16-bit numbers are exact in floating point. */
const LIMB = 58 ** 5
const LIMBS = 9
const LETTERS_MAX = 5 * LIMBS
const CODES = Uint8Array.from(ALPHABET, (letter) => letter.charCodeAt(0))

/** Encodes a 32-byte address as base58, ten times faster than a general encoder. */
export function encodeBase58Address(bytes: Uint8Array): string {
  const limbs = new Float64Array(LIMBS)
  for (let at = 0; at < 32; at += 2) {
    let carry = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    for (let index = LIMBS - 1; index >= 0; index--) {
      const value = (limbs[index] ?? 0) * 65_536 + carry
      carry = Math.floor(value / LIMB)
      limbs[index] = value - carry * LIMB
    }
  }
  const letters = Buffer.allocUnsafe(LETTERS_MAX)
  for (let index = 0; index < LIMBS; index++) {
    let remainder = limbs[index] ?? 0
    for (let at = 5 * index + 4; at >= 5 * index; at--) {
      letters[at] = CODES[remainder % 58] ?? 0
      remainder = Math.floor(remainder / 58)
    }
  }
  // Each leading zero byte becomes one leading 1, and there are no other leading ones.
  let zeros = 0
  while (zeros < 32 && bytes[zeros] === 0) zeros++
  let ones = 0
  while (letters[ones] === CODES[0]) ones++
  return '1'.repeat(zeros) + letters.toString('latin1', ones)
}

/** Digits by the code of their letter. */
const DIGITS = new Uint8Array(128)
for (const [digit, code] of CODES.entries()) DIGITS[code] = digit

/** Decodes an address to its 32 bytes, ten times faster than a general decoder. Throws `RangeError` for other text. */
export function decodeBase58Address(address: string): Uint8Array {
  if (!isBase58Address(address)) throw new RangeError('Cannot decode an address: it is not base58 of 32 bytes')
  const bytes = new Uint8Array(32)
  const pairs = new Float64Array(16)
  const digits = address.padStart(LETTERS_MAX, '1')
  for (let at = 0; at < LETTERS_MAX; at += 5) {
    let carry = 0
    for (let digit = at; digit < at + 5; digit++) carry = carry * 58 + (DIGITS[digits.charCodeAt(digit)] ?? 0)
    for (let index = 15; index >= 0; index--) {
      const value = (pairs[index] ?? 0) * LIMB + carry
      carry = Math.floor(value / 65_536)
      pairs[index] = value - carry * 65_536
    }
  }
  for (let index = 0; index < 16; index++) {
    const pair = pairs[index] ?? 0
    bytes[2 * index] = pair >> 8
    bytes[2 * index + 1] = pair
  }
  return bytes
}
