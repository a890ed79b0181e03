import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import type { QuorumResult } from '../../../chain/past/quorum.ts'
import type { SnapshotSeries } from '../../../finance/series/series.ts'
import type { SnapshotTarget } from '../../../finance/series/store.ts'
import type { Work } from '../../../lib/async/work.ts'

/** Figures of a wallet in a market at a midnight, as the live route formats them. */
export interface SnapshotFigures {
  readonly collateralUsd: string
  readonly debtUsd: string
  readonly netWorthUsd: string
  readonly healthFactor: string
}

/** Completes the series of lending markets. */
export type LendingSeries = SnapshotSeries<SnapshotFigures, SnapshotMarket>

/** A market with daily snapshots, and how its family reads it. */
export interface SnapshotMarket extends SnapshotTarget<SnapshotFigures> {
  /** No wallet can have moved a token before this day, in whole days since the epoch. */
  readonly firstDayMin: number
  /**
   * Reads whether each wallet ever had a token movement in the market, up to a past block or the newest one, by quorum.
   * Throws as `readByQuorum`.
   */
  readMovements(
    block: PinnedBlock | undefined,
    wallets: readonly Address[],
    work: Work,
  ): Promise<QuorumResult<readonly boolean[]>>
}
