import { bytesToBigInt, type Hex, hexToBytes } from 'viem'
import { memoizeText } from '../../lib/memoize.ts'
import { toDisplayText } from '../../lib/text/display_text.ts'

/** First bytes of a `symbol` or `name` answer that are read; a lens copies no more. */
export const TEXT_BYTES_MAX = 320
/** A longer answer counts as missing. */
const TEXT_ANSWER_BYTES_MAX = 16_384
/** Code points of a symbol or name that are shown. */
const TEXT_LENGTH_MAX = 64

/** Characters of answers whose text is remembered: few tokens are asked about again and again. */
const REMEMBERED_CHARS_MAX = 2_000_000

const WORD_BYTES = 32

/**
 * Text of a `symbol` or `name` answer: an ABI string, or the 32 bytes of older tokens, up to the first NUL. Bytes that
 * are not UTF-8 become U+FFFD. Empty for an answer of another form, or with a false length.
 */
export function decodeTokenText(answer: Hex | undefined): string {
  return answer === undefined || answer.length <= 2 ? '' : decoded(answer)
}

const decoded = memoizeText((answer: Hex): string => {
  const bytes = hexToBytes(answer)
  const content = bytes.length === WORD_BYTES ? upToNul(bytes) : stringContent(bytes)
  if (content === undefined) return ''
  // If the answer was cut inside a character, its last character is broken.
  const isCut = bytes.length === TEXT_BYTES_MAX && content.length === TEXT_BYTES_MAX - 2 * WORD_BYTES
  const text = new TextDecoder().decode(content)
  return withoutPadding(isCut ? text.replace(/\ufffd$/, '') : text)
}, REMEMBERED_CHARS_MAX)

/** Text without NULs at its end. A loop, because a regular expression takes quadratic time on a long run of NULs. */
function withoutPadding(text: string): string {
  let end = text.length
  while (text.charCodeAt(end - 1) === 0) end--
  return text.slice(0, end)
}

function stringContent(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length < 2 * WORD_BYTES || wordAt(bytes, 0) !== BigInt(WORD_BYTES)) return undefined
  const length = wordAt(bytes, 1)
  const available = bytes.length - 2 * WORD_BYTES
  if (length > BigInt(available) && bytes.length < TEXT_BYTES_MAX) return undefined
  // Only an answer of TEXT_BYTES_MAX may have been cut, and no accepted answer is longer than 16 KiB.
  if (length > BigInt(TEXT_ANSWER_BYTES_MAX)) return undefined
  return bytes.subarray(2 * WORD_BYTES, 2 * WORD_BYTES + Math.min(Number(length), available))
}

function wordAt(bytes: Uint8Array, index: number): bigint {
  return bytesToBigInt(bytes.subarray(index * WORD_BYTES, (index + 1) * WORD_BYTES))
}

function upToNul(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0)
  return end < 0 ? bytes : bytes.subarray(0, end)
}

/** A token's text for display: nothing that is not seen, letters in one form, at most 64 code points. */
export const toTokenDisplayText = memoizeText(
  (text: string) => toDisplayText(text, TEXT_LENGTH_MAX),
  REMEMBERED_CHARS_MAX,
)
