import type { Address } from 'viem'
import { lendingSeriesStore, lendingSnapshotStore } from '../../../../sql/functions.ts'
import claimSql from '../../../../sql/queries/lending_series_claim.sql' with { type: 'text' }
import doneSql from '../../../../sql/queries/lending_series_done.sql' with { type: 'text' }
import findSql from '../../../../sql/queries/lending_series_find.sql' with { type: 'text' }
import listSql from '../../../../sql/queries/lending_snapshot_list.sql' with { type: 'text' }
import type { Database } from '../../../db/database.ts'
import { query } from '../../../db/query.ts'
import { toDigits } from '../../../history/part.ts'
import type { MarketKey, Midnight, SnapshotFigures } from './market.ts'

const claim = query(claimSql, 'background')
const done = query(doneSql, 'background')
const find = query(findSql, 'read')
const list = query(listSql, 'read')

/** Figures of a day; undefined if the market could not be valued at that midnight. */
export interface StoredSnapshot {
  /** Whole days since the epoch, of the day that the midnight begins. */
  readonly day: number
  readonly figures: SnapshotFigures | undefined
  /** How many different endpoints gave them. */
  readonly witnesses: number
}

/** The first day with a snapshot of a wallet, and how many different endpoints gave it. */
export interface FirstDay {
  readonly day: number
  readonly witnesses: number
}

/** Snapshots and the wallets that they are kept for, in the database. */
export interface SnapshotStore {
  /** Undefined if nobody asked about the wallet; `first` is undefined as long as it is not known. */
  series(market: MarketKey, wallet: Address): Promise<{ readonly first: FirstDay | undefined } | undefined>
  /** A first day that more endpoints gave takes the place of the one before, and snapshots before it go. */
  follow(market: MarketKey, wallet: Address, first: FirstDay | undefined): Promise<void>
  /** At most the newest `max`, oldest first. */
  list(market: MarketKey, wallet: Address, max: number): Promise<StoredSnapshot[]>
  /**
   * Stores what is not there yet, or was given by fewer endpoints. False if the block is no longer that of the midnight:
   * nothing is stored then.
   */
  keep(
    market: MarketKey,
    midnight: Midnight & { readonly witnesses: number },
    rows: readonly { readonly wallet: Address; readonly figures: SnapshotFigures | undefined }[],
  ): Promise<boolean>
  /** Wallets whose snapshot of the day is due, leased to this process; none while snapshots are switched off. */
  claim(
    market: MarketKey,
    options: { readonly day: number; readonly leaseSec: number; readonly max: number },
  ): Promise<Address[]>
  done(market: MarketKey, day: number, wallets: readonly Address[]): Promise<void>
}

/** What the database stores for the literal of a health factor without debt. */
const NO_DEBT = 'MAX'

/** Makes it over the database; `holder` names this process in leases. */
export function createSnapshotStore(db: Database, holder: string): SnapshotStore {
  const named = ({ chainId, contract }: MarketKey) => [chainId, toDigits(contract)] as const
  const namedParams = ({ chainId, contract }: MarketKey) => ({ chainId, contract: toDigits(contract) })
  return {
    async series(market, wallet) {
      const [row] = await find(db, [...named(market), toDigits(wallet)])
      if (row === undefined) return undefined
      const { first_day: day, witnesses } = row
      return { first: day === null ? undefined : { day, witnesses } }
    },
    async follow(market, wallet, first) {
      const { day: firstDay = null, witnesses = 1 } = first ?? {}
      await lendingSeriesStore(db, { ...namedParams(market), wallet: toDigits(wallet), firstDay, witnesses })
    },
    async list(market, wallet, max) {
      const rows = await list(db, [...named(market), toDigits(wallet), max])
      return rows.map(({ day, collateral, debt, net_worth, health_factor, witnesses }) => ({
        day,
        witnesses,
        figures:
          collateral === null || debt === null || net_worth === null
            ? undefined
            : {
                collateralUsd: collateral,
                debtUsd: debt,
                netWorthUsd: net_worth,
                healthFactor: health_factor ?? NO_DEBT,
              },
      }))
    },
    async keep(market, { day, block, witnesses }, rows) {
      const column = (value: (figures: SnapshotFigures) => string) =>
        rows.map(({ figures }) => (figures === undefined ? '' : value(figures)))
      return await lendingSnapshotStore(db, {
        ...namedParams(market),
        day,
        hash: toDigits(block.hash),
        wallets: rows.map(({ wallet }) => toDigits(wallet)),
        collaterals: column((each) => each.collateralUsd),
        debts: column((each) => each.debtUsd),
        netWorths: column((each) => each.netWorthUsd),
        healthFactors: column(({ healthFactor }) => (healthFactor === NO_DEBT ? '' : healthFactor)),
        witnesses,
      })
    },
    async claim(market, { day, leaseSec, max }) {
      const rows = await claim(db, [...named(market), day, holder, leaseSec, max])
      return rows.map(({ wallet }): Address => `0x${wallet}`)
    },
    async done(market, day, wallets) {
      await done(db, [...named(market), wallets.map(toDigits), holder, day])
    },
  }
}
