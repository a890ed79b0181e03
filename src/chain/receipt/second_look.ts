import type { Hex } from 'viem'
import type { PinnedBlock } from '../block.ts'
import { decodeLensPage } from '../call/cursor.ts'
import type { BlockOverrides } from '../rpc/client.ts'

/** Gas of the second call. It is lower, so a page that nearly used up its gas ends earlier. */
export const SECOND_GAS = 40_000_000

/** Digits of the page header. It is not compared: it holds a block hash, which the overrides change. */
const PAGE_BLOCK_DIGITS = 2 * (1 + 8 + 8 + 8 + 32)
/** Number of earlier blocks whose hashes are overridden. */
const HASHES = 8n
const OTHER_FEE: Hex = '0x7'
const OTHER_HASH: Hex = `0x${'5ec0'.repeat(16)}`

/** Creates the overrides of the second call: another base fee, and other hashes of the blocks before. */
export function createBlockOverrides({ number }: Pick<PinnedBlock, 'number'>): BlockOverrides {
  const heights = Array.from(
    { length: Number(number < HASHES ? number : HASHES) },
    (_, back) => number - 1n - BigInt(back),
  )
  return {
    baseFeePerGas: OTHER_FEE,
    blockHash: Object.fromEntries(heights.map((height) => [String(height), OTHER_HASH])),
  }
}

/** Describes a difference between both answers, as the end of a sentence; undefined if they are equal. */
export function describeDifference(first: Hex, second: Hex): string | undefined {
  const from = 2 + PAGE_BLOCK_DIGITS
  if (first.slice(from) === second.slice(from)) return undefined
  return decodeLensPage(second).taken < decodeLensPage(first).taken
    ? 'the question takes more gas than every endpoint grants: ask about fewer'
    : 'a contract answers by what no other call sees alike: its gas, the base fee or the hash of a block'
}
