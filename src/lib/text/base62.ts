import { randomBytes } from 'node:crypto'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The largest multiple of 62 that a byte can hold: bytes from here on would favour the first digits. */
const UNBIASED_MAX = 248

/** Returns `length` cryptographically random digits, each of the 62 equally likely. */
export function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < UNBIASED_MAX && text.length < length) text += DIGITS[byte % 62]
    }
  }
  return text
}

/** Encodes an integer below 2^53 in base 62, left-padded with zeros. Throws if it needs more than `length` digits. */
export function encodeBase62(value: number, length: number): string {
  let text = ''
  for (let remainder = value; text.length < length; remainder = Math.floor(remainder / 62))
    text = DIGITS[remainder % 62] + text
  if (value >= 62 ** length) throw new RangeError(`Cannot write ${value} in base 62: expected at most ${length} digits`)
  return text
}
