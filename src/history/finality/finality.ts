import type { PinnedBlock } from '../../chain/block.ts'
import { blockAgeMaxSec } from '../../chain/block_age.ts'
import { createBlockCache } from '../../chain/block_cache.ts'
import type { Chain } from '../../chain/chain.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../chain/rpc/client.ts'
import { EndpointPrunedError } from '../../chain/rpc/error.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import type { Anchor, AnchorState, Coverage, FinalMark } from '../coverage.ts'
import type { CandidateTip, ExpectedTip, OnExpectedTip, PendingTip, Tip } from '../tip.ts'
import { type AgreedTip, readAgreedTip, readHeaderIfAny } from './agreed_tip.ts'

/** The chain no longer contains the block that its history was built on. */
export class HistoryStoppedError extends UnavailableError {}

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
  /** By chain, the listeners for the expected tip and the expected tip itself, while the tip is read. */
  const listenersByChain = new Map<number, Set<OnExpectedTip>>()
  const expectedTips = new Map<number, ExpectedTip>()

  async function readTip(client: ChainClient, signal: AbortSignal): Promise<Tip> {
    for (let isRetry = false; ; isRetry = true) {
      const anchorState = await coverage.readAnchorState(client.chain.id)
      const { anchor, epoch } = anchorState
      const tipRead = await readTipPreferringAnchor(client, anchor, signal)
      if (anchor === undefined || (tipRead.blockAtAnchor?.hash === anchor.hash && !anchor.isStopped)) {
        return await advanceAnchor(client, tipRead, anchorState)
      }
      if (isRetry || !(await recoverAnchor(client, { tipRead, anchor, epoch }, signal)))
        throw disputedError(client, anchor.number)
    }
  }

  /** Prefers an endpoint that has the anchor; an endpoint that lags or is on a fork does not count as failed. */
  async function readTipPreferringAnchor(
    client: ChainClient,
    anchor: Anchor | undefined,
    signal: AbortSignal,
  ): Promise<TipRead> {
    let hasMismatch = false
    const readMatching = async (endpoint: Endpoint, within: AbortSignal) => {
      const tipRead = await readTipWithAnchor(endpoint, { client, anchor }, within)
      if (anchor === undefined || tipRead.blockAtAnchor?.hash === anchor.hash) return tipRead
      hasMismatch = true
      throw new EndpointPrunedError('The endpoint does not have the block that history was built on')
    }
    try {
      return await client.read(readMatching, { signal })
    } catch (error) {
      if (!hasMismatch || !(error instanceof UnavailableError)) throw error
      return await client.read((endpoint, within) => readTipWithAnchor(endpoint, { client, anchor }, within), {
        signal,
      })
    }
  }

  async function readTipWithAnchor(
    endpoint: Endpoint,
    { client, anchor }: { readonly client: ChainClient; readonly anchor: Anchor | undefined },
    signal: AbortSignal,
  ): Promise<TipRead> {
    const { id: chainId } = client.chain
    const at = anchor === undefined ? undefined : BigInt(anchor.number)
    const onCandidate = ({ finalNumber, ...newest }: CandidateTip) => {
      const tip = { ...newest, finalized: { number: at === undefined || finalNumber > at ? finalNumber : at } }
      expectedTips.set(chainId, tip)
      for (const onExpected of listenersByChain.get(chainId) ?? []) onExpected(tip)
    }
    const [tip, blockAtAnchor] = await Promise.all([
      readAgreedTip(endpoint, { client, clock, onCandidate }, signal),
      at === undefined ? undefined : readHeader(endpoint, { chainId, at }, signal),
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
    signal: AbortSignal,
  ): Promise<boolean> {
    const { id } = client.chain
    const verdict = await checkFinalBlock(client, anchor, signal)
    if (verdict === 'open') return false
    if (verdict === 'same') {
      if (anchor.isStopped) await coverage.resume(id, epoch)
      return anchor.isStopped
    }
    const { previous } = anchor
    const isPreviousCanonical = previous !== undefined && (await checkFinalBlock(client, previous, signal)) === 'same'
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
    /** Starts to read the tip of a chain, once per block. */
    startTip(client: ChainClient, signal: AbortSignal): PendingTip {
      const { chain } = client
      const listeners = listenersByChain.get(chain.id) ?? new Set()
      listenersByChain.set(chain.id, listeners)
      const read = (shared: AbortSignal) => readTip(client, shared).finally(() => expectedTips.delete(chain.id))
      const tipPromise = cache.reuse({ chain, key: 'tip', read, nextTurn: true }, signal)
      tipPromise.catch(() => {})
      return {
        async waitForTip(onExpected = () => {}) {
          listeners.add(onExpected)
          const expectedTip = expectedTips.get(chain.id)
          if (expectedTip !== undefined) onExpected(expectedTip)
          try {
            return await tipPromise
          } finally {
            listeners.delete(onExpected)
          }
        },
      }
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

function stoppedError({ chain }: ChainClient, { number }: Anchor): HistoryStoppedError {
  return new HistoryStoppedError(
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
export async function checkFinalBlock(client: ChainClient, mark: FinalMark, signal: AbortSignal): Promise<MarkVerdict> {
  const {
    chain: { id: chainId },
    clock,
  } = client
  const usableEndpoints = client.background.filter(({ usable }) => usable)
  const verdicts = await Promise.all(
    usableEndpoints.map(async (endpoint): Promise<MarkVerdict> => {
      const header = await readHeaderIfAny(endpoint, { chainId, at: BigInt(mark.number), clock }, signal)
      if (header === 'silent') return 'open'
      if (header !== undefined) return header.hash === mark.hash ? 'same' : 'replaced'
      const head = await readHeaderIfAny(endpoint, { chainId, at: 'latest', clock }, signal)
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
