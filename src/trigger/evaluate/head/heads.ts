import type { PinnedBlock } from '../../../chain/block.ts'
import { readBlock, readHeader, readLatestBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { BlockMark, FinalityLevel } from '../../trigger.ts'

/** Blocks that are to be evaluated now. */
export interface NextBlocks {
  /** Oldest first; each is the parent of the next, but for what was left out before the first. */
  readonly blocks: readonly PinnedBlock[]
  /** What was evaluated from this block on is not of this branch. Null: all of it is. */
  readonly fork: bigint | null
}

/** More blocks than this at once are left out, but for the newest. */
const BACKLOG_MAX = 8n
/** Reorganizations that go back further are taken to go back so far. */
const FORK_MAX = 64n
const BUDGET_MS = 5_000

/**
 * The blocks of a line after `at`. Undefined if there is none yet. `known` has hashes of blocks that were evaluated.
 * Throws as `ChainClient.read`.
 */
export async function readNextBlocks(
  client: ChainClient,
  of: { readonly head: FinalityLevel; readonly at: BlockMark | null; readonly known: ReadonlyMap<bigint, string> },
  signal: AbortSignal,
): Promise<NextBlocks | undefined> {
  return await client.read((endpoint, within) => nextBlocks({ endpoint, client, ...of }, within), {
    signal,
    priority: 'background',
    past: 'header',
    budgetMs: BUDGET_MS,
  })
}

interface Asking {
  readonly endpoint: Endpoint
  readonly client: ChainClient
  readonly head: FinalityLevel
  readonly at: BlockMark | null
  readonly known: ReadonlyMap<bigint, string>
}

async function nextBlocks(asking: Asking, signal: AbortSignal): Promise<NextBlocks | undefined> {
  const { head, at, known } = asking
  const newest = await readHead(asking, signal)
  if (newest === undefined) return undefined
  if (at === null) return { blocks: [newest], fork: null }
  // A shorter branch is a node that is late, or will be overtaken.
  if (newest.number <= at.number) return undefined
  // Blocks with these names are not replaced.
  if (head !== 'latest') return { blocks: [newest], fork: null }
  const isFar = newest.number - at.number > BACKLOG_MAX
  const blocks = isFar ? [newest] : await back(asking, { from: newest, to: at.number + 1n }, signal)
  const before = isFar ? await header(asking, at.number, signal) : undefined
  if ((before?.hash ?? blocks[0]?.parentHash) === at.hash) return { blocks, fork: null }

  // Backwards along the new branch until it meets what was evaluated.
  const branch = before === undefined ? [...blocks] : [before]
  let first = branch[0]
  while (first !== undefined && known.get(first.number - 1n) !== first.parentHash) {
    if (!known.has(first.number - 1n) || at.number - first.number >= FORK_MAX) break
    first = await parentOf(asking, first, signal)
    branch.unshift(first)
  }
  const fork = first?.number ?? at.number
  return { blocks: isFar || newest.number - fork >= FORK_MAX ? [newest] : branch, fork }
}

async function readHead(asking: Asking, signal: AbortSignal): Promise<PinnedBlock | undefined> {
  const { endpoint, client, head } = asking
  const { id: chainId, finality } = client.chain
  if (head === 'latest') return await readLatestBlock(endpoint, chainId, signal)
  if ('depth' in finality) {
    const { number } = await readLatestBlock(endpoint, chainId, signal)
    return number < BigInt(finality.depth) ? undefined : await header(asking, number - BigInt(finality.depth), signal)
  }
  return await readHeader(endpoint, { chainId, at: head === 'safe' ? 'safe' : finality.tag }, signal)
}

/** The blocks from `to` up to `from`. */
async function back(
  asking: Asking,
  { from, to }: { readonly from: PinnedBlock; readonly to: bigint },
  signal: AbortSignal,
): Promise<readonly PinnedBlock[]> {
  const blocks = [from]
  for (let first = from; first.number > to; blocks.unshift(first)) first = await parentOf(asking, first, signal)
  return blocks
}

async function parentOf({ endpoint, client }: Asking, block: PinnedBlock, signal: AbortSignal): Promise<PinnedBlock> {
  const parent = await readHeader(endpoint, { chainId: client.chain.id, at: { hash: block.parentHash } }, signal)
  if (parent === undefined) throw new UpstreamError('The endpoint does not have the parent of a block')
  return parent
}

async function header({ endpoint, client }: Asking, number: bigint, signal: AbortSignal): Promise<PinnedBlock> {
  return await readBlock(endpoint, { chainId: client.chain.id, number }, signal)
}
