import { keepFirstEntries, WALLET_ENTRIES, type WalletEntry } from '../../../../finance/wallet_entry.ts'
import { createEventTable, createLogFieldReader, toAddressTopic } from '../../../../history/logs/event_table.ts'
import type { HistoryLog, Stream } from '../../../../history/stream.ts'

const TRANSFERS = createEventTable({ transfer: 'Transfer(address indexed, address indexed, uint256 indexed)' })

/**
 * The stream of positions that wallets were ever sent by a position manager. It needs no check of its own: every list
 * is compared with the balance that the manager returns.
 */
export const TRANSFER_STREAM: Stream<WalletEntry> = {
  name: 'uniswap_v4_transfer',
  table: WALLET_ENTRIES,
  filters: ({ contract }, subjects) => [
    {
      addresses: [contract],
      topics: [[TRANSFERS.topics.transfer], ...(subjects === null ? [] : [null, subjects.map(toAddressTopic)])],
    },
  ],
  decode({ contract }, logs) {
    const entries = logs.flatMap((log) => (log.address === contract ? (toEntry(log) ?? []) : []))
    return { rows: keepFirstEntries(entries), unsettled: [] }
  },
}

function toEntry(log: HistoryLog): WalletEntry | undefined {
  if (TRANSFERS.findName(log) === undefined) return undefined
  const { topics, blockNumber: block } = log
  return { wallet: createLogFieldReader(log).address(2), entry: topics[3] ?? '0x', block }
}
