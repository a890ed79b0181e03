import { WALLET_ENTRIES, type WalletEntry } from '../../../finance/wallet_entry.ts'
import type { Stream } from '../../../history/stream.ts'
import { createFilters, decodeEntries } from '../event.ts'

/**
 * The stream of the markets that wallets ever entered, which the contract cannot list. No state exists to check the
 * rows against: two matching reads are the only proof.
 */
export const MARKET_STREAM: Stream<WalletEntry> = {
  name: 'morpho_blue_market',
  table: WALLET_ENTRIES,
  filters: createFilters,
  decode: (target, logs) => ({ rows: decodeEntries(target, logs), unsettled: [] }),
}
