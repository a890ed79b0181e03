import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { encodeBase62, randomBase62 } from '../lib/text/base62.ts'

const PREFIX = 'ws_sk_'
const RANDOM_LENGTH = 18
const CHECKSUM_LENGTH = 6
const KEY = /^ws_sk_[0-9A-Za-z]{24}$/

/**
 * Creates a key, a secret: the prefix, 18 random base62 digits (107 bits), and the CRC-32 of both in 6 base62 digits.
 * Only `hash` and `last4` may be stored.
 */
export function mintKey() {
  const body = PREFIX + randomBase62(RANDOM_LENGTH)
  const key = body + encodeBase62(crc32(body), CHECKSUM_LENGTH)
  return { key, hash: hashKey(key), last4: key.slice(-4) }
}

/** True if the form and the checksum are valid: mistyped keys fail here, before any look-up. */
export function isWellFormedKey(text: string): boolean {
  if (!KEY.test(text)) return false
  const expected = encodeBase62(crc32(text.slice(0, -CHECKSUM_LENGTH)), CHECKSUM_LENGTH)
  // Compares every digit, so that the time does not reveal the first wrong one.
  let difference = 0
  for (let offset = 1; offset <= CHECKSUM_LENGTH; offset++) {
    difference |= expected.charCodeAt(CHECKSUM_LENGTH - offset) ^ text.charCodeAt(text.length - offset)
  }
  return difference === 0
}

/** SHA-256 of a key in hexadecimal digits, as the database stores it. A fast hash suffices for a random secret. */
export function hashKey(key: string): string {
  return hash('sha256', key)
}
