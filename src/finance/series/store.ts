import type { Address, Hex } from 'viem'
import { snapshotSeriesStore } from '../../../sql/functions.ts'
import {
  snapshotSeriesClaim,
  snapshotSeriesDone,
  snapshotSeriesFind,
  snapshotSeriesLeased,
  snapshotSeriesRelease,
} from '../../../sql/queries.ts'
import type { PinnedBlock } from '../../chain/block.ts'
import type { QuorumResult } from '../../chain/past/quorum.ts'
import type { ChainClient } from '../../chain/rpc/client.ts'
import type { Database } from '../../db/database.ts'
import { toHexDigits } from '../../history/stored_part.ts'
import type { Work } from '../../lib/async/work.ts'

/** Name in the database of a target of daily snapshots. */
interface SeriesName {
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

/** Figures of a day; undefined if they could not be computed for that midnight. */
export interface StoredSnapshot<Figures> {
  /** Whole days since the epoch, of the day that the midnight begins. */
  readonly day: number
  readonly figures: Figures | undefined
  /** Number of different endpoints that returned them. */
  readonly witnesses: number
}

/** The first day with a snapshot of a wallet, and the number of different endpoints that returned it. */
export type FirstDay = Omit<StoredSnapshot<unknown>, 'figures'>

/** The table of the figures. */
export interface SnapshotTable<Figures> {
  /** Lists at most the newest `max`, oldest first. */
  list(seriesName: SeriesName, wallet: Address, max: number): Promise<StoredSnapshot<Figures>[]>
  /**
   * Stores snapshots that are missing or came from fewer endpoints. Stores nothing and returns false if the block is no
   * longer that of the midnight.
   */
  save(
    seriesName: SeriesName,
    midnight: Midnight & { readonly witnesses: number },
    rows: readonly { readonly wallet: Address; readonly figures: Figures | undefined }[],
  ): Promise<boolean>
}

/** Snapshots and followed wallets in the database. */
export type SnapshotStore<Figures> = ReturnType<typeof createSnapshotStore<Figures>>

/** Creates a store over the database and the table of its figures; `holder` names this process in leases. */
export function createSnapshotStore<Figures>(
  db: Database,
  { holder, table }: { readonly holder: string; readonly table: SnapshotTable<Figures> },
) {
  const seriesParams = ({ chainId, name }: SeriesName) => ({ chainId, name: toHexDigits(name) })
  return {
    ...table,
    /** Finds a wallet's series; undefined if the wallet was never requested. `first` is undefined until it is known. */
    async findSeries(
      seriesName: SeriesName,
      wallet: Address,
    ): Promise<{ readonly first: FirstDay | undefined } | undefined> {
      const [row] = await snapshotSeriesFind(db, { ...seriesParams(seriesName), wallet: toHexDigits(wallet) })
      if (row === undefined) return undefined
      const { first_day: day, witnesses } = row
      return { first: day === null ? undefined : { day, witnesses } }
    },
    /** Follows a wallet. A first day with more witnesses replaces the stored one and removes snapshots before it. */
    async follow(seriesName: SeriesName, wallet: Address, first: FirstDay | undefined): Promise<void> {
      const { day: firstDay = null, witnesses = 1 } = first ?? {}
      await snapshotSeriesStore(db, { ...seriesParams(seriesName), wallet: toHexDigits(wallet), firstDay, witnesses })
    },
    /** Leases wallets whose snapshot of the day is due to this process; none while snapshots are switched off. */
    async claim(
      seriesName: SeriesName,
      { day, leaseSec, max }: { readonly day: number; readonly leaseSec: number; readonly max: number },
    ): Promise<Address[]> {
      const rows = await snapshotSeriesClaim(db, { ...seriesParams(seriesName), day, holder, sec: leaseSec, max })
      return rows.map(({ wallet }): Hex => `0x${wallet}`)
    },
    /** Gives back claimed wallets whose snapshot could not be taken. */
    async release(seriesName: SeriesName, wallets: readonly Address[]): Promise<void> {
      await snapshotSeriesRelease(db, { ...seriesParams(seriesName), wallets: wallets.map(toHexDigits), holder })
    },
    /** Milliseconds until the first lease ends on a wallet whose snapshot of the day is due; undefined if none is. */
    async findLeaseEnd(seriesName: SeriesName, day: number): Promise<number | undefined> {
      const [row] = await snapshotSeriesLeased(db, { ...seriesParams(seriesName), day })
      return row?.ms
    },
    async markDone(seriesName: SeriesName, day: number, wallets: readonly Address[]): Promise<void> {
      await snapshotSeriesDone(db, { ...seriesParams(seriesName), wallets: wallets.map(toHexDigits), holder, day })
    },
  }
}
