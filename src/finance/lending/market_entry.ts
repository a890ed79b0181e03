import type { Hex } from 'viem'
import { marketEntryStore } from '../../../sql/functions.ts'
import listSql from '../../../sql/queries/market_entry_list.sql' with { type: 'text' }
import type { Database } from '../../db/database.ts'
import { query } from '../../db/query.ts'
import { fromBytes, inPieces, nameParams, partParams, STORE_DEADLINE_MS, toDigits } from '../../history/part.ts'
import type { StreamPlace, StreamTable } from '../../history/stream.ts'

const list = query(listSql, 'read')

/** A wallet was in a market of a place since this block or before. Addresses and ids are lower case. */
export interface MarketEntry {
  readonly wallet: Hex
  readonly market: Hex
  readonly block: number
}

/** Entries as a stream stores them: of each wallet and market the first. */
export const MARKET_ENTRIES: StreamTable<MarketEntry> = {
  subjectOf: ({ wallet }) => wallet,
  store: inPieces((db, part) => {
    const { rows } = part
    const columns = {
      wallets: rows.map(({ wallet }) => toDigits(wallet)),
      markets: rows.map(({ market }) => toDigits(market)),
      blocks: rows.map(({ block }) => block),
    }
    return marketEntryStore(db, { ...partParams(part), ...columns }, { deadlineMs: STORE_DEADLINE_MS })
  }),
}

/** Which entries are wanted. */
interface EntriesQuestion {
  readonly place: StreamPlace
  readonly stream: string
  readonly wallet: Hex
  readonly toBlock: number
}

/** The markets that a wallet is known to have entered up to a block; `isWhole` if these are all. Throws as `Database.run`. */
export async function readMarketEntries(
  db: Database,
  { place, stream, wallet, toBlock }: EntriesQuestion,
): Promise<{ readonly isWhole: boolean; readonly markets: readonly Hex[] }> {
  const name = nameParams({ place, stream })
  const { startBlock } = place
  const rows = await list(db, [...name, toDigits(wallet), startBlock, Math.max(startBlock, toBlock)])
  return {
    isWhole: rows[0]?.covered === true,
    markets: rows.flatMap(({ market }) => (market === null ? [] : fromBytes(market))),
  }
}
