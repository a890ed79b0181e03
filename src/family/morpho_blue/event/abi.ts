import { createEventTable } from '../../../history/logs/event_table.ts'

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
