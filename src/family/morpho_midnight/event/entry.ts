import type { Hex } from 'viem'
import { keepFirstEntries, type WalletEntry } from '../../../finance/wallet_entry.ts'
import { createLogFieldReader, toAddressTopic } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../../history/stream.ts'
import { MIDNIGHT_EVENTS } from './log.ts'

/** Place of the wallet among the topics of both events: who supplies, and who takes. */
const WALLET_TOPIC = 3

/**
 * Filters for the markets that wallets entered themselves: see `Stream.filters`. A debt needs collateral, and only the
 * wallet, or whom it authorised, supplies it or takes an offer for it: no other wallet can add a market.
 */
export function createEntryFilters({ contract }: StreamTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  const { take, supplyCollateral } = MIDNIGHT_EVENTS.topics
  const events = [take, supplyCollateral]
  if (subjects === null) return [{ addresses: [contract], topics: [events] }]
  return [{ addresses: [contract], topics: [events, null, null, subjects.map(toAddressTopic)] }]
}

/**
 * Decodes logs to entries in their order, each wallet's first in each market. Throws `UpstreamError` if a log has the
 * topic of an event, but not its shape.
 */
export function decodeEntries({ contract }: StreamTarget, logs: readonly HistoryLog[]): WalletEntry[] {
  return keepFirstEntries(logs.flatMap((log) => (log.address === contract ? (toEntry(log) ?? []) : [])))
}

function toEntry(log: HistoryLog): WalletEntry | undefined {
  const name = MIDNIGHT_EVENTS.findName(log)
  if (name !== 'take' && name !== 'supplyCollateral') return undefined
  const [, market = '0x'] = log.topics
  return { wallet: createLogFieldReader(log).address(WALLET_TOPIC), entry: market, block: log.blockNumber }
}
