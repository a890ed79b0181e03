import { onchainTable, primaryKey } from 'ponder'

export const move = onchainTable(
  'move',
  (t) => ({
    wallet: t.hex().notNull(),
    block: t.integer().notNull(),
    position: t.integer().notNull(),
    leg: t.integer().notNull(),
    kind: t.text().notNull(),
    asset: t.hex().notNull(),
    amount: t.bigint().notNull(),
    counterparty: t.hex().notNull(),
    hash: t.hex().notNull(),
    time: t.integer().notNull(),
  }),
  (table) => ({ pk: primaryKey({ columns: [table.wallet, table.block, table.position, table.leg] }) }),
)
