import { createEventTable } from '../../../history/logs/event_table.ts'

/**
 * Events that change a position; all have the wallet in a topic. Source: `EventsLib` of Midnight, whose ABI is in
 * `@morpho-org/midnight-sdk` 1.6.0.
 */
export const MIDNIGHT_EVENTS = createEventTable({
  take:
    'Take(address, bytes32, bytes32 indexed, bool, address indexed, bytes32, address, bytes, uint256, address indexed, ' +
    'uint256, uint256, uint256, uint256, uint256, int256, address, address)',
  supplyCollateral: 'SupplyCollateral(address, bytes32 indexed, address indexed, uint256, address indexed)',
  withdrawCollateral:
    'WithdrawCollateral(address, bytes32 indexed, address indexed, uint256, address indexed, address)',
  repay: 'Repay(address indexed, bytes32 indexed, uint256, address indexed, address)',
  withdraw: 'Withdraw(address, bytes32 indexed, uint256, address indexed, address indexed, uint256)',
  liquidate:
    'Liquidate(address, bytes32 indexed, address indexed, uint256, uint256, address indexed, bool, address, address, ' +
    'uint256, uint256, uint256)',
  updatePosition: 'UpdatePosition(bytes32 indexed, address indexed, uint256, uint256, uint256)',
})
