import { type Address, getAddress, type Hex, numberToHex, padHex } from 'viem'

/** Call data of static arguments, a word each; negative numbers in two's complement. */
export function encodeWords(selector: Hex, ...words: readonly (Address | bigint)[]): Hex {
  const encoded = words.map((word) =>
    (typeof word === 'bigint'
      ? numberToHex(BigInt.asUintN(256, word), { size: 32 })
      : padHex(word, { size: 32 })
    ).slice(2),
  )
  return `${selector}${encoded.join('')}`
}

/** The unsigned word at an index. */
export function wordOf(answer: Hex, index: number): bigint {
  return BigInt(`0x${answer.slice(2 + index * 64, 66 + index * 64)}`)
}

/** The checksummed address in the word at an index. */
export function addressOf(answer: Hex, index: number): Address {
  return getAddress(`0x${answer.slice(26 + index * 64, 66 + index * 64)}`)
}
