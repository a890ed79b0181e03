import { type Address, getAddress, type Hex, numberToHex, padHex, toFunctionSelector } from 'viem'

/** Selectors of what is asked without the lens. */
export const SELECTOR = {
  balanceOf: toFunctionSelector('balanceOf(address)'),
  tokenOfOwnerByIndex: toFunctionSelector('tokenOfOwnerByIndex(address,uint256)'),
  ownerOf: toFunctionSelector('ownerOf(uint256)'),
  positions: toFunctionSelector('positions(uint256)'),
  getPool: toFunctionSelector('getPool(address,address,uint24)'),
  slot0: toFunctionSelector('slot0()'),
  feeGrowthGlobal0X128: toFunctionSelector('feeGrowthGlobal0X128()'),
  feeGrowthGlobal1X128: toFunctionSelector('feeGrowthGlobal1X128()'),
  ticks: toFunctionSelector('ticks(int24)'),
  symbol: toFunctionSelector('symbol()'),
  name: toFunctionSelector('name()'),
  decimals: toFunctionSelector('decimals()'),
  latestRoundData: toFunctionSelector('latestRoundData()'),
} as const

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

/** Whether an answer has at least so many words. */
export function hasWords(answer: Hex, count: number): boolean {
  return answer.length >= 2 + count * 64
}

/** The unsigned word at an index. */
export function wordOf(answer: Hex, index: number): bigint {
  return BigInt(`0x${answer.slice(2 + index * 64, 66 + index * 64)}`)
}

/** The signed 24-bit number in the word at an index. */
export function int24Of(answer: Hex, index: number): number {
  return Number(BigInt.asIntN(24, wordOf(answer, index)))
}

/** The checksummed address in the word at an index. */
export function addressOf(answer: Hex, index: number): Address {
  return getAddress(`0x${answer.slice(26 + index * 64, 66 + index * 64)}`)
}

/** Whether a call succeeded with at least so many words. */
export function hasAnswer(answer: { readonly ok: boolean; readonly data: Hex }, words: number): boolean {
  return answer.ok && hasWords(answer.data, words)
}

/** The first word, or 2^32 − 1 for anything larger. */
export function smallNumber(answer: Hex): number {
  const value = wordOf(answer, 0)
  return value > 0xffff_ffffn ? 0xffff_ffff : Number(value)
}
