import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import type { QuorumResult } from '../../chain/past/quorum.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'

/** What daily snapshots are taken of, as it is named in the database. */
export interface SeriesName {
  readonly chainId: number
  /** The contract of a market, or the hash of all that a portfolio asks for. */
  readonly name: Hex
}

/** The last block at or before a midnight. */
export interface Midnight {
  /** Whole days since the epoch, of the day that begins. */
  readonly day: number
  readonly block: PinnedBlock
}

/** Where wallets have daily snapshots, and how their figures are read. */
export interface SnapshotTarget<Figures> extends SeriesName {
  readonly client: ChainClient
  /** Most wallets in one reading, which fails for all of them if it fails for one. */
  readonly walletsMax: number
  /**
   * What wallets had at a midnight, in their order, as different endpoints agree on it; undefined for a wallet that could
   * not be valued then. Throws as `readByQuorum`, `DisputeError` also if
   * the figures of a single endpoint contradict themselves.
   */
  figuresAt(
    midnight: Midnight,
    wallets: readonly Address[],
    signal: AbortSignal,
  ): Promise<QuorumResult<readonly (Figures | undefined)[]>>
}
