import type { Address } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import type { Fresh } from '../../chain/block_cache.ts'
import { createMoments, momentRefused } from '../../family/past.ts'
import { isNow, type Moment } from '../../family/place.ts'
import type { FinanceClient } from '../../finance/chain.ts'
import { together } from '../../lib/async/together.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, PendingError, UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { AssetReader, ChainAssets } from './read_chain.ts'

/** Whose portfolio is asked for, where and when. */
export interface WalletQuestion extends Moment {
  readonly wallet: Address
  /** Absent: every chain that is served. */
  readonly chain_id?: number | undefined
  readonly tokens?: readonly Address[] | undefined
  /** True to leave out chains that cannot be read. */
  readonly allow_partial: boolean
}

/** What was read of a wallet. */
export interface WalletAssets {
  readonly reads: readonly Fresh<ChainAssets>[]
  /** Chains that were left out, with the reason; by id, ascending. */
  readonly unread: readonly { readonly chainId: number; readonly because: string }[]
}

/** Reads the assets of a wallet on one chain or on all. */
export interface WalletReader {
  /**
   * Throws `UpstreamError` if a chain cannot be read and may not be left out, naming the parameters that leave it out;
   * `PendingError` until what a family holds is known; `CodedError` INVALID_PARAMETER for a moment that no chain has and
   * for a wallet with too many positions.
   */
  read(question: WalletQuestion, signal: AbortSignal): Promise<WalletAssets>
}

/** Makes it over clients by chain id. */
export function createWalletReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly reader: AssetReader
  readonly clock: Clock
}): WalletReader {
  const { clients, reader, clock } = options
  const moments = createMoments(clock)

  /** The block of the moment, or what is wrong with the moment on this chain. */
  async function blockOf(client: FinanceClient, moment: Moment, signal: AbortSignal): Promise<PinnedBlock | string> {
    const block = await moments.blockAt(client, moment, signal)
    // A lens asks for the block before.
    if (typeof block === 'object' && block.number === 0n) return 'expected a later block than the first'
    return block
  }

  async function readOne(client: FinanceClient, question: WalletQuestion, signal: AbortSignal): Promise<ChainRead> {
    const { wallet, tokens = [] } = question
    const chainId = client.chain.id
    try {
      if (isNow(question)) return { read: await reader.read({ client, wallet, tokens }, signal) }
      const block = await blockOf(client, question, signal)
      if (typeof block === 'string') return { refused: block }
      return { read: await reader.read({ client, wallet, tokens, block }, signal) }
    } catch (error) {
      const isUnread = error instanceof UnavailableError || error instanceof UpstreamError
      if (!isUnread || signal.aborted) throw error
      if (question.allow_partial) return { unread: { chainId, because: error.message } }
      throw error instanceof PendingError ? error : unreadable(error, question)
    }
  }

  return {
    async read(question, signal) {
      const { chain_id } = question
      const chosen = [...clients.values()].filter(({ chain }) => chain_id === undefined || chain.id === chain_id)
      if (chosen.length === 0) throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No EVM chain is configured')
      const tasks = chosen.map((client) => (shared: AbortSignal) => readOne(client, question, shared))
      const found = await together(tasks, signal)
      const reads = found.flatMap((each) => ('read' in each ? each.read : []))
      const unread = found.flatMap((each) => ('unread' in each ? each.unread : []))
      const [refused] = found.flatMap((each) => ('refused' in each ? each.refused : []))
      if (reads.length + unread.length === 0 && refused !== undefined) throw momentRefused(question, refused)
      return { reads, unread: unread.sort((a, b) => a.chainId - b.chainId) }
    },
  }
}

/** What became of one chain; the moment may not be one of it. */
type ChainRead =
  | { readonly read: Fresh<ChainAssets> }
  | { readonly unread: WalletAssets['unread'][number] }
  | { readonly refused: string }

function unreadable(error: Error, { chain_id }: WalletQuestion): UpstreamError {
  const named = chain_id === undefined ? 'the "chain_id" parameter, or "allow_partial"' : '"allow_partial"'
  return new UpstreamError(`${error.message}: leave it out with ${named}, or try again`, { cause: error })
}
