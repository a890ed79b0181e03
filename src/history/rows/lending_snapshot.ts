import type { Address } from 'viem'
import claimSql from '../../../sql/queries/lending_series_claim.sql' with { type: 'text' }
import doneSql from '../../../sql/queries/lending_series_done.sql' with { type: 'text' }
import findSql from '../../../sql/queries/lending_series_find.sql' with { type: 'text' }
import followSql from '../../../sql/queries/lending_series_store.sql' with { type: 'text' }
import listSql from '../../../sql/queries/lending_snapshot_list.sql' with { type: 'text' }
import storeSql from '../../../sql/queries/lending_snapshot_store.sql' with { type: 'text' }
import type { PinnedBlock } from '../../chain/block.ts'
import type { Database } from '../../db/database.ts'
import { query } from '../../db/query.ts'
import { toDigits } from './part.ts'

const claim = query(claimSql, 'background')
const done = query(doneSql, 'background')
const find = query(findSql, 'read')
const follow = query(followSql, 'read')
const list = query(listSql, 'read')
const store = query(storeSql, 'read')

/** A market on a chain. */
export interface Market {
  readonly chainId: number
  readonly provider: Address
}

/** What a wallet had in a market at a midnight, as the live route would have answered it. */
interface SnapshotFigures {
  readonly collateralUsd: string
  readonly debtUsd: string
  readonly netWorthUsd: string
  readonly healthFactor: string
}

/** Figures of a day; undefined if the market could not be valued at that midnight. */
export interface StoredSnapshot {
  /** Whole days since the epoch, of the day that the midnight begins. */
  readonly day: number
  readonly figures: SnapshotFigures | undefined
}

/** Snapshots and the wallets that they are kept for, in the database. */
export interface SnapshotStore {
  /** Undefined if nobody asked about the wallet; `firstDay` is undefined as long as it is not known. */
  series(market: Market, wallet: Address): Promise<{ readonly firstDay: number | undefined } | undefined>
  follow(market: Market, wallet: Address, firstDay: number | undefined): Promise<void>
  /** At most the newest `max`, oldest first. */
  list(market: Market, wallet: Address, max: number): Promise<StoredSnapshot[]>
  /** False if the block is no longer that of the midnight: nothing is stored then. */
  keep(
    market: Market,
    midnight: { readonly day: number; readonly block: PinnedBlock },
    rows: readonly { readonly wallet: Address; readonly figures: SnapshotFigures | undefined }[],
  ): Promise<boolean>
  /** Wallets whose snapshot of the day is due, leased to this process; none while snapshots are switched off. */
  claim(
    market: Market,
    options: { readonly day: number; readonly leaseSec: number; readonly max: number },
  ): Promise<Address[]>
  done(market: Market, day: number, wallets: readonly Address[]): Promise<void>
}

/** What the database stores for the literal of a health factor without debt. */
const NO_DEBT = 'MAX'

/** Makes it over the database. */
export function createSnapshotStore(db: Database): SnapshotStore {
  const named = ({ chainId, provider }: Market) => [chainId, toDigits(provider)] as const
  return {
    async series(market, wallet) {
      const [row] = await find(db, [...named(market), toDigits(wallet)])
      return row === undefined ? undefined : { firstDay: row.first_day ?? undefined }
    },
    async follow(market, wallet, firstDay) {
      await follow(db, [...named(market), toDigits(wallet), firstDay ?? null])
    },
    async list(market, wallet, max) {
      const rows = await list(db, [...named(market), toDigits(wallet), max])
      return rows.map(({ day, collateral, debt, net_worth, health_factor }) => ({
        day,
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
    async keep(market, { day, block }, rows) {
      const column = (value: (figures: SnapshotFigures) => string) =>
        rows.map(({ figures }) => (figures === undefined ? '' : value(figures)))
      const [row] = await store(db, [
        ...([...named(market), day, toDigits(block.hash), rows.map(({ wallet }) => toDigits(wallet))] as const),
        ...([column((each) => each.collateralUsd), column((each) => each.debtUsd)] as const),
        ...([
          column((each) => each.netWorthUsd),
          column(({ healthFactor }) => (healthFactor === NO_DEBT ? '' : healthFactor)),
        ] as const),
      ])
      return row?.stored === true
    },
    async claim(market, { day, leaseSec, max }) {
      const rows = await claim(db, [...named(market), day, leaseSec, max])
      return rows.map(({ wallet }): Address => `0x${wallet}`)
    },
    async done(market, day, wallets) {
      await done(db, [...named(market), wallets.map(toDigits), day])
    },
  }
}
