import { type Hex, hexToBytes } from 'viem'

/** First bytes of a `symbol` or `name` answer that are looked at; a lens copies no more. */
export const TEXT_BYTES_MAX = 320
/** An answer longer than this is no answer. */
export const TEXT_ANSWER_BYTES_MAX = 16_384
/** Code points of a symbol or name that are shown. */
const TEXT_LENGTH_MAX = 64

const WORD_BYTES = 32

/**
 * Text of a `symbol` or `name` answer: an ABI string, or the 32 bytes of tokens from before it, up to the first NUL.
 * Bytes that are no UTF-8 become U+FFFD; an answer that is neither, or whose length is a lie, is no text.
 */
export function textFrom(answer: Hex | undefined): string {
  if (answer === undefined || answer.length <= 2) return ''
  const bytes = hexToBytes(answer)
  const content = bytes.length === WORD_BYTES ? upToNul(bytes) : stringContent(bytes)
  if (content === undefined) return ''
  // A cut through a character leaves a broken one at the end.
  const isCut = bytes.length === TEXT_BYTES_MAX && content.length === TEXT_BYTES_MAX - 2 * WORD_BYTES
  const text = new TextDecoder().decode(content)
  return withoutPadding(isCut ? text.replace(/\ufffd$/, '') : text)
}

/** Text without NULs at its end; a pattern would go through every row of NULs again from each of them. */
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
  // Only an answer as long as the longest one may have been cut: 16 KiB is as far as a length can then be true.
  if (length > BigInt(TEXT_ANSWER_BYTES_MAX)) return undefined
  return bytes.subarray(2 * WORD_BYTES, 2 * WORD_BYTES + Math.min(Number(length), available))
}

function wordAt(bytes: Uint8Array, index: number): bigint {
  let value = 0n
  for (const byte of bytes.subarray(index * WORD_BYTES, (index + 1) * WORD_BYTES)) value = (value << 8n) | BigInt(byte)
  return value
}

function upToNul(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0)
  return end < 0 ? bytes : bytes.subarray(0, end)
}

/** A token's text as it is shown: without control and formatting characters, at most 64 code points. */
export function shownText(text: string): string {
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, '').trim()
  return [...clean].slice(0, TEXT_LENGTH_MAX).join('').trimEnd()
}
