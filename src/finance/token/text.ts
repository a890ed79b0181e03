import { bytesToBigInt, type Hex, hexToBytes } from 'viem'
import { memoizeText } from '../../lib/memoize.ts'
import { toDisplayText } from '../../lib/text/display_text.ts'

/** Bytes read from the start of a `symbol` or `name` answer; a lens copies no more. */
export const TEXT_BYTES_MAX = 320
/** A longer answer counts as missing. */
const TEXT_ANSWER_BYTES_MAX = 16_384
/** Most code points shown of a symbol or name. */
const TEXT_LENGTH_MAX = 64

/** Size of the cache of decoded answers, in characters of answers: a few tokens recur in most requests. */
const CACHED_CHARS_MAX = 2_000_000

const WORD_BYTES = 32

/**
 * Decodes a `symbol` or `name` answer: an ABI string, or the 32 bytes of older tokens, up to the first NUL. Bytes that
 * are not UTF-8 become U+FFFD. Returns an empty text for an answer of another form, or with a false length.
 */
export function decodeTokenText(answer: Hex | undefined): string {
  return answer === undefined || answer.length <= 2 ? '' : decode(answer)
}

const decode = memoizeText((answer: Hex): string => {
  const bytes = hexToBytes(answer)
  const content = bytes.length === WORD_BYTES ? cutAtNul(bytes) : getStringContent(bytes)
  if (content === undefined) return ''
  // An answer that was cut inside a character ends with a broken one.
  const isCut = bytes.length === TEXT_BYTES_MAX && content.length === TEXT_BYTES_MAX - 2 * WORD_BYTES
  const text = new TextDecoder().decode(content)
  return trimPadding(isCut ? text.replace(/\ufffd$/, '') : text)
}, CACHED_CHARS_MAX)

/** Removes trailing NULs. A loop, because a regular expression takes quadratic time on a long run of NULs. */
function trimPadding(text: string): string {
  let end = text.length
  while (text.charCodeAt(end - 1) === 0) end--
  return text.slice(0, end)
}

function getStringContent(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length < 2 * WORD_BYTES || readWord(bytes, 0) !== BigInt(WORD_BYTES)) return undefined
  const length = readWord(bytes, 1)
  const available = bytes.length - 2 * WORD_BYTES
  if (length > BigInt(available) && bytes.length < TEXT_BYTES_MAX) return undefined
  // Only an answer of TEXT_BYTES_MAX may have been cut, and no accepted answer is longer than 16 KiB.
  if (length > BigInt(TEXT_ANSWER_BYTES_MAX)) return undefined
  return bytes.subarray(2 * WORD_BYTES, 2 * WORD_BYTES + Math.min(Number(length), available))
}

function readWord(bytes: Uint8Array, index: number): bigint {
  return bytesToBigInt(bytes.subarray(index * WORD_BYTES, (index + 1) * WORD_BYTES))
}

function cutAtNul(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0)
  return end < 0 ? bytes : bytes.subarray(0, end)
}

/** Makes a token's text fit for display: only visible characters, letters in one form, at most 64 code points. */
export const toTokenDisplayText = memoizeText((text: string) => toDisplayText(text, TEXT_LENGTH_MAX), CACHED_CHARS_MAX)
