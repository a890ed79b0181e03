import { createEventTable } from '../../../history/logs/event_table.ts'

/**
 * Events of the Pool, the aToken and the debt tokens, from 3.0 to 3.6. Stable debt ended with 3.2, deficits began with
 * 3.3; the other events never changed. Source: `IPool`, `IScaledBalanceToken`, `IAToken` and `IStableDebtToken` of
 * `@aave-dao/aave-v3-origin` 3.6.0 and `@aave/core-v3` 1.19.3.
 */
const SIGNATURES = {
  supply: 'Supply(address indexed, address, address indexed, uint256, uint16 indexed)',
  withdraw: 'Withdraw(address indexed, address indexed, address indexed, uint256)',
  borrow: 'Borrow(address indexed, address, address indexed, uint256, uint8, uint256, uint16 indexed)',
  repay: 'Repay(address indexed, address indexed, address indexed, uint256, bool)',
  liquidation: 'LiquidationCall(address indexed, address indexed, address indexed, uint256, uint256, address, bool)',
  deficit: 'DeficitCreated(address indexed, address indexed, uint256)',
  treasury: 'MintedToTreasury(address indexed, uint256)',
  update: 'ReserveDataUpdated(address indexed, uint256, uint256, uint256, uint256, uint256)',
  mint: 'Mint(address indexed, address indexed, uint256, uint256, uint256)',
  burn: 'Burn(address indexed, address indexed, uint256, uint256, uint256)',
  transfer: 'BalanceTransfer(address indexed, address indexed, uint256, uint256)',
  stableMint: 'Mint(address indexed, address indexed, uint256, uint256, uint256, uint256, uint256, uint256)',
  stableBurn: 'Burn(address indexed, uint256, uint256, uint256, uint256, uint256)',
} as const

export type EventName = keyof typeof SIGNATURES

/** Decoding table of these events; `topics` are their first topics. */
export const AAVE_EVENTS = createEventTable(SIGNATURES)
export const TOPICS = AAVE_EVENTS.topics
