import type { Address } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import type { WithExpiry } from '../../chain/block_cache.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { createBlockResolver, momentError } from '../../family/historical_targets.ts'
import { isNow, type Moment } from '../../family/target.ts'
import type { FinanceClient } from '../../finance/chain.ts'
import { allOrAbort } from '../../lib/async/all_or_abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, PendingError, UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { AccountAssetReader } from '../solana/read_accounts.ts'
import type { AssetsRead } from '../sum/row.ts'
import type { AssetReader } from './read_chain.ts'

/** Whose portfolio is asked for, where and when. */
export interface PortfolioQuery extends Moment {
  /** An EVM address, checksummed, or one of Solana. */
  readonly wallet: string
  /** Absent: every chain that is served and has such addresses. */
  readonly chain_id?: number | undefined
  readonly tokens?: readonly Address[] | undefined
  /** True to leave out chains that cannot be read. */
  readonly allow_partial: boolean
}

/** What was read of a wallet. */
export interface WalletAssets {
  readonly reads: readonly WithExpiry<AssetsRead>[]
  /** Chains that were left out, with the reason; by id, ascending. */
  readonly unread: readonly { readonly chainId: number; readonly because: string }[]
}

/** Reads the assets of a wallet on one chain or on all. */
export interface WalletReader {
  /**
   * Throws `UpstreamError` if a chain cannot be read and may not be left out, naming the parameters that leave it out;
   * `PendingError` until what a family holds is known; `CodedError` INVALID_PARAMETER for a moment that no chain has and
   * for a wallet with too many positions, API_ENDPOINT_NOT_CONFIGURED if no chain has such addresses.
   */
  read(question: PortfolioQuery, signal: AbortSignal): Promise<WalletAssets>
}

/** Makes it over clients by chain id. */
export function createWalletReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly reader: AssetReader
  /** Absent if Solana is not served. */
  readonly solana: AccountAssetReader | undefined
  readonly clock: Clock
}): WalletReader {
  const { clients, reader, solana, clock } = options
  const moments = createBlockResolver(clock)

  /** The block of the moment, or what is wrong with the moment on this chain. */
  async function blockOf(client: FinanceClient, moment: Moment, signal: AbortSignal): Promise<PinnedBlock | string> {
    const block = await moments.blockAt(client, moment, signal)
    // A lens asks for the block before.
    if (typeof block === 'object' && block.number === 0n) return 'expected a later block than the first'
    return block
  }

  async function readOne(client: FinanceClient, question: EvmQuestion, signal: AbortSignal): Promise<ChainRead> {
    const { wallet, tokens = [] } = question
    if (isNow(question)) return { read: await reader.read({ client, wallet, tokens }, signal) }
    const block = await blockOf(client, question, signal)
    if (typeof block === 'string') return { refused: block }
    return { read: await reader.read({ client, wallet, tokens, block }, signal) }
  }

  /** What reads each chain that the wallet may be on. */
  function tasksFor(question: PortfolioQuery): ChainTask[] {
    const { wallet, chain_id } = question
    if (!isEvmWallet(wallet)) {
      if (solana === undefined) throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No Solana endpoint is configured')
      return [{ chainId: SOLANA_CHAIN_ID, read: async (signal) => ({ read: await solana.read(wallet, signal) }) }]
    }
    const chosen = [...clients.values()].filter(({ chain }) => chain_id === undefined || chain.id === chain_id)
    if (chosen.length === 0) throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No EVM chain is configured')
    return chosen.map((client) => ({
      chainId: client.chain.id,
      read: (signal) => readOne(client, { ...question, wallet }, signal),
    }))
  }

  async function readOrLeaveOut(
    { chainId, read }: ChainTask,
    question: PortfolioQuery,
    signal: AbortSignal,
  ): Promise<ChainRead> {
    try {
      return await read(signal)
    } catch (error) {
      const isUnread = error instanceof UnavailableError || error instanceof UpstreamError
      if (!isUnread || signal.aborted) throw error
      if (question.allow_partial) return { unread: { chainId, because: error.message } }
      // Without Solana nothing is left of such a wallet.
      const isAlone = !isEvmWallet(question.wallet)
      throw error instanceof PendingError || isAlone ? error : unreadable(error, question)
    }
  }

  return {
    async read(question, signal) {
      const tasks = tasksFor(question).map((task) => (shared: AbortSignal) => readOrLeaveOut(task, question, shared))
      const found = await allOrAbort(tasks, signal)
      const reads = found.flatMap((each) => ('read' in each ? each.read : []))
      const unread = found.flatMap((each) => ('unread' in each ? each.unread : []))
      const [refused] = found.flatMap((each) => ('refused' in each ? each.refused : []))
      if (reads.length + unread.length === 0 && refused !== undefined) throw momentError(question, refused)
      return { reads, unread: unread.sort((a, b) => a.chainId - b.chainId) }
    },
  }
}

type EvmQuestion = PortfolioQuery & { readonly wallet: Address }

/** No base58 address has a zero in it. */
function isEvmWallet(wallet: string): wallet is Address {
  return wallet.startsWith('0x')
}

/** Reads one chain. */
interface ChainTask {
  readonly chainId: number
  readonly read: (signal: AbortSignal) => Promise<ChainRead>
}

/** What became of one chain; the moment may not be one of it. */
type ChainRead =
  | { readonly read: WithExpiry<AssetsRead> }
  | { readonly unread: WalletAssets['unread'][number] }
  | { readonly refused: string }

function unreadable(error: Error, { chain_id }: PortfolioQuery): UpstreamError {
  const named = chain_id === undefined ? 'the "chain_id" parameter, or "allow_partial"' : '"allow_partial"'
  return new UpstreamError(`${error.message}: leave it out with ${named}, or try again`, { cause: error })
}
