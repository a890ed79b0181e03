import { type Hex, zeroAddress, zeroHash } from 'viem'
import { keepFirstEntries, type WalletEntry } from '../../../finance/wallet_entry.ts'
import { createLogFieldReader, toAddressTopic } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../../history/stream.ts'
import { MORPHO_EVENTS } from './abi.ts'

/** Represents the fee recipient: its entries are the markets that ever paid fees. */
export const FEE_SUBJECT: Hex = zeroAddress
/** Represents these markets: a wallet with this entry has been the fee recipient. */
export const FEE_MARKETS: Hex = zeroHash

/** Filters for Morpho's logs: see `Stream.filters`. */
export function createFilters({ contract }: StreamTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  const addresses = [contract]
  if (subjects === null) return [{ addresses, topics: [Object.values(MORPHO_EVENTS.topics)] }]
  const wallets = subjects.map(toAddressTopic)
  const { supply, supplyCollateral, borrow, setFee, setFeeRecipient } = MORPHO_EVENTS.topics
  return [
    { addresses, topics: [[supply, supplyCollateral], null, null, wallets] },
    { addresses, topics: [[borrow], null, wallets] },
    { addresses, topics: [[setFeeRecipient], wallets] },
    ...(subjects.includes(FEE_SUBJECT) ? [{ addresses, topics: [[setFee]] }] : []),
  ]
}

/**
 * Decodes logs to entries in their order, each wallet's first in each market. Throws `UpstreamError` if a log has the
 * topic of an event, but not its shape.
 */
export function decodeEntries({ contract }: StreamTarget, logs: readonly HistoryLog[]): WalletEntry[] {
  return keepFirstEntries(logs.flatMap((log) => (log.address === contract ? (toEntry(log) ?? []) : [])))
}

function toEntry(log: HistoryLog): WalletEntry | undefined {
  const name = MORPHO_EVENTS.findName(log)
  if (name === undefined) return undefined
  const { topics, blockNumber: block } = log
  const { address } = createLogFieldReader(log)
  const [, market = '0x'] = topics
  if (name === 'setFee') return { wallet: FEE_SUBJECT, entry: market, block }
  if (name === 'setFeeRecipient') return { wallet: address(1), entry: FEE_MARKETS, block }
  return { wallet: address(name === 'borrow' ? 2 : 3), entry: market, block }
}
