import { base58 } from '@scure/base'

const LETTERS = /^[1-9A-HJ-NP-Za-km-z]+$/
/** Texts of the least and the greatest number of exactly 32 bytes. */
const LEAST = base58.encode(Uint8Array.of(1, ...new Uint8Array(31)))
const GREATEST = base58.encode(new Uint8Array(32).fill(255))

/**
 * True for an address of Solana: base58 of exactly 32 bytes, case-sensitive. The letters of base58 are in the order of
 * their codes, so numbers compare as their texts do, a hundred times as fast as they are decoded.
 */
export function isBase58Address(text: string): boolean {
  if (text.length < 32 || text.length > GREATEST.length || !LETTERS.test(text)) return false
  // Each 1 in front is a byte of zeros.
  if (text.startsWith('1')) return base58.decode(text).length === 32
  return text.length === GREATEST.length ? text <= GREATEST : text.length === LEAST.length && text >= LEAST
}

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** 58^5, whose products with 16 bits are exact in floating point. */
const LIMB = 58 ** 5
const LIMBS = 9
const LETTERS_MAX = 5 * LIMBS
const CODES = Uint8Array.from(ALPHABET, (letter) => letter.charCodeAt(0))

/** An address of 32 bytes as text, ten times as fast as for any number of bytes. */
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
    let rest = limbs[index] ?? 0
    for (let at = 5 * index + 4; at >= 5 * index; at--) {
      letters[at] = CODES[rest % 58] ?? 0
      rest = Math.floor(rest / 58)
    }
  }
  // Each byte of zeros in front is a 1, and no other 1 stands there.
  let zeros = 0
  while (zeros < 32 && bytes[zeros] === 0) zeros++
  let ones = 0
  while (letters[ones] === CODES[0]) ones++
  return '1'.repeat(zeros) + letters.toString('latin1', ones)
}

/** The digit that a letter stands for, by the letter's code. */
const DIGITS = new Uint8Array(128)
for (const [digit, code] of CODES.entries()) DIGITS[code] = digit

/** The 32 bytes of an address, ten times as fast as of any text. Throws `RangeError` for text that is not an address. */
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
