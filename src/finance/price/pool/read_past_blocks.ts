import { concatHex, type Hex, keccak256, numberToHex } from 'viem'
import type { Block, PinnedBlock } from '../../../chain/block.ts'
import { readBlock } from '../../../chain/evm/read_block.ts'
import { findBracket, nextProbe } from '../../../chain/past/block_at.ts'
import type { Endpoint, PastBlock } from '../../../chain/rpc/client.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { WINDOW_SEC } from './depth.ts'

/** Looks at earlier blocks, one in each ten minutes. */
const LOOKS = 3
const LOOK_SEC = 600
/** A look may be this far from its moment; a chain with steady blocks is. */
const TOLERANCE_SEC = 60n
/** Block time to start from where no source gives it. */
const BLOCK_TIME_MS = 12_000
/** Headers of one search. */
const PROBES_MAX = 60

/** Headers that place earlier moments: the block itself and one about half an hour before it. */
export interface Anchors {
  readonly chainId: number
  readonly blockTimeMs: number | undefined
  readonly block: PinnedBlock
  readonly earlier: PastBlock
}

/**
 * Computes how long before a block its looks are, seconds. They follow from the block's hash, so a stranger cannot know
 * the blocks of a later question.
 */
export function computeLookAges(hash: Hex): number[] {
  return Array.from({ length: LOOKS }, (_, index) => {
    const digest = keccak256(concatHex([hash, numberToHex(index, { size: 1 })]))
    return LOOK_SEC * index + 1 + Number(BigInt(digest) % BigInt(LOOK_SEC))
  })
}

/**
 * Reads the headers that place earlier moments. Throws `UpstreamError` if the endpoint has another block at that height,
 * else as `readBlock`.
 */
export async function readAnchors(
  endpoint: Endpoint,
  { block, blockTimeMs = BLOCK_TIME_MS }: { readonly block: Block; readonly blockTimeMs: number | undefined },
  work: Work,
): Promise<Anchors> {
  const { chainId, number, hash } = block
  const back = BigInt(Math.max(1, Math.round((WINDOW_SEC * 1_000) / blockTimeMs)))
  const readNumber = (each: bigint) => (within: Work) => readBlock(endpoint, { chainId, number: each }, within)
  const [earlier, header] = await allOrAbort(
    [readNumber(number > back ? number - back : 0n), ...(hash === undefined ? [readNumber(number)] : [])],
    work,
  )
  const pinned = hash === undefined ? header : { ...block, hash }
  if (earlier === undefined || pinned?.timestampSec !== block.timestampSec || earlier.number > number) {
    throw new UpstreamError('The chain changed before pools were read')
  }
  return { chainId, blockTimeMs, block: pinned, earlier }
}

/** Estimates the height of the last block at or before a moment; undefined before the chain. */
export function estimateNumber({ block, earlier }: Anchors, timeSec: bigint): bigint | undefined {
  // Lenses do not run at the first block.
  if (block.number <= 1n) return undefined
  const [blocks, seconds] = [block.number - earlier.number, block.timestampSec - earlier.timestampSec]
  if (seconds <= 0n) return block.number - 1n
  const back = ((block.timestampSec - timeSec) * blocks + seconds - 1n) / seconds
  if (back >= block.number) return 1n
  return block.number - (back < 1n ? 1n : back)
}

/** True if a block is close enough to a moment. */
export function isAtTime({ timestampSec }: Pick<PastBlock, 'timestampSec'>, timeSec: bigint): boolean {
  const apart = timestampSec - timeSec
  return (apart < 0n ? -apart : apart) <= TOLERANCE_SEC
}

/**
 * Searches the last block at or before a moment by headers, where the chain's blocks are not steady; undefined before
 * the chain. Throws as `readBlock`.
 */
export async function searchBlock(
  endpoint: Endpoint,
  { anchors, timeSec }: { readonly anchors: Anchors; readonly timeSec: bigint },
  work: Work,
): Promise<PastBlock | undefined> {
  const { chainId, blockTimeMs, block, earlier } = anchors
  let known: readonly PastBlock[] = earlier.number === block.number ? [block] : [earlier, block]
  for (let probes = 0; probes < PROBES_MAX; probes++) {
    const bracket = findBracket(known, timeSec)
    if (bracket === undefined) return block
    const number = nextProbe(bracket, { timeSec, blockTimeMs, probes })
    if (number === undefined) return bracket.before
    const header = await readBlock(endpoint, { chainId, number }, work)
    known = [...known, header].sort((a, b) => (a.number < b.number ? -1 : 1))
  }
  throw new UpstreamError('The endpoint leads to no block of that time')
}
