import type { Hex } from 'viem'
import { walletEntryStore } from '../../sql/functions.ts'
import listSql from '../../sql/queries/wallet_entry_list.sql' with { type: 'text' }
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { fromBytes, inPieces, nameParams, partParams, STORE_DEADLINE_MS, toDigits } from '../history/part.ts'
import type { StreamPlace, StreamTable } from '../history/stream.ts'

const list = query(listSql, 'read')

/**
 * A wallet entered something of a place at this block or before: a market, or a position that it was sent, by its id. It
 * says no more than where to look. Addresses and ids are lower case.
 */
export interface WalletEntry {
  readonly wallet: Hex
  readonly entry: Hex
  readonly block: number
}

/** Entries as a stream stores them: of each wallet and entry the first. */
export const WALLET_ENTRIES: StreamTable<WalletEntry> = {
  subjectOf: ({ wallet }) => wallet,
  store: inPieces((db, part) => {
    const { rows } = part
    const columns = {
      wallets: rows.map(({ wallet }) => toDigits(wallet)),
      entries: rows.map(({ entry }) => toDigits(entry)),
      blocks: rows.map(({ block }) => block),
    }
    return walletEntryStore(db, { ...partParams(part), ...columns }, { deadlineMs: STORE_DEADLINE_MS })
  }),
}

/** In their order, of each wallet and entry the first. */
export function firstEntries(all: readonly WalletEntry[]): WalletEntry[] {
  const first = new Map<string, WalletEntry>()
  for (const each of all) {
    const key = `${each.wallet}${each.entry}`
    if (!first.has(key)) first.set(key, each)
  }
  return [...first.values()]
}

/** Which entries are wanted. */
interface EntriesQuestion {
  readonly place: StreamPlace
  readonly stream: string
  readonly wallet: Hex
  readonly toBlock: number
}

/** What a wallet is known to have entered up to a block; `isWhole` if these are all. Throws as `Database.run`. */
export async function readWalletEntries(
  db: Database,
  { place, stream, wallet, toBlock }: EntriesQuestion,
): Promise<{ readonly isWhole: boolean; readonly entries: readonly Hex[] }> {
  const name = nameParams({ place, stream })
  const { startBlock } = place
  const rows = await list(db, [...name, toDigits(wallet), startBlock, Math.max(startBlock, toBlock)])
  return {
    isWhole: rows[0]?.covered === true,
    entries: rows.flatMap(({ entry }) => (entry === null ? [] : fromBytes(entry))),
  }
}
