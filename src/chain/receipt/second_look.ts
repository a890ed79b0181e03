import type { Hex } from 'viem'
import type { PinnedBlock } from '../block.ts'
import { decodeLensPage } from '../call/cursor.ts'
import type { BlockOverrides } from '../rpc/client.ts'

/** Gas of the second look: a page that came near the end of its gas ends earlier. */
export const SECOND_GAS = 40_000_000

/** Digits of a page before what a lens wrote: its block is not the same if hashes of blocks are not. */
const PAGE_BLOCK_DIGITS = 2 * (1 + 8 + 8 + 8 + 32)
/** Hashes that are changed: those of the blocks before. */
const HASHES = 8n
const OTHER_FEE: Hex = '0x7'
const OTHER_HASH: Hex = `0x${'5ec0'.repeat(16)}`

/** What a call sees the second time: another base fee, and other hashes of the blocks before. */
export function createBlockOverrides({ number }: Pick<PinnedBlock, 'number'>): BlockOverrides {
  const before = Array.from(
    { length: Number(number < HASHES ? number : HASHES) },
    (_, back) => number - 1n - BigInt(back),
  )
  return {
    baseFeePerGas: OTHER_FEE,
    blockHash: Object.fromEntries(before.map((height) => [String(height), OTHER_HASH])),
  }
}

/** What differs between both looks at a contract, as the end of a sentence; undefined if nothing does. */
export function describeDifference(first: Hex, second: Hex): string | undefined {
  const from = 2 + PAGE_BLOCK_DIGITS
  if (first.slice(from) === second.slice(from)) return undefined
  return decodeLensPage(second).taken < decodeLensPage(first).taken
    ? 'the question takes more gas than every endpoint grants: ask about fewer'
    : 'a contract answers by what no other call sees alike: its gas, the base fee or the hash of a block'
}
