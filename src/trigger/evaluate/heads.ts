import type { PinnedBlock } from '../../chain/block.ts'
import { readBlock, readHeader, readLatestBlock } from '../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../chain/rpc/client.ts'
import { UpstreamError } from '../../lib/error.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import type { BlockMark, FinalityLevel } from '../trigger.ts'

/** The blocks to evaluate now. */
export interface NextBlocks {
  /** Oldest first; each is the parent of the next. Empty if there is no later one. */
  readonly blocks: readonly PinnedBlock[]
  readonly newest: PinnedBlock
  /** First evaluated block that is not on this branch; null if all are. */
  readonly fork: bigint | null
  /** The first block that is left out, if the first of `blocks` is not the next one. */
  readonly skippedFrom: bigint | undefined
}

/** Limits of what is evaluated after the block before. */
export interface HeadQuery {
  readonly level: FinalityLevel
  /** The last evaluated block. */
  readonly at: BlockMark | null
  /** Hashes of evaluated blocks by number. */
  readonly hashes: ReadonlyMap<bigint, string>
  /** Number of blocks that were pending before the last ones were evaluated; undefined if none were left. */
  readonly pendingBefore: bigint | undefined
  /** With more pending blocks than before, those whose age exceeds this are left out, seconds. */
  readonly lagMaxSec: number
  /** True to leave out all pending blocks but the newest: their state is gone. */
  readonly skips: boolean
}

/**
 * Maximum number of pending blocks: of more, all but the newest are left out. Final blocks come by hundreds, and on fast
 * chains by thousands.
 */
const PENDING_MAX = { latest: 512n, final: 4_096n } as const
/** Blocks of one read. */
const BLOCKS_MAX = 16n
/** Maximum depth of a reorganization; a deeper one counts as this deep. */
const FORK_MAX = 64n
const BUDGET_MS = 5_000

/**
 * The blocks of a partition after `at`; undefined if the chain has none of this finality yet. Throws as
 * `ChainClient.read`.
 */
export async function readNextBlocks(
  client: ChainClient,
  query: HeadQuery,
  signal: AbortSignal,
): Promise<NextBlocks | undefined> {
  return await client.read((endpoint, within) => findNextBlocks({ endpoint, client, ...query }, within), {
    signal,
    priority: 'background',
    past: 'header',
    budgetMs: BUDGET_MS,
  })
}

interface EndpointQuery extends HeadQuery {
  readonly endpoint: Endpoint
  readonly client: ChainClient
}

async function findNextBlocks(query: EndpointQuery, signal: AbortSignal): Promise<NextBlocks | undefined> {
  const { level, at } = query
  const newest = await readHead(query, signal)
  if (newest === undefined) return undefined
  if (at === null) return { blocks: [newest], newest, fork: null, skippedFrom: undefined }
  // A shorter branch comes from a lagging node, or will be overtaken.
  if (newest.number <= at.number) return { blocks: [], newest, fork: null, skippedFrom: undefined }
  const next = newest.number === at.number + 1n ? newest : await readByNumber(query, at.number + 1n, signal)
  // `safe` and `finalized` blocks are not replaced.
  const fork = level !== 'latest' || next.parentHash === at.hash ? null : await findFork(query, at, signal)
  const first = fork ?? next.number
  if (mustSkip(query, { first, newest, at })) return { blocks: [newest], newest, fork, skippedFrom: first }
  const count = Number(minBigint(newest.number - first + 1n, BLOCKS_MAX))
  const blocks = await Promise.all(
    Array.from({ length: count }, (_, index) => first + BigInt(index)).map((number) => {
      const known = [next, newest].find((block) => block.number === number)
      return known ?? readByNumber(query, number, signal)
    }),
  )
  if (blocks.some(({ parentHash }, index) => index > 0 && parentHash !== blocks[index - 1]?.hash)) {
    throw new UpstreamError('The chain changed while its blocks were read')
  }
  return { blocks, newest, fork, skippedFrom: undefined }
}

/** True if the blocks before the newest are left out: their state is gone, they are too many, or more and more. */
function mustSkip(
  { level, pendingBefore, lagMaxSec, skips }: HeadQuery,
  { first, newest, at }: { readonly first: bigint; readonly newest: PinnedBlock; readonly at: BlockMark },
): boolean {
  const pending = newest.number - first + 1n
  if (pending === 1n) return false
  const isFallingBehind =
    pendingBefore !== undefined && pending > pendingBefore && newest.timestampSec - at.timestampSec > lagMaxSec
  return skips || pending > PENDING_MAX[level === 'latest' ? 'latest' : 'final'] || isFallingBehind
}

/**
 * Finds the first replaced block, at or before `at`. Below a gap of blocks that were not evaluated, the branch may begin
 * anywhere in the gap, so it counts as beginning after the next evaluated block that it shares.
 */
async function findFork(query: EndpointQuery, at: BlockMark, signal: AbortSignal): Promise<bigint> {
  const { hashes } = query
  const evaluated = [...hashes.keys()].filter((number) => number < at.number && at.number - number <= FORK_MAX)
  let fork = at.number
  for (const number of evaluated.sort((a, b) => (a < b ? 1 : -1))) {
    const { hash } = await readByNumber(query, number, signal)
    if (hash === hashes.get(number)) return number + 1n
    fork = number
  }
  return fork
}

async function readHead(query: EndpointQuery, signal: AbortSignal): Promise<PinnedBlock | undefined> {
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

async function readByNumber(
  { endpoint, client }: EndpointQuery,
  number: bigint,
  signal: AbortSignal,
): Promise<PinnedBlock> {
  return await readBlock(endpoint, { chainId: client.chain.id, number }, signal)
}
