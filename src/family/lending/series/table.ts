import { lendingSnapshotStore } from '../../../../sql/functions.ts'
import { lendingSnapshotList } from '../../../../sql/queries.ts'
import type { Database } from '../../../db/database.ts'
import type { SnapshotTable } from '../../../finance/series/store.ts'
import { toHexDigits } from '../../../history/stored_part.ts'
import type { SnapshotFigures } from './market.ts'

/** Figure of a health factor without debt; the database stores it as null. */
const NO_DEBT = 'MAX'

/** Creates the table of lending snapshots over the database. */
export function lendingSnapshots(db: Database): SnapshotTable<SnapshotFigures> {
  return {
    async list({ chainId, name }, wallet, max) {
      const rows = await lendingSnapshotList(db, {
        chainId,
        contract: toHexDigits(name),
        wallet: toHexDigits(wallet),
        max,
      })
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
    async save({ chainId, name }, { day, block, witnesses }, rows) {
      const column = (value: (figures: SnapshotFigures) => string) =>
        rows.map(({ figures }) => (figures === undefined ? '' : value(figures)))
      return await lendingSnapshotStore(db, {
        chainId,
        contract: toHexDigits(name),
        day,
        hash: toHexDigits(block.hash),
        witnesses,
        wallets: rows.map(({ wallet }) => toHexDigits(wallet)),
        collaterals: column((each) => each.collateralUsd),
        debts: column((each) => each.debtUsd),
        netWorths: column((each) => each.netWorthUsd),
        healthFactors: column(({ healthFactor }) => (healthFactor === NO_DEBT ? '' : healthFactor)),
      })
    },
  }
}
