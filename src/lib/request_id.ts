import type { Clock } from './clock.ts'

/** Crockford's base32: digits and capitals without I, L, O and U, in ASCII order, so that text order is time order. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARACTERS = 10
const RANDOM_CHARACTERS = 16
/** Ids made from one call for random bytes, and cut from one text; each for itself would cost more than the rest. */
const IDS_PER_REFILL = 256

/**
 * Makes ids, `req_` and 26 characters that are unique and ordered by time: 50 bits of milliseconds, then 80
 * random bits, in Crockford's base32 (the layout of a ULID). `fill` fills an array with random bytes.
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
      prefix = `req_${timePrefix(ms)}`
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

/** True if a caller's own request id may be kept: short, and without characters that could forge a log line. */
export function isRequestId(text: string): boolean {
  return /^[A-Za-z0-9_-]{8,64}$/.test(text)
}

function timePrefix(ms: number): string {
  let rest = Math.floor(ms)
  let text = ''
  for (let place = 0; place < TIME_CHARACTERS; place += 1) {
    text = ALPHABET.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}
