import { createEventTable } from '../../../history/logs/event_table.ts'

/**
 * Events that tell who may have a position in which market: whoever supplies, pledges collateral or borrows, and since
 * accruing gives shares without an event that names their owner, who receives fees and which markets pay them. Source:
 * `EventsLib` of `@morpho-org/morpho-blue` 1.0.0.
 */
const SIGNATURES = {
  supply: 'Supply(bytes32 indexed, address indexed, address indexed, uint256, uint256)',
  supplyCollateral: 'SupplyCollateral(bytes32 indexed, address indexed, address indexed, uint256)',
  borrow: 'Borrow(bytes32 indexed, address, address indexed, address indexed, uint256, uint256)',
  setFee: 'SetFee(bytes32 indexed, uint256)',
  setFeeRecipient: 'SetFeeRecipient(address indexed)',
} as const

/** Those events. */
export const MORPHO_EVENTS = createEventTable(SIGNATURES)
