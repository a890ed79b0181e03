import type { Hex } from 'viem'
import { isSameBlock, type PinnedBlock } from '../../chain/block.ts'
import { checkBlockAge } from '../../chain/block_age.ts'
import { readGrandparent } from '../../chain/call/grandparent/read_grandparent.ts'
import { type BlockId, readHeader, readLatestBlock } from '../../chain/evm/read_block.ts'
import { type BackgroundEndpoint, type ChainClient, type Endpoint, RpcRefusedError } from '../../chain/rpc/client.ts'
import type { Clock } from '../../lib/clock.ts'
import { AbortedError, UpstreamError } from '../../lib/error.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import type { CandidateTip, Grandparent } from '../tip.ts'

/** The newest block and the newest final block of a chain, read from one endpoint and confirmed by the others. */
export interface AgreedTip {
  readonly block: PinnedBlock
  /** Undefined if the endpoint does not return the hash in time. */
  readonly grandparent: Grandparent | undefined
  readonly finalized: PinnedBlock
  /** Number of endpoints that have the final block: 1 with a single endpoint, 0 if the other endpoints are silent. */
  readonly witnesses: 0 | 1 | 2
  /** Indexes of the endpoints that have the final block; the first is the endpoint that was read. */
  readonly holders: readonly number[]
  /** True if another endpoint has another final block and no majority decides. */
  readonly isDisputed: boolean
}

/** Nodes behind one address differ by a few blocks; all have a block this deep, so no range comes back empty. */
const DEPTH_MIN = 8n
/** Time limit of each request to a witness, milliseconds. */
const WITNESS_MS = 900

/** Another endpoint's answer about a block: undefined if it lacks the block, `silent` if it does not answer. */
type TipClaim = PinnedBlock | undefined | 'silent'

/**
 * Reads the tip from an endpoint and confirms its final block with the other endpoints. A final block lies at least
 * eight blocks below every head. `onCandidate` is called before the other endpoints confirm the block. Throws
 * `UpstreamError` if the endpoint does not answer, or if two other endpoints have another block there.
 */
export async function readAgreedTip(
  endpoint: Endpoint,
  {
    client,
    clock,
    onCandidate,
  }: {
    readonly client: ChainClient
    readonly clock: Clock
    readonly onCandidate: (tip: CandidateTip) => void
  },
  signal: AbortSignal,
): Promise<AgreedTip> {
  const { chain } = client
  const { finality } = chain
  const otherEndpoints = client.background.filter(({ index, usable }) => usable && index !== endpoint.index)
  const readFromOthers = (at: BlockId) =>
    otherEndpoints.map((other) => readHeaderIfAny(other, { chainId: chain.id, at, clock }, signal))
  const nowMs = clock.now()
  const [block, grandparentClaim, tagged, ...heads] = await Promise.all([
    readLatestBlock(endpoint, chain.id, signal),
    // If the call fails, the hash is read from headers.
    readOrSilent((within) => readGrandparent(endpoint, { chainId: chain.id, clock }, within), clock, signal),
    'tag' in finality ? readHeader(endpoint, { chainId: chain.id, at: finality.tag }, signal) : undefined,
    ...readFromOthers('latest'),
  ])
  const depthBound = subtractDepth(block.number, DEPTH_MIN)
  if ('tag' in finality && tagged === undefined) {
    throw new UpstreamError('The endpoint does not know which block is final')
  }
  const claimedNumber = tagged?.number ?? subtractDepth(block.number, 'depth' in finality ? BigInt(finality.depth) : 0n)
  const candidate = minBigint(claimedNumber, depthBound)
  const freshHeads = heads.flatMap((head) => (isFresh(head, { client, nowMs }) ? head.number : []))
  // Try the highest number first, so that a lagging endpoint does not hold the others back.
  const numbers = new Set(
    [...freshHeads].sort(compareDescending).map((head) => minBigint(candidate, subtractDepth(head, DEPTH_MIN))),
  )
  const [finalNumber = candidate] = numbers
  // A node without the hash returns zero.
  const hasGrandparent =
    grandparentClaim !== 'silent' && isSameBlock(grandparentClaim.block, block) && BigInt(grandparentClaim.hash) !== 0n
  const grandparent = hasGrandparent ? { hash: grandparentClaim.hash, holder: endpoint.index } : undefined
  onCandidate({ block, finalNumber, grandparent })
  const base = { block, grandparent, holders: [endpoint.index], isDisputed: false } as const
  if (freshHeads.length === 0) {
    const finalized =
      tagged?.number === candidate ? tagged : await readRequiredHeader(endpoint, client, candidate, signal)
    return { ...base, finalized, witnesses: heads.includes('silent') ? 0 : 1 }
  }
  for (const number of numbers) {
    const [finalized, ...answers] = await Promise.all([
      readRequiredHeader(endpoint, client, number, signal),
      ...readFromOthers(number),
    ])
    const answeredBlocks = answers.filter(isBlock)
    const differingBlocks = answeredBlocks.filter(({ hash }) => hash !== finalized.hash)
    if (differingBlocks.length < answeredBlocks.length) {
      const holders = otherEndpoints
        .filter((_, answerIndex) => getHash(answers[answerIndex]) === finalized.hash)
        .map(({ index }) => index)
      return { ...base, finalized, witnesses: 2, holders: [endpoint.index, ...holders] }
    }
    if (differingBlocks.some(({ hash }, index) => differingBlocks.findIndex((each) => each.hash === hash) < index)) {
      throw new UpstreamError('The endpoint has another final block than the others')
    }
    if (differingBlocks.length > 0) return { ...base, finalized, witnesses: 0, isDisputed: true }
  }
  return { ...base, finalized: await readRequiredHeader(endpoint, client, candidate, signal), witnesses: 0 }
}

