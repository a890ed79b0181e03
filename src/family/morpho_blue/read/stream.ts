import { WALLET_ENTRIES, type WalletEntry } from '../../../finance/wallet_entry.ts'
import type { Stream } from '../../../history/stream.ts'
import { createFilters, decodeEntries } from '../event/entry.ts'

/**
 * What history follows of Morpho: which markets wallets were ever in, which the contract cannot list. There is no state to
 * check them against: two reads are all the proof.
 */
export const MARKET_STREAM: Stream<WalletEntry> = {
  name: 'morpho_blue_market',
  table: WALLET_ENTRIES,
  filters: createFilters,
  decode: (place, logs) => ({ rows: decodeEntries(place, logs), unsettled: [] }),
}
