import { type Address, checksumAddress, type Hex } from 'viem'

/** A number, negative in two's complement, or an address or 32 bytes in hexadecimal. */
type Word = Hex | bigint

/** A dynamic value (array, bytes or struct): `digits` follow all words, and an offset takes the word's position. */
interface Encoded {
  readonly digits: string
}

/** Converts an address or bytes to lower case, the form in logs and histories. */
export function toLowerHex(hex: string): Hex {
  return hex.toLowerCase() as Hex
}

/** Encodes an address for a packed list: its digits without `0x`. */
export function packAddress(address: Address): string {
  return address.slice(2).toLowerCase()
}

/** Encodes an array of words. */
export function encodeArray(words: readonly Word[]): Encoded {
  return { digits: encodeWord(BigInt(words.length)) + words.map(encodeWord).join('') }
}

/** Encodes an array of structs of words, one after the other. */
export function encodeRows(length: number, words: readonly Word[]): Encoded {
  return { digits: encodeWord(BigInt(length)) + words.map(encodeWord).join('') }
}

/** Encodes bytes, given as hexadecimal digits without 0x. */
export function encodeBytes(digits: string): Encoded {
  const length = encodeWord(BigInt(digits.length / 2))
  return { digits: length + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0') }
}

/** Encodes an array of arrays, bytes or structs. */
export function encodeList(items: readonly Encoded[]): Encoded {
  return { digits: encodeWord(BigInt(items.length)) + encodeAll(items) }
}

/** Encodes a struct that contains an array or bytes. */
export function encodeStruct(...members: readonly (Word | Encoded)[]): Encoded {
  return { digits: encodeAll(members) }
}

/**
 * Encodes call data by the ABI's rules. It is about ten times as fast as viem's encoder, which interprets the ABI, and
 * parts that do not change between calls are encoded only once.
 */
export function encodeCall(selector: Hex, ...args: readonly (Word | Encoded)[]): Hex {
  return `${selector}${encodeAll(args)}`
}

function encodeAll(args: readonly (Word | Encoded)[]): string {
  let words = ''
  let tail = ''
  for (const arg of args) {
    if (typeof arg !== 'object') words += encodeWord(arg)
    else {
      words += encodeWord(BigInt(args.length * 32 + tail.length / 2))
      tail += arg.digits
    }
  }
  return words + tail
}

function encodeWord(word: Word): string {
  const digits = typeof word === 'bigint' ? BigInt.asUintN(256, word).toString(16) : word.slice(2).toLowerCase()
  return digits.padStart(64, '0')
}

/** Decodes the unsigned word at an index. */
export function decodeWord(answer: Hex, index: number): bigint {
  return BigInt(`0x${answer.slice(2 + index * 64, 66 + index * 64)}`)
}

/** Decodes the checksummed address in the word at an index. */
export function decodeAddress(answer: Hex, index: number): Address {
  return toChecksumAddress(answer.slice(26 + index * 64, 66 + index * 64))
}

/** Decodes the first word as a number; undefined if the answer is shorter than a word. */
export function tryDecodeUint(answer: Hex | undefined): bigint | undefined {
  return answer === undefined || answer.length < 66 ? undefined : decodeWord(answer, 0)
}

/** Decodes the first word as an address; undefined if it is zero or missing. */
export function tryDecodeAddress(answer: Hex | undefined): Address | undefined {
  return answer === undefined || (tryDecodeUint(answer) ?? 0n) === 0n ? undefined : decodeAddress(answer, 0)
}

/** Cached addresses; the cache is cleared when full. */
const KNOWN_MAX = 20_000
const addressesByDigits = new Map<string, Address>()

/**
 * Converts an address of 40 lower-case hexadecimal digits to its checksummed form, cached: an answer has hundreds of
 * addresses, most of them repeated. The hash takes microseconds; a lookup in viem's cache still takes a third of one.
 */
export function toChecksumAddress(digits: string): Address {
  const cached = addressesByDigits.get(digits)
  if (cached !== undefined) return cached
  const address = checksumAddress(`0x${digits}` as Hex)
  if (addressesByDigits.size >= KNOWN_MAX) addressesByDigits.clear()
  // `digits` may be a substring of an answer and would keep all of it in memory, so the key is a copy.
  addressesByDigits.set(address.slice(2).toLowerCase(), address)
  return address
}
