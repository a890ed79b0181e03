import { type Hex, zeroAddress, zeroHash } from 'viem'
import { keepFirstEntries, type WalletEntry } from '../../../finance/wallet_entry.ts'
import { createLogFieldReader, toAddressTopic } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../../history/stream.ts'
import { MORPHO_EVENTS } from './abi.ts'

/** Stands for whoever receives fees: every market that ever paid them is an entry of its own. */
export const FEE_SUBJECT: Hex = zeroAddress
/** Stands for those markets: a wallet with this entry has received fees. */
export const FEE_MARKETS: Hex = zeroHash

/** What of Morpho's logs is asked for: see `Stream.filters`. */
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
 * The entries that logs tell, in their order, each wallet's first in each market. Throws `UpstreamError` if one has the
 * topic of an event, but not its shape.
 */
export function decodeEntries({ contract }: StreamTarget, logs: readonly HistoryLog[]): WalletEntry[] {
  return keepFirstEntries(logs.flatMap((log) => (log.address === contract ? (entryOf(log) ?? []) : [])))
}

function entryOf(log: HistoryLog): WalletEntry | undefined {
  const name = MORPHO_EVENTS.nameOf(log)
  if (name === undefined) return undefined
  const { topics, blockNumber: block } = log
  const { address } = createLogFieldReader(log)
  const [, market = '0x'] = topics
  if (name === 'setFee') return { wallet: FEE_SUBJECT, entry: market, block }
  if (name === 'setFeeRecipient') return { wallet: address(1), entry: FEE_MARKETS, block }
  return { wallet: address(name === 'borrow' ? 2 : 3), entry: market, block }
}
