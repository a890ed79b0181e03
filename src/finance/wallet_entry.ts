import type { Hex } from 'viem'
import { walletEntryList } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import { createRowTable, hexFromBytes, toHexDigits, toNameParams } from '../history/stored_part.ts'
import type { StreamTable, StreamTarget } from '../history/stream.ts'
import { coalesce } from '../lib/async/coalesce.ts'
import { groupBy } from '../lib/group_by.ts'
import { memoize } from '../lib/memoize.ts'

/**
 * A wallet entered a market, or was sent a position, of a target at this block or before; `entry` is its id. An entry
 * only shows where to look. Addresses and ids are lower case.
 */
export interface WalletEntry {
  readonly wallet: Hex
  readonly entry: Hex
  readonly block: number
}

/** Entries as a stream stores them: the first of each wallet and id. */
export const WALLET_ENTRIES: StreamTable<WalletEntry> = createRowTable({
  name: 'wallet_entry',
  toSubject: ({ wallet }) => wallet,
  subjectColumn: 'wallet',
  columns: {
    wallet: ({ wallet }) => toHexDigits(wallet),
    entry: ({ entry }) => toHexDigits(entry),
    block: ({ block }) => block,
  },
})

/** Keeps the first entry of each wallet and id, in their order. */
export function keepFirstEntries(all: readonly WalletEntry[]): WalletEntry[] {
  const first = new Map<string, WalletEntry>()
  for (const each of all) {
    const key = `${each.wallet}${each.entry}`
    if (!first.has(key)) first.set(key, each)
  }
  return [...first.values()]
}

/** A query for a wallet's entries up to a block. */
interface EntriesQuery {
  readonly target: StreamTarget
  readonly stream: string
  readonly wallet: Hex
  readonly toBlock: number
}

/** Stored entries of a wallet up to a block. */
interface StoredEntries {
  /** True if all entries up to the block are stored. */
  readonly isWhole: boolean
  /** True if some of the wallet's history is stored. */
  readonly isBegun: boolean
  readonly entries: readonly Hex[]
}

/** Wallets in one statement. */
const WALLETS_MAX = 500

/** Reads a wallet's entries; concurrent reads of one target share a statement. Throws as `Database.run`. */
export function readWalletEntries(db: Database, query: EntriesQuery): Promise<StoredEntries> {
  return getReader(db)(query)
}

const getReader = memoize((db: Database) =>
  coalesce<EntriesQuery, StoredEntries>({
    getKey: ({ target: { chainId, contract, startBlock }, stream }) => `${chainId}:${contract}:${startBlock}:${stream}`,
    itemsMax: WALLETS_MAX,
    answer: (queries) => readAll(db, queries),
  }),
)

async function readAll(db: Database, queries: readonly EntriesQuery[]): Promise<readonly StoredEntries[]> {
  const [first] = queries
  if (first === undefined) return []
  const { startBlock } = first.target
  const wallets = queries.map(({ wallet }) => toHexDigits(wallet))
  const toBlocks = queries.map(({ toBlock }) => Math.max(startBlock, toBlock))
  const rows = await walletEntryList(db, { ...toNameParams(first), wallets, fromBlock: startBlock, toBlocks })
  const rowsByQuery = groupBy(rows, ({ no }) => no)
  return queries.map((_, index) => {
    const ownRows = rowsByQuery.get(index + 1) ?? []
    return {
      isWhole: ownRows[0]?.covered === true,
      isBegun: ownRows[0]?.begun === true,
      entries: ownRows.flatMap(({ entry }) => (entry === null ? [] : hexFromBytes(entry))),
    }
  })
}
