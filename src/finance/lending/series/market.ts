import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import type { Agreed } from '../../../chain/past/quorum.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'

/** A market on a chain, as it is named in the database. */
export interface MarketKey {
  readonly chainId: number
  readonly contract: Address
}

/** What a wallet had in a market at a midnight, as the live route would have answered it. */
export interface SnapshotFigures {
  readonly collateralUsd: string
  readonly debtUsd: string
  readonly netWorthUsd: string
  readonly healthFactor: string
}

/** The last block at or before a midnight. */
export interface Midnight {
  /** Whole days since the epoch, of the day that begins. */
  readonly day: number
  readonly block: PinnedBlock
}

/** A market with daily snapshots, and how its family reads it. */
export interface SnapshotMarket extends MarketKey {
  readonly client: ChainClient
  /** No wallet can have moved a token before this day, in whole days since the epoch. */
  readonly firstDayMin: number
  /**
   * What wallets had at a midnight, in their order, as different endpoints agree on it; undefined for a wallet that the
   * market could not value then. Up to 250 wallets are asked about at a time. Throws as `readByQuorum`, `DisputeError`
   * also if the figures of a single endpoint contradict themselves.
   */
  figuresAt(
    midnight: Midnight,
    wallets: readonly Address[],
    signal: AbortSignal,
  ): Promise<Agreed<readonly (SnapshotFigures | undefined)[]>>
  /**
   * Whether each wallet ever had a token movement in the market, up to a past block or the newest one, as different
   * endpoints agree on it. Throws as `readByQuorum`.
   */
  movedBy(
    block: PinnedBlock | undefined,
    wallets: readonly Address[],
    signal: AbortSignal,
  ): Promise<Agreed<readonly boolean[]>>
}
