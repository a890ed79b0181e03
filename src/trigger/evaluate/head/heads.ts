import type { PinnedBlock } from '../../../chain/block.ts'
import { readBlock, readHeader, readLatestBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { BlockMark, FinalityLevel } from '../../trigger.ts'

/** The blocks to evaluate now. */
export interface NextBlocks {
  /** Oldest first; each is the parent of the next. Blocks before the first may have been skipped. */
  readonly blocks: readonly PinnedBlock[]
  /** First evaluated block that is not on this branch; null if all are. */
  readonly fork: bigint | null
}

/** If more blocks than this are pending, all but the newest are skipped. */
const BACKLOG_MAX = 8n
/** Maximum depth of a reorganization; a deeper one counts as this deep. */
const FORK_MAX = 64n
const BUDGET_MS = 5_000

/**
 * The blocks of a partition after `at`; undefined if there is none yet. `hashes`: hashes of evaluated blocks by number.
 * Throws as `ChainClient.read`.
 */
export async function readNextBlocks(
  client: ChainClient,
  query: { readonly level: FinalityLevel; readonly at: BlockMark | null; readonly hashes: ReadonlyMap<bigint, string> },
  signal: AbortSignal,
): Promise<NextBlocks | undefined> {
  return await client.read((endpoint, within) => findNextBlocks({ endpoint, client, ...query }, within), {
    signal,
    priority: 'background',
    past: 'header',
    budgetMs: BUDGET_MS,
  })
}

interface HeadQuery {
  readonly endpoint: Endpoint
  readonly client: ChainClient
  readonly level: FinalityLevel
  readonly at: BlockMark | null
  readonly hashes: ReadonlyMap<bigint, string>
}

async function findNextBlocks(query: HeadQuery, signal: AbortSignal): Promise<NextBlocks | undefined> {
  const { level, at, hashes } = query
  const newest = await readHead(query, signal)
  if (newest === undefined) return undefined
  if (at === null) return { blocks: [newest], fork: null }
  // A shorter branch comes from a lagging node, or will be overtaken.
  if (newest.number <= at.number) return undefined
  // `safe` and `finalized` blocks are not replaced.
  if (level !== 'latest') return { blocks: [newest], fork: null }
  const isBeyondBacklog = newest.number - at.number > BACKLOG_MAX
  const blocks = isBeyondBacklog ? [newest] : await readBackTo(query, { from: newest, to: at.number + 1n }, signal)
  const evaluatedBlock = isBeyondBacklog ? await readByNumber(query, at.number, signal) : undefined
  if ((evaluatedBlock?.hash ?? blocks[0]?.parentHash) === at.hash) return { blocks, fork: null }

  // Walk back along the new branch until it meets an evaluated block.
  const branch = evaluatedBlock === undefined ? [...blocks] : [evaluatedBlock]
  let first = branch[0]
  while (first !== undefined && hashes.get(first.number - 1n) !== first.parentHash) {
    if (!hashes.has(first.number - 1n) || at.number - first.number >= FORK_MAX) break
    first = await readParent(query, first, signal)
    branch.unshift(first)
  }
  const fork = first?.number ?? at.number
  return { blocks: isBeyondBacklog || newest.number - fork >= FORK_MAX ? [newest] : branch, fork }
}

async function readHead(query: HeadQuery, signal: AbortSignal): Promise<PinnedBlock | undefined> {
  const { endpoint, client, level } = query
  const { id: chainId, finality } = client.chain
  if (level === 'latest') return await readLatestBlock(endpoint, chainId, signal)
  if ('depth' in finality) {
    const { number } = await readLatestBlock(endpoint, chainId, signal)
    return number < BigInt(finality.depth)
      ? undefined
      : await readByNumber(query, number - BigInt(finality.depth), signal)
  }
  return await readHeader(endpoint, { chainId, at: level === 'safe' ? 'safe' : finality.tag }, signal)
}

/** The blocks from `to` up to `from`. */
async function readBackTo(
  query: HeadQuery,
  { from, to }: { readonly from: PinnedBlock; readonly to: bigint },
  signal: AbortSignal,
): Promise<readonly PinnedBlock[]> {
  const blocks = [from]
  for (let first = from; first.number > to; blocks.unshift(first)) first = await readParent(query, first, signal)
  return blocks
}

async function readParent(
  { endpoint, client }: HeadQuery,
  block: PinnedBlock,
  signal: AbortSignal,
): Promise<PinnedBlock> {
  const parent = await readHeader(endpoint, { chainId: client.chain.id, at: { hash: block.parentHash } }, signal)
  if (parent === undefined) throw new UpstreamError('The endpoint does not have the parent of a block')
  return parent
}

async function readByNumber(
  { endpoint, client }: HeadQuery,
  number: bigint,
  signal: AbortSignal,
): Promise<PinnedBlock> {
  return await readBlock(endpoint, { chainId: client.chain.id, number }, signal)
}
