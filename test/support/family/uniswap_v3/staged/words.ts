import { type Hex, toFunctionSelector } from 'viem'
import { decodeWord } from '../../../../../src/chain/call/words.ts'

/** Selectors of calls that are made without the lens. */
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
  getSourceOfAsset: toFunctionSelector('getSourceOfAsset(address)'),
  getAssetPrice: toFunctionSelector('getAssetPrice(address)'),
} as const

/** The signed 24-bit number in the word at an index. */
export function decodeInt24(answer: Hex, index: number): number {
  return Number(BigInt.asIntN(24, decodeWord(answer, index)))
}

/** The first word, or 2^32 − 1 for anything larger. */
export function smallNumber(answer: Hex): number {
  const value = decodeWord(answer, 0)
  return value > 0xffff_ffffn ? 0xffff_ffff : Number(value)
}
