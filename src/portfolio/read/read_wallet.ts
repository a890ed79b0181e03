import type { Address } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import type { WithExpiry } from '../../chain/block_cache.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { createBlockResolver, isNow, type Moment, momentError, toClientAt } from '../../family/moment.ts'
import type { FinanceClient } from '../../finance/chain.ts'
import { allOrAbort } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, PendingError, UnavailableError, UpstreamError } from '../../lib/error.ts'
import type { AssetsRead } from '../sum/row.ts'
import type { AccountAssetReader } from './read_accounts.ts'
import type { AssetReader } from './read_chain.ts'

/** The wallet, chains and moment of a portfolio. */
export interface PortfolioQuery extends Moment {
  /** An EVM address, checksummed, or a Solana address. */
  readonly wallet: string
  /** Absent for every served chain that has such addresses. */
  readonly chain_id?: number | undefined
  readonly tokens?: readonly Address[] | undefined
  /** True to leave out chains that cannot be read. */
  readonly allow_partial: boolean
}

/** The reads of a wallet's chains. */
export interface WalletAssets {
  readonly reads: readonly WithExpiry<AssetsRead>[]
  /** Omitted chains with the reason; by id, ascending. */
  readonly unread: readonly { readonly chainId: number; readonly because: string }[]
}

/** Reads the assets of a wallet on one chain or on all. */
export interface WalletReader {
  /**
   * Throws `UpstreamError` if a chain cannot be read and must not be omitted, naming the parameters that omit it;
   * `PendingError` while a family's history is incomplete; `CodedError` INVALID_PARAMETER for a moment that no chain
   * has and for a wallet with too many positions, API_ENDPOINT_NOT_CONFIGURED if no served chain has such addresses.
   */
  read(query: PortfolioQuery, work: Work): Promise<WalletAssets>
}

/** Creates a wallet reader over clients by chain id. */
export function createWalletReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly reader: AssetReader
  /** Absent if Solana is not served. */
  readonly solana: AccountAssetReader | undefined
  readonly clock: Clock
}): WalletReader {
  const { clients, reader, solana, clock } = options
  const moments = createBlockResolver(clock)

  /** Resolves the block of a moment, or explains why the moment is invalid on this chain. */
  async function resolveBlock(client: FinanceClient, moment: Moment, work: Work): Promise<PinnedBlock | string> {
    const block = await moments.resolveBlock(client, moment, work)
    // The lens reads the previous block.
    if (typeof block === 'object' && block.number === 0n) return 'expected a later block than the first'
    return block
  }

  async function readOne(client: FinanceClient, query: EvmPortfolioQuery, work: Work): Promise<ChainRead> {
    const { wallet, tokens = [] } = query
    if (isNow(query)) return { read: await reader.read({ client, wallet, tokens }, work) }
    const block = await resolveBlock(client, query, work)
    if (typeof block === 'string') return { refused: block }
    return { read: await reader.read({ client: toClientAt(client, query), wallet, tokens, block }, work) }
  }

  /** Creates a task for each chain that the wallet may be on. */
  function createTasks(query: PortfolioQuery): ChainTask[] {
    const { wallet, chain_id } = query
    if (!isEvmWallet(wallet)) {
      if (solana === undefined) throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No Solana endpoint is configured')
      return [{ chainId: SOLANA_CHAIN_ID, read: async (work) => ({ read: await solana.read(wallet, work) }) }]
    }
    const chosenClients = [...clients.values()].filter(({ chain }) => chain_id === undefined || chain.id === chain_id)
    if (chosenClients.length === 0) throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No EVM chain is configured')
    return chosenClients.map((client) => ({
      chainId: client.chain.id,
      read: (work) => readOne(client, { ...query, wallet }, work),
    }))
  }

  async function readOrOmit(
    { chainId, read }: ChainTask,
    { query, isOnlyChain }: { readonly query: PortfolioQuery; readonly isOnlyChain: boolean },
    work: Work,
  ): Promise<ChainRead> {
    try {
      return await read(work)
    } catch (error) {
      const isUnread = error instanceof UnavailableError || error instanceof UpstreamError
      if (!isUnread || work.signal.aborted) throw error
      if (query.allow_partial) return { unread: { chainId, because: error.message } }
      throw error instanceof PendingError ? error : unreadableChainError(error, { isOnlyChain })
    }
  }

  return {
    async read(query, work) {
      const tasks = createTasks(query)
      const options = { query, isOnlyChain: tasks.length === 1 }
      const results = await allOrAbort(
        tasks.map((task) => (shared) => readOrOmit(task, options, shared)),
        work,
      )
      const reads = results.flatMap((each) => ('read' in each ? each.read : []))
      const unread = results.flatMap((each) => ('unread' in each ? each.unread : []))
      const [refused] = results.flatMap((each) => ('refused' in each ? each.refused : []))
      if (reads.length + unread.length === 0 && refused !== undefined) throw momentError(query, refused)
      return { reads, unread: unread.sort((a, b) => a.chainId - b.chainId) }
    },
  }
}

type EvmPortfolioQuery = PortfolioQuery & { readonly wallet: Address }

/** Base58 addresses contain no `0`. */
function isEvmWallet(wallet: string): wallet is Address {
  return wallet.startsWith('0x')
}

/** The read of one chain. */
interface ChainTask {
  readonly chainId: number
  readonly read: (work: Work) => Promise<ChainRead>
}

/** Outcome of one chain; `refused` if the moment is invalid there. */
type ChainRead =
  | { readonly read: WithExpiry<AssetsRead> }
  | { readonly unread: WalletAssets['unread'][number] }
  | { readonly refused: string }

/** Without the only chain that was asked there is no answer: nothing is advised then. */
function unreadableChainError(error: Error, { isOnlyChain }: { readonly isOnlyChain: boolean }): UpstreamError {
  const advice = isOnlyChain ? '' : ': leave it out with the "chain_id" parameter or "allow_partial", or try again'
  return new UpstreamError(`${error.message}${advice}`, { cause: error })
}
