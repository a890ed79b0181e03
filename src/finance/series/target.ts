import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import type { QuorumResult } from '../../chain/past/quorum.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Work } from '../../lib/async/work.ts'

/** Name in the database of a target of daily snapshots. */
export interface SeriesName {
  readonly chainId: number
  /** The contract of a market, or the hash of all that a portfolio reads. */
  readonly name: Hex
}

/** The last block at or before a midnight. */
export interface Midnight {
  /** The day that starts, in whole days since the epoch. */
  readonly day: number
  readonly block: PinnedBlock
}

/** A market or chain with daily snapshots, and how their figures are read. */
export interface SnapshotTarget<Figures> extends SeriesName {
  readonly client: ChainClient
  /** Most wallets in one reading. */
  readonly walletsMax: number
  /**
   * Reads the figures of wallets at a midnight, in their order, by quorum; undefined for a wallet that could not be
   * valued then. Throws as `readByQuorum`, `ChainUnavailableError` (disputed) also if the figures of a single endpoint
   * contradict themselves.
   */
  readFigures(
    midnight: Midnight,
    wallets: readonly Address[],
    work: Work,
  ): Promise<QuorumResult<readonly (Figures | undefined)[]>>
}
