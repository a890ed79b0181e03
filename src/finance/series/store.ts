import type { Address, Hex } from 'viem'
import { snapshotSeriesStore } from '../../../sql/functions.ts'
import { snapshotSeriesClaim, snapshotSeriesDone, snapshotSeriesFind } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import { toHexDigits } from '../../history/stored_part.ts'
import type { Midnight, SeriesName } from './target.ts'

/** Figures of a day; undefined if they could not be told for that midnight. */
export interface StoredSnapshot<Figures> {
  /** Whole days since the epoch, of the day that the midnight begins. */
  readonly day: number
  readonly figures: Figures | undefined
  /** How many different endpoints gave them. */
  readonly witnesses: number
}

/** The first day with a snapshot of a wallet, and how many different endpoints gave it. */
export type FirstDay = Omit<StoredSnapshot<unknown>, 'figures'>

/** The table that has the figures. */
export interface SnapshotTable<Figures> {
  /** At most the newest `max`, oldest first. */
  list(named: SeriesName, wallet: Address, max: number): Promise<StoredSnapshot<Figures>[]>
  /**
   * Stores what is not there yet, or was given by fewer endpoints. False if the block is no longer that of the midnight:
   * nothing is stored then.
   */
  keep(
    named: SeriesName,
    midnight: Midnight & { readonly witnesses: number },
    rows: readonly { readonly wallet: Address; readonly figures: Figures | undefined }[],
  ): Promise<boolean>
}

/** Snapshots and the wallets that they are kept for, in the database. */
export type SnapshotStore<Figures> = ReturnType<typeof createSnapshotStore<Figures>>

/** Makes it over the database and the table of its figures; `holder` names this process in leases. */
export function createSnapshotStore<Figures>(
  db: Database,
  { holder, table }: { readonly holder: string; readonly table: SnapshotTable<Figures> },
) {
  const seriesParams = ({ chainId, name }: SeriesName) => ({ chainId, name: toHexDigits(name) })
  return {
    ...table,
    /** Undefined if nobody asked about the wallet; `first` is undefined as long as it is not known. */
    async series(named: SeriesName, wallet: Address): Promise<{ readonly first: FirstDay | undefined } | undefined> {
      const [row] = await snapshotSeriesFind(db, { ...seriesParams(named), wallet: toHexDigits(wallet) })
      if (row === undefined) return undefined
      const { first_day: day, witnesses } = row
      return { first: day === null ? undefined : { day, witnesses } }
    },
    /** A first day that more endpoints gave takes the place of the one before, and snapshots before it go. */
    async follow(named: SeriesName, wallet: Address, first: FirstDay | undefined): Promise<void> {
      const { day: firstDay = null, witnesses = 1 } = first ?? {}
      await snapshotSeriesStore(db, { ...seriesParams(named), wallet: toHexDigits(wallet), firstDay, witnesses })
    },
    /** Wallets whose snapshot of the day is due, leased to this process; none while snapshots are switched off. */
    async claim(
      named: SeriesName,
      { day, leaseSec, max }: { readonly day: number; readonly leaseSec: number; readonly max: number },
    ): Promise<Address[]> {
      const rows = await snapshotSeriesClaim(db, { ...seriesParams(named), day, holder, sec: leaseSec, max })
      return rows.map(({ wallet }): Hex => `0x${wallet}`)
    },
    async done(named: SeriesName, day: number, wallets: readonly Address[]): Promise<void> {
      await snapshotSeriesDone(db, { ...seriesParams(named), wallets: wallets.map(toHexDigits), holder, day })
    },
  }
}
