import type { Hex } from 'viem'

/** What a flow does: liquidity and tokens go in, come out and wait, or are paid. */
export const FLOW_KINDS = ['increase', 'decrease', 'collect'] as const

/** One log of a position manager about one position. */
export interface FlowRow {
  readonly tokenId: bigint
  readonly blockNumber: number
  readonly logIndex: number
  readonly kind: (typeof FLOW_KINDS)[number]
  /** 0 for a collect. */
  readonly liquidity: bigint
  /** Raw units. What a collect says may exceed what was paid by a few, as the manager counts down by what it says. */
  readonly amount0: bigint
  readonly amount1: bigint
  readonly transactionHash: Hex
  /** Unix seconds; null if the endpoint did not give it with the log. */
  readonly timestampSec: number | null
}
