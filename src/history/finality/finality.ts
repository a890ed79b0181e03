import type { PinnedBlock } from '../../chain/block.ts'
import { createBlockCache } from '../../chain/block_cache.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../chain/rpc/client.ts'
import { EndpointPrunedError } from '../../chain/rpc/error.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import type { Anchor, AnchorState, Coverage, FinalMark } from '../coverage.ts'
import type { CandidateTip, ExpectedTip, OnExpectedTip, PendingTip, Tip } from '../tip.ts'
import { type AgreedTip, readAgreedTip } from './agreed_tip.ts'
import { checkFinalBlock } from './anchor_check.ts'

/** The chain's history was built on a block that the chain does not have any more. */
export class HistoryStoppedError extends UnavailableError {}

const CHAINS_MAX = 1_000
const STOPPED_RETRY_SEC = 60
const DISPUTED_RETRY_SEC = 15

/** A tip, and what its endpoint has where the anchor is. */
interface TipRead extends AgreedTip {
  readonly anchored: PinnedBlock | undefined
}

/**
 * Follows the finality of chains by their `finalized` tag or by depth, and compares each extension with the anchor: the
 * last final block that history was built on. It moves only to a block that two endpoints have, if there are two.
 */
export function createFinalityTracker(options: {
  readonly coverage: Coverage
  readonly clock: Clock
  readonly log: Log
}) {
  const { coverage, clock, log } = options
  const cache = createBlockCache<Tip>({ clock, entriesMax: CHAINS_MAX })
  /** The final block that was compared with the anchor last, and in which epoch, by chain. */
  const compared = new Map<number, string>()
  /** Who waits for the tip of a chain, and what it will probably be, while it is read. */
  const waiting = new Map<number, Set<OnExpectedTip>>()
  const expected = new Map<number, ExpectedTip>()

  async function readTip(client: ChainClient, signal: AbortSignal): Promise<Tip> {
    for (let isAgain = false; ; isAgain = true) {
      const ground = await coverage.ground(client.chain.id)
      const { anchor, epoch } = ground
      const seen = await readSeen(client, anchor, signal)
      if (anchor === undefined || (seen.anchored?.hash === anchor.hash && !anchor.isStopped)) {
        return await settled(client, seen, ground)
      }
      if (isAgain || !(await tookBack(client, { seen, anchor, epoch }, signal))) throw disputed(client, anchor.number)
    }
  }

  /** From an endpoint that has the anchor, if any has; one that is behind or on a fork is not blamed. */
  async function readSeen(client: ChainClient, anchor: Anchor | undefined, signal: AbortSignal): Promise<TipRead> {
    let isElsewhere = false
    const strict = async (endpoint: Endpoint, within: AbortSignal) => {
      const seen = await see(endpoint, { client, anchor }, within)
      if (anchor === undefined || seen.anchored?.hash === anchor.hash) return seen
      isElsewhere = true
      throw new EndpointPrunedError('The endpoint does not have the block that history was built on')
    }
    try {
      return await client.read(strict, { signal })
    } catch (error) {
      if (!isElsewhere || !(error instanceof UnavailableError)) throw error
      return await client.read((endpoint, within) => see(endpoint, { client, anchor }, within), { signal })
    }
  }

  async function see(
    endpoint: Endpoint,
    { client, anchor }: { readonly client: ChainClient; readonly anchor: Anchor | undefined },
    signal: AbortSignal,
  ): Promise<TipRead> {
    const { id: chainId } = client.chain
    const at = anchor === undefined ? undefined : BigInt(anchor.number)
    const inSight = ({ finalNumber, ...newest }: CandidateTip) => {
      const tip = { ...newest, finalized: { number: at === undefined || finalNumber > at ? finalNumber : at } }
      expected.set(chainId, tip)
      for (const expect of waiting.get(chainId) ?? []) expect(tip)
    }
    const [tip, anchored] = await Promise.all([
      readAgreedTip(endpoint, { client, clock, inSight }, signal),
      at === undefined ? undefined : readHeader(endpoint, { chainId, at }, signal),
    ])
    return { ...tip, anchored }
  }

  /** The tip that history may be built on; the anchor follows it. */
  async function settled(client: ChainClient, seen: TipRead, { anchor, epoch }: AnchorState): Promise<Tip> {
    const { block, grandparent, finalized, witnesses, isDisputed, anchored, holders } = seen
    const { id } = client.chain
    const isNewer = anchored === undefined || finalized.number > anchored.number
    // What nobody else confirms is not built on; what was confirmed before stays.
    if (anchored !== undefined && (witnesses === 0 || !isNewer)) {
      return { block, grandparent, finalized: anchored, holders: holders.slice(0, 1), epoch }
    }
    if (isDisputed) throw disputed(client, Number(finalized.number))
    const key = `${epoch}:${finalized.hash}`
    if (witnesses > 0 && (anchor === undefined || compared.get(id) !== key)) {
      await coverage.moveAnchor(id, { ...markOf(finalized), witnesses }, epoch)
      compared.set(id, key)
    }
    return { block, grandparent, finalized, holders, epoch }
  }

  /** True if the history now stands on another anchor; false if the endpoints do not agree about this one. */
  async function tookBack(
    client: ChainClient,
    { seen, anchor, epoch }: { readonly seen: TipRead; readonly anchor: Anchor; readonly epoch: number },
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
    const isHeld = previous !== undefined && (await checkFinalBlock(client, previous, signal)) === 'same'
    // One endpoint's word gives way to that of two, and nothing was ever built on a block that the chain has not got to.
    const mayYield = verdict === 'beyond' ? seen.witnesses > 0 : seen.witnesses > anchor.witnesses
    const to = isHeld
      ? { ...previous, witnesses: 1 }
      : mayYield && { ...markOf(seen.finalized), witnesses: seen.witnesses }
    if (to !== false) {
      await coverage.fallBack(id, to, epoch)
      const msg = 'Took the history of a chain back: a block that had been final is not part of it'
      log.error({ msg, chainId: id, block: anchor.number, to: to.number })
      return true
    }
    if (!anchor.isStopped) {
      await coverage.stop(id, anchor)
      log.error({
        msg: 'Stopped the history of a chain: a final block was replaced. If the chain is right, have its history forgotten by "walletscope index --chain … --forget"',
        chainId: id,
        block: anchor.number,
      })
    }
    throw stopped(client, anchor)
  }

  return {
    /** Begins to read the tip of a chain, once per block. */
    beginTip(client: ChainClient, signal: AbortSignal): PendingTip {
      const { chain } = client
      const others = waiting.get(chain.id) ?? new Set()
      waiting.set(chain.id, others)
      const read = (shared: AbortSignal) => readTip(client, shared).finally(() => expected.delete(chain.id))
      const reading = cache.reuse({ chain, key: 'tip', read, nextTurn: true }, signal)
      reading.catch(() => {})
      return {
        async tip(expect = () => {}) {
          others.add(expect)
          const known = expected.get(chain.id)
          if (known !== undefined) expect(known)
          try {
            return await reading
          } finally {
            others.delete(expect)
          }
        },
      }
    },
  }
}

function markOf({ number, hash }: PinnedBlock): FinalMark {
  return { number: Number(number), hash }
}

function disputed({ chain }: ChainClient, number: number): UnavailableError {
  return new UnavailableError(
    `The history of chain ${chain.id} (${chain.name}) cannot go on: its endpoints do not all have the same block ${number}, which is final (check "final block")`,
    { retryAfterSec: DISPUTED_RETRY_SEC },
  )
}

function stopped({ chain }: ChainClient, { number }: Anchor): HistoryStoppedError {
  return new HistoryStoppedError(
    `The history of chain ${chain.id} (${chain.name}) is stopped: block ${number} was final and is not part of the chain any more`,
    { retryAfterSec: STOPPED_RETRY_SEC },
  )
}
