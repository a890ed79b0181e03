import type { Clock } from './clock.ts'

/** Crockford's base32: digits and capitals without I, L, O and U, in ASCII order, so that text order is time order. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARACTERS = 10
const RANDOM_CHARACTERS = 16
/** Ids per call for random bytes, cut from one text: separate calls would cost more than everything else. */
const IDS_PER_REFILL = 256

/**
 * Creates a generator of ids: `req_` and 26 characters that are unique and ordered by time: 50 bits of milliseconds,
 * then 80 random bits, in Crockford's base32 (the layout of a ULID). `fill` fills an array with random bytes.
 */
export function createRequestIdGenerator(options: {
  readonly clock: Clock
  readonly fill: (bytes: Uint8Array<ArrayBuffer>) => void
}): () => string {
  const pool = new Uint8Array(RANDOM_CHARACTERS * IDS_PER_REFILL)
  let letters = ''
  let used = 0
  let lastMs = -1
  let prefix = ''
  return () => {
    const ms = options.clock.now()
    if (ms !== lastMs) {
      lastMs = ms
      prefix = `req_${formatTime(ms)}`
    }
    if (used === letters.length) {
      options.fill(pool)
      letters = Buffer.from(pool.map((byte) => ALPHABET.charCodeAt(byte & 31))).toString('latin1')
      used = 0
    }
    used += RANDOM_CHARACTERS
    return prefix + letters.slice(used - RANDOM_CHARACTERS, used)
  }
}

/** True if a caller's own request id is acceptable: short, and without characters that could forge a log line. */
export function isRequestId(text: string): boolean {
  return /^[A-Za-z0-9_-]{8,64}$/.test(text)
}

function formatTime(ms: number): string {
  let remainder = Math.floor(ms)
  let text = ''
  for (let position = 0; position < TIME_CHARACTERS; position += 1) {
    text = ALPHABET.charAt(remainder % 32) + text
    remainder = Math.floor(remainder / 32)
  }
  return text
}