/** Reads a block by number. Throws `UpstreamError` if the endpoint lacks it. */
async function readRequiredHeader(
  endpoint: Endpoint,
  { chain }: ChainClient,
  number: bigint,
  signal: AbortSignal,
): Promise<PinnedBlock> {
  const header = await readHeader(endpoint, { chainId: chain.id, at: number }, signal)
  if (header === undefined) throw new UpstreamError('The endpoint does not have a block that was final')
  return header
}

/** Reads a header from a witness; undefined if it lacks the block, `silent` if it fails or is late. */
export function readHeaderIfAny(
  endpoint: BackgroundEndpoint,
  query: { readonly chainId: number; readonly at: BlockId; readonly clock: Clock },
  signal: AbortSignal,
): Promise<TipClaim> {
  return readOrSilent((within) => readHeader(endpoint, query, within), query.clock, signal)
}

/** Runs a read within `WITNESS_MS`; `silent` if it fails or is late. */
async function readOrSilent<T>(
  read: (within: AbortSignal) => Promise<T>,
  clock: Clock,
  signal: AbortSignal,
): Promise<T | 'silent'> {
  try {
    return await read(AbortSignal.any([signal, clock.timeout(WITNESS_MS)]))
  } catch (error) {
    const isSilence =
      error instanceof UpstreamError || error instanceof RpcRefusedError || error instanceof AbortedError
    if (!isSilence || signal.aborted) throw error
    return 'silent'
  }
}

function getHash(claim: TipClaim): Hex | undefined {
  return isBlock(claim) ? claim.hash : undefined
}

function isBlock(claim: TipClaim): claim is PinnedBlock {
  return claim !== undefined && claim !== 'silent'
}

/** False for the head of a node that has stopped syncing: such a node is no witness. */
function isFresh(
  head: TipClaim,
  { client, nowMs }: { readonly client: ChainClient; readonly nowMs: number },
): head is PinnedBlock {
  if (!isBlock(head)) return false
  try {
    checkBlockAge(head, { chain: client.chain, nowMs })
    return true
  } catch (error) {
    if (error instanceof UpstreamError) return false
    throw error
  }
}

function subtractDepth(number: bigint, depth: bigint): bigint {
  return number > depth ? number - depth : 0n
}

function compareDescending(a: bigint, b: bigint): number {
  return a === b ? 0 : a < b ? 1 : -1
}
