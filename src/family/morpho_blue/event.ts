import { type Hex, zeroAddress, zeroHash } from 'viem'
import { keepFirstEntries, type WalletEntry } from '../../finance/wallet_entry.ts'
import { createEventTable, createLogFieldReader, toAddressTopic } from '../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../history/stream.ts'

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

/**
 * Events that name the wallets and markets of possible positions: supplies, collateral and borrows. Accruing gives the
 * fee recipient shares without an event that names it, so recipients and markets with a fee are included. Source:
 * `EventsLib` of `@morpho-org/morpho-blue` 1.0.0.
 */
const SIGNATURES = {
  supply: 'Supply(bytes32 indexed, address indexed, address indexed, uint256, uint256)',
  supplyCollateral: 'SupplyCollateral(bytes32 indexed, address indexed, address indexed, uint256)',
  borrow: 'Borrow(bytes32 indexed, address, address indexed, address indexed, uint256, uint256)',
  setFee: 'SetFee(bytes32 indexed, uint256)',
  setFeeRecipient: 'SetFeeRecipient(address indexed)',
} as const

/** Decoding table of these events. */
export const MORPHO_EVENTS = createEventTable(SIGNATURES)

/**
 * Events that change a position in a market; all have the market and the wallet in topics. Fees accrue to their
 * recipient without such an event. Source: `EventsLib` of `@morpho-org/morpho-blue` 1.0.0.
 */
const CHANGES = createEventTable({
  supply: 'Supply(bytes32 indexed, address indexed, address indexed, uint256, uint256)',
  withdraw: 'Withdraw(bytes32 indexed, address, address indexed, address indexed, uint256, uint256)',
  borrow: 'Borrow(bytes32 indexed, address, address indexed, address indexed, uint256, uint256)',
  repay: 'Repay(bytes32 indexed, address indexed, address indexed, uint256, uint256)',
  supplyCollateral: 'SupplyCollateral(bytes32 indexed, address indexed, address indexed, uint256)',
  withdrawCollateral: 'WithdrawCollateral(bytes32 indexed, address, address indexed, address indexed, uint256)',
  liquidate:
    'Liquidate(bytes32 indexed, address indexed, address indexed, uint256, uint256, uint256, uint256, uint256)',
})

/** Filter for every log of Morpho that changes a position. Wallets are matched afterwards. */
export function createChangeFilter(morpho: Hex): LogFilter {
  return { addresses: [morpho.toLowerCase() as Hex], topics: [Object.values(CHANGES.topics)] }
}

/** Keys of the positions that the logs may change, as `getPositionKey` makes them. */
export function listChangedPositions(logs: readonly HistoryLog[], morpho: Hex): ReadonlySet<string> {
  const { addresses, topics } = createChangeFilter(morpho)
  const [contracts, events] = [new Set(addresses), new Set(topics[0])]
  return new Set(
    logs.flatMap(({ address, topics: [event = '0x', market = '0x', ...wallets] }) =>
      contracts.has(address) && events.has(event)
        ? wallets.map((wallet) => getPositionKey(market, `0x${wallet.slice(26)}`))
        : [],
    ),
  )
}

/** Key of a wallet's position in a market. */
export function getPositionKey(marketId: string, wallet: string): string {
  return `${marketId}:${wallet.toLowerCase()}`
}
