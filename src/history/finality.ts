import type { PinnedBlock } from '../chain/block.ts'
import { type BlockCache, createBlockCache } from '../chain/block_cache.ts'
import { readHeader, readLatestBlock } from '../chain/read_block.ts'
import type { ChainClient, Endpoint } from '../chain/rpc/client.ts'
import type { Clock } from '../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import { minOf } from '../lib/number/fixed_point.ts'
import type { Anchor, Coverage } from './coverage.ts'

/** The newest block of a chain, and the newest that history may be built on. */
export interface Tip {
  readonly block: PinnedBlock
  readonly finalized: PinnedBlock
}

/** Which blocks are final, and that they stay what they were. */
interface Finality {
  /**
   * Read once per block. Throws `UnavailableError` if no endpoint answers, or if the chain's history is stopped because
   * a block was replaced that had been final.
   */
  tip(client: ChainClient, signal: AbortSignal): Promise<Tip>
}

/** The chain's history was built on a block that the chain does not have any more. */
export class HistoryStoppedError extends UnavailableError {}

/** Nodes behind one address differ by a few blocks; a range of blocks that all of them have cannot come back empty. */
const DEPTH_MIN = 8n
const CHAINS_MAX = 1_000
const STOPPED_RETRY_SEC = 60

/** Follows the finality of chains by their `finalized` tag or by depth, and compares each extension with the anchor. */
export function createFinality(options: {
  readonly coverage: Coverage
  readonly clock: Clock
  readonly log: Log
}): Finality {
  const { coverage, log } = options
  const cache: BlockCache<Tip> = createBlockCache({ clock: options.clock, entriesMax: CHAINS_MAX })
  /** The final block that was compared with the anchor last, by chain. */
  const compared = new Map<number, string>()

  async function readTip(client: ChainClient, signal: AbortSignal): Promise<Tip> {
    const { chain } = client
    const anchor = await coverage.anchor(chain.id)
    if (anchor?.isStopped) throw stopped(client, anchor)
    let isReplaced = false
    const attempt = async (endpoint: Endpoint, within: AbortSignal): Promise<Tip> => {
      const tip = await readTipFrom(endpoint, client, within)
      if (anchor === undefined || compared.get(chain.id) === tip.finalized.hash) return tip
      const number = BigInt(anchor.number)
      const same = number === tip.finalized.number ? tip.finalized : await headerOf(endpoint, client, number, within)
      if (same.hash === anchor.hash) return tip
      isReplaced = true
      throw new UpstreamError('The endpoint has another block where history was final')
    }
    try {
      const tip = await client.read(attempt, { signal })
      const { number, hash } = tip.finalized
      if (compared.get(chain.id) !== hash) await coverage.moveAnchor(chain.id, { number: Number(number), hash })
      compared.set(chain.id, hash)
      return tip
    } catch (error) {
      if (!isReplaced || anchor === undefined || !(await isReplacedEverywhere(client, anchor, signal))) throw error
      await coverage.stop(chain.id, anchor)
      log.error({
        msg: 'Stopped the history of a chain: a final block was replaced. If the chain is right, have its history forgotten by "walletscope index --chain … --forget"',
        chainId: chain.id,
        block: anchor.number,
      })
      throw stopped(client, anchor)
    }
  }

  return {
    tip: (client, signal) =>
      cache.reuse({ chain: client.chain, key: 'tip', read: (shared) => readTip(client, shared) }, signal),
  }
}

async function readTipFrom(endpoint: Endpoint, client: ChainClient, signal: AbortSignal): Promise<Tip> {
  const { id, finality } = client.chain
  const block = await readLatestBlock(endpoint, id, signal)
  const below = (depth: bigint) => (block.number > depth ? block.number - depth : 0n)
  const deep = below(DEPTH_MIN)
  const final =
    'tag' in finality
      ? await readHeader(endpoint, { chainId: id, at: finality.tag }, signal)
      : { number: below(BigInt(finality.depth)) }
  if (final === undefined) throw new UpstreamError('The endpoint does not know which block is final')
  if ('hash' in final && final.number <= deep) return { block, finalized: final }
  return { block, finalized: await headerOf(endpoint, client, minOf(final.number, deep), signal) }
}

async function headerOf(
  endpoint: Endpoint,
  { chain }: ChainClient,
  number: bigint,
  signal: AbortSignal,
): Promise<PinnedBlock> {
  const header = await readHeader(endpoint, { chainId: chain.id, at: number }, signal)
  if (header === undefined) throw new UpstreamError('The endpoint does not have a block that was final')
  return header
}

/** True if every endpoint answers, and with another block than the anchor: one alone may follow a fork. */
async function isReplacedEverywhere(client: ChainClient, anchor: Anchor, signal: AbortSignal): Promise<boolean> {
  const at = BigInt(anchor.number)
  const headers = await Promise.allSettled(
    client.background.map((endpoint) => readHeader(endpoint, { chainId: client.chain.id, at }, signal)),
  )
  return headers.every(
    (each) => each.status === 'fulfilled' && each.value !== undefined && each.value.hash !== anchor.hash,
  )
}

function stopped({ chain }: ChainClient, { number }: Anchor): HistoryStoppedError {
  return new HistoryStoppedError(
    `The history of chain ${chain.id} (${chain.name}) is stopped: block ${number} was final and is not part of the chain any more`,
    { retryAfterSec: STOPPED_RETRY_SEC },
  )
}
