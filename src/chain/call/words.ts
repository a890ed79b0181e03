import type { Address, Hex } from 'viem'
import { toChecksumAddress } from './checksum.ts'

/** A number, negative in two's complement, or an address or 32 bytes in hexadecimal. */
type Word = Hex | bigint

/** An array, bytes or a struct, encoded: `digits` stand behind all words, and an offset in their place. */
interface Encoded {
  readonly digits: string
}

/** An address or bytes in lower case, as logs and histories have them. */
export function toLowerHex(hex: string): Hex {
  return hex.toLowerCase() as Hex
}

/** The digits of an address in a packed list. */
export function packedAddress(address: Address): string {
  return address.slice(2).toLowerCase()
}

/** An array of words. */
export function encodeArray(words: readonly Word[]): Encoded {
  return { digits: digitsOf(BigInt(words.length)) + words.map(digitsOf).join('') }
}

/** Bytes, as hexadecimal digits without 0x. */
export function encodeBytes(digits: string): Encoded {
  const length = digitsOf(BigInt(digits.length / 2))
  return { digits: length + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0') }
}

/** A struct with an array or bytes in it. */
export function encodeStruct(...members: readonly (Word | Encoded)[]): Encoded {
  return { digits: digitsOfAll(members) }
}

/**
 * Call data, as the ABI has it. viem's encoder, which works from the ABI, takes some ten times as long, and what stays
 * the same from call to call is encoded only once here.
 */
export function encodeCall(selector: Hex, ...args: readonly (Word | Encoded)[]): Hex {
  return `${selector}${digitsOfAll(args)}`
}

function digitsOfAll(args: readonly (Word | Encoded)[]): string {
  let words = ''
  let rest = ''
  for (const arg of args) {
    if (typeof arg !== 'object') words += digitsOf(arg)
    else {
      words += digitsOf(BigInt(args.length * 32 + rest.length / 2))
      rest += arg.digits
    }
  }
  return words + rest
}

function digitsOf(word: Word): string {
  const digits = typeof word === 'bigint' ? BigInt.asUintN(256, word).toString(16) : word.slice(2).toLowerCase()
  return digits.padStart(64, '0')
}

/** The unsigned word at an index. */
export function decodeWord(answer: Hex, index: number): bigint {
  return BigInt(`0x${answer.slice(2 + index * 64, 66 + index * 64)}`)
}

/** The checksummed address in the word at an index. */
export function decodeAddress(answer: Hex, index: number): Address {
  return toChecksumAddress(answer.slice(26 + index * 64, 66 + index * 64))
}

/** The number in an answer of one word or more; undefined if there is none. */
export function tryDecodeUint(answer: Hex | undefined): bigint | undefined {
  return answer === undefined || answer.length < 66 ? undefined : decodeWord(answer, 0)
}

/** The address in such an answer, unless it is zero. */
export function tryDecodeAddress(answer: Hex | undefined): Address | undefined {
  return answer === undefined || (tryDecodeUint(answer) ?? 0n) === 0n ? undefined : decodeAddress(answer, 0)
}
