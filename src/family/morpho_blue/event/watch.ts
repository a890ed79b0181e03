import type { Hex } from 'viem'
import { createEventTable } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter } from '../../../history/stream.ts'

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
