import type { Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import { blockAgeMaxSec, checkBlockAge } from '../chain/block_age.ts'
import { createBlockCache } from '../chain/block_cache.ts'
import type { Chain } from '../chain/chain.ts'
import { type BlockId, readHeader, readLatestBlock } from '../chain/evm/read_block.ts'
import { type ChainClient, type Endpoint, RpcRefusedError } from '../chain/rpc/client.ts'
import { EndpointError } from '../chain/rpc/error.ts'
import { limitWork, type Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { AbortedError, UnavailableError, UpstreamError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { minBigint } from '../lib/number/fixed_point.ts'
import type { Anchor, AnchorState, Coverage, FinalMark } from './coverage.ts'
import { HistoryUnavailableError } from './stream.ts'
import type { Grandparent, Tip } from './tip.ts'

const CHAINS_MAX = 1_000
const STOPPED_RETRY_SEC = 60
const DISPUTED_RETRY_SEC = 15

/** A tip, and the endpoint's block at the anchor's height. */
interface TipRead extends AgreedTip {
  readonly blockAtAnchor: PinnedBlock | undefined
}

/**
 * Tracks the finality of chains by `finalized` tag or by depth, and compares each extension with the anchor. The anchor
 * moves only to a block that two endpoints have, if there are two.
 */
export function createFinalityTracker(options: {
  readonly coverage: Coverage
  readonly clock: Clock
  readonly log: Log
}) {
  const { coverage, clock, log } = options
  const cache = createBlockCache<Tip>({ clock, entriesMax: CHAINS_MAX })
  /** By chain, the epoch and hash of the final block that the anchor last moved to. */
  const comparedKeys = new Map<number, string>()

  async function readAnchoredTip(client: ChainClient, work: Work): Promise<Tip> {
    for (let isRetry = false; ; isRetry = true) {
      const anchorState = await coverage.readAnchorState(client.chain.id)
      const { anchor, epoch } = anchorState
      const tipRead = await readTipPreferringAnchor(client, anchor, work)
      if (anchor === undefined || (tipRead.blockAtAnchor?.hash === anchor.hash && !anchor.isStopped)) {
        return await advanceAnchor(client, tipRead, anchorState)
      }
      if (isRetry || !(await recoverAnchor(client, { tipRead, anchor, epoch }, work)))
        throw disputedError(client, anchor.number)
    }
  }

  /** Prefers an endpoint that has the anchor; an endpoint that lags or is on a fork does not count as failed. */
  async function readTipPreferringAnchor(
    client: ChainClient,
    anchor: Anchor | undefined,
    work: Work,
  ): Promise<TipRead> {
    let hasMismatch = false
    const readMatching = async (endpoint: Endpoint, within: Work) => {
      const tipRead = await readTipWithAnchor(endpoint, { client, anchor }, within)
      if (anchor === undefined || tipRead.blockAtAnchor?.hash === anchor.hash) return tipRead
      hasMismatch = true
      throw new EndpointError('pruned', 'The endpoint does not have the block that history was built on')
    }
    try {
      return await client.read(readMatching, { work })
    } catch (error) {
      if (!hasMismatch || !(error instanceof UnavailableError)) throw error
      return await client.read((endpoint, within) => readTipWithAnchor(endpoint, { client, anchor }, within), {
        work,
      })
    }
  }

  async function readTipWithAnchor(
    endpoint: Endpoint,
    { client, anchor }: { readonly client: ChainClient; readonly anchor: Anchor | undefined },
    work: Work,
  ): Promise<TipRead> {
    const { id: chainId } = client.chain
    const at = anchor === undefined ? undefined : BigInt(anchor.number)
    const [tip, blockAtAnchor] = await Promise.all([
      readAgreedTip(endpoint, { client, clock }, work),
      at === undefined ? undefined : readHeader(endpoint, { chainId, at }, work),
    ])
    return { ...tip, blockAtAnchor }
  }

  /** Returns the tip that history may be built on, and moves the anchor to it. */
  async function advanceAnchor(client: ChainClient, tipRead: TipRead, { anchor, epoch }: AnchorState): Promise<Tip> {
    const { block, grandparent, finalized, witnesses, isDisputed, blockAtAnchor, holders } = tipRead
    const { id } = client.chain
    const isNewer = blockAtAnchor === undefined || finalized.number > blockAtAnchor.number
    // Do not advance the anchor without a second endpoint.
    if (blockAtAnchor !== undefined && (witnesses === 0 || !isNewer)) {
      return { block, grandparent, finalized: blockAtAnchor, holders: holders.slice(0, 1), epoch }
    }
    if (isDisputed) throw disputedError(client, Number(finalized.number))
    const key = `${epoch}:${finalized.hash}`
    if (witnesses > 0 && (anchor === undefined || comparedKeys.get(id) !== key)) {
      await coverage.moveAnchor(id, { ...toFinalMark(finalized), witnesses }, epoch)
      comparedKeys.set(id, key)
    }
    return { block, grandparent, finalized, holders, epoch }
  }

  /** Resumes or rolls back a history whose anchor is not canonical; false if the endpoints differ about the anchor. */
  async function recoverAnchor(
    client: ChainClient,
    { tipRead, anchor, epoch }: { readonly tipRead: TipRead; readonly anchor: Anchor; readonly epoch: number },
    work: Work,
  ): Promise<boolean> {
    const { id } = client.chain
    const verdict = await checkFinalBlock(client, anchor, work)
    if (verdict === 'open') return false
    if (verdict === 'same') {
      if (anchor.isStopped) await coverage.resume(id, epoch)
      return anchor.isStopped
    }
    const { previous } = anchor
    const isPreviousCanonical = previous !== undefined && (await checkFinalBlock(client, previous, work)) === 'same'
    // Two endpoints outrank one; an anchor beyond every chain was never canonical.
    const canReplace = verdict === 'beyond' ? tipRead.witnesses > 0 : tipRead.witnesses > anchor.witnesses
    const newAnchor = isPreviousCanonical
      ? { ...previous, witnesses: 1 }
      : canReplace && { ...toFinalMark(tipRead.finalized), witnesses: tipRead.witnesses }
    if (newAnchor !== false) {
      await coverage.rollBack(id, newAnchor, epoch)
      const msg = "Rolled back a chain's history: a finalized block is no longer canonical"
      log.error({ msg, chainId: id, block: anchor.number, to: newAnchor.number })
      return true
    }
    if (!anchor.isStopped) {
      await coverage.stop(id, anchor)
      log.error({
        msg: "Stopped a chain's history: a final block was replaced. If the chain is correct, rebuild it with `walletscope index --chain … --forget`",
        chainId: id,
        block: anchor.number,
      })
    }
    throw stoppedError(client, anchor)
  }

  return {
    /**
     * Reads the tip of a chain, once per block. Throws `UnavailableError` if no endpoint answers, if the endpoints have
     * different final blocks, or if the chain's history is stopped because a final block was replaced.
     */
    readTip(client: ChainClient, work: Work): Promise<Tip> {
      const read = (shared: Work) => readAnchoredTip(client, shared)
      const tip = cache.reuse({ chain: client.chain, key: 'tip', read, nextTurn: true }, work)
      // A caller that starts the read early may fail before it waits for it.
      tip.catch(() => {})
      return tip
    },
  }
}

function toFinalMark({ number, hash }: PinnedBlock): FinalMark {
  return { number: Number(number), hash }
}

function disputedError({ chain }: ChainClient, number: number): UnavailableError {
  return new UnavailableError(
    `The history of chain ${chain.id} (${chain.name}) cannot go on: its endpoints do not all have the same block ${number}, which is final (check "final block")`,
    { retryAfterSec: DISPUTED_RETRY_SEC },
  )
}

function stoppedError({ chain }: ChainClient, { number }: Anchor): HistoryUnavailableError {
  return new HistoryUnavailableError(
    'stopped',
    `The history of chain ${chain.id} (${chain.name}) is stopped: block ${number} was final and is not part of the chain any more`,
    { retryAfterSec: STOPPED_RETRY_SEC },
  )
}

/**
 * The common verdict of all endpoints on a block that was final: they have it, they have another one, or their chain is
 * shorter. `open`: they differ or are silent.
 */
type MarkVerdict = 'same' | 'replaced' | 'beyond' | 'open'

/** Blocks that a node may lag behind if the chain's block time is unknown. */
const LAG_BLOCKS = 1_000

/** Compares a block that was final with the chain of every usable endpoint. */
export async function checkFinalBlock(client: ChainClient, mark: FinalMark, work: Work): Promise<MarkVerdict> {
  const {
    chain: { id: chainId },
    clock,
  } = client
  const usableEndpoints = client.background.filter(({ usable }) => usable)
  const verdicts = await Promise.all(
    usableEndpoints.map(async (endpoint): Promise<MarkVerdict> => {
      const header = await readHeaderIfAny(endpoint, { chainId, at: BigInt(mark.number), clock }, work)
      if (header === 'silent') return 'open'
      if (header !== undefined) return header.hash === mark.hash ? 'same' : 'replaced'
      const head = await readHeaderIfAny(endpoint, { chainId, at: 'latest', clock }, work)
      const isBeyond =
        head !== undefined && head !== 'silent' && Number(head.number) + computeLagMax(client.chain) < mark.number
      return isBeyond ? 'beyond' : 'open'
    }),
  )
  const [first = 'open', ...otherVerdicts] = verdicts
  if (otherVerdicts.every((each) => each === first)) return first
  // No endpoint has the block; the chains of some are shorter.
  return verdicts.every((each) => each === 'replaced' || each === 'beyond') ? 'replaced' : 'open'
}

/** Maximum number of blocks that a node may lag behind and still count as fresh. */
function computeLagMax(chain: Chain): number {
  const { blockTimeMs } = chain
  return blockTimeMs === undefined ? LAG_BLOCKS : Math.ceil((blockAgeMaxSec(chain) * 1_000) / blockTimeMs)
}

/** The newest block and the newest final block of a chain, read from one endpoint and confirmed by the others. */
interface AgreedTip {
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
 * eight blocks below every head. Throws `UpstreamError` if the endpoint does not answer, or if two other endpoints have
 * another block there.
 */
async function readAgreedTip(
  endpoint: Endpoint,
  { client, clock }: { readonly client: ChainClient; readonly clock: Clock },
  work: Work,
): Promise<AgreedTip> {
  const { chain } = client
  const { finality } = chain
  const otherEndpoints = client.background.filter(({ index, usable }) => usable && index !== endpoint.index)
  const readFromOthers = (at: BlockId) =>
    otherEndpoints.map((other) => readHeaderIfAny(other, { chainId: chain.id, at, clock }, work))
  const nowMs = clock.now()
  const [block, tagged, ...heads] = await Promise.all([
    readLatestBlock(endpoint, chain.id, work),
    'tag' in finality ? readHeader(endpoint, { chainId: chain.id, at: finality.tag }, work) : undefined,
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

  async function confirmFinal(): Promise<Omit<AgreedTip, 'block' | 'grandparent'>> {
    const base = { holders: [endpoint.index], isDisputed: false } as const
    if (freshHeads.length === 0) {
      const finalized =
        tagged?.number === candidate ? tagged : await readRequiredHeader(endpoint, client, candidate, work)
      return { ...base, finalized, witnesses: heads.includes('silent') ? 0 : 1 }
    }
    for (const number of numbers) {
      const [finalized, ...answers] = await Promise.all([
        readRequiredHeader(endpoint, client, number, work),
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
    return { ...base, finalized: await readRequiredHeader(endpoint, client, candidate, work), witnesses: 0 }
  }

  const [confirmed, parent] = await Promise.all([
    confirmFinal(),
    // The end of a history reads its newest blocks by their hashes; what fails here is read again there.
    readHeaderIfAny(endpoint, { chainId: chain.id, at: { hash: block.parentHash }, clock }, work),
  ])
  const grandparent = isBlock(parent) ? { hash: parent.parentHash, holder: endpoint.index } : undefined
  return { block, grandparent, ...confirmed }
}

/** Reads a block by number. Throws `UpstreamError` if the endpoint lacks it. */
async function readRequiredHeader(
  endpoint: Endpoint,
  { chain }: ChainClient,
  number: bigint,
  work: Work,
): Promise<PinnedBlock> {
  const header = await readHeader(endpoint, { chainId: chain.id, at: number }, work)
  if (header === undefined) throw new UpstreamError('The endpoint does not have a block that was final')
  return header
}

/** Reads a header; undefined if the endpoint lacks the block, `silent` if it fails or is late. */
function readHeaderIfAny(
  endpoint: Pick<Endpoint, 'request'>,
  query: { readonly chainId: number; readonly at: BlockId; readonly clock: Clock },
  work: Work,
): Promise<TipClaim> {
  return readOrSilent((within) => readHeader(endpoint, query, within), query.clock, work)
}

/** Runs a read within `WITNESS_MS`; `silent` if it fails or is late. */
async function readOrSilent<T>(read: (within: Work) => Promise<T>, clock: Clock, work: Work): Promise<T | 'silent'> {
  try {
    return await read(limitWork(work, clock.timeout(WITNESS_MS)))
  } catch (error) {
    const isSilence =
      error instanceof UpstreamError || error instanceof RpcRefusedError || error instanceof AbortedError
    if (!isSilence || work.signal.aborted) throw error
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
