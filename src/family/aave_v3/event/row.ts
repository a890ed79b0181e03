import type { Hex } from 'viem'

/** What an answer shows. */
export const EVENT_TYPES = ['supply', 'borrow', 'withdraw', 'repay', 'liquidation'] as const

/** Type of an event in an answer. */
export type EventType = (typeof EVENT_TYPES)[number]

/**
 * Movements that no answer shows, but that a wallet's balances depend on: aTokens sent and received, and supply or
 * debt that changed for another reason, such as a debt that was written off.
 */
export type HiddenType = 'send' | 'receive' | 'adjust_supply' | 'adjust_debt'

/** One movement of a wallet in a market; addresses in lower case. */
export interface LendingRow {
  readonly wallet: Hex
  readonly block: number
  readonly logIndex: number
  /** Tells rows of one log and wallet apart: of a liquidation 0 is the debt repaid and 1 the collateral taken. */
  readonly leg: 0 | 1
  readonly kind: EventType | HiddenType
  readonly asset: Hex
  /** Smallest units of the asset; scaled by the index for what was sent or received. */
  readonly amount: bigint
  readonly counterparty: Hex
  readonly transactionHash: Hex
  /** Unix seconds; null if the endpoint did not say. */
  readonly timestampSec: number | null
  /** Index that the wallet's balance was written down with; null for stable debt and for reserves that were dropped. */
  readonly indexRay: bigint | null
}
