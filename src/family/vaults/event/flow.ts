import type { Hex } from 'viem'

/** What changes the shares that a wallet has in a vault. */
export const FLOW_KINDS = ['deposit', 'withdraw', 'penalty', 'send', 'receive'] as const

/** Kind of a flow; `penalty`: a withdrawal that the vault paid to itself, `send` and `receive`: shares alone moved. */
export type FlowKind = (typeof FLOW_KINDS)[number]

/** One change of a wallet's shares in a vault. Addresses and hashes are lower case. */
export interface VaultFlow {
  readonly wallet: Hex
  readonly block: number
  readonly logIndex: number
  readonly kind: FlowKind
  /** Smallest units. */
  readonly shares: bigint
  /** Smallest units of the vault's asset, by the vault's own event; undefined where shares alone moved. */
  readonly assets: bigint | undefined
  /** Payer of a deposit, receiver of a withdrawal, or the other side of a transfer: the zero address for shares that are made or destroyed. */
  readonly counterparty: Hex
  readonly transactionHash: Hex
  /** Unix seconds; null if no endpoint gave it with the log. */
  readonly timestampSec: number | null
}

/** Adds up what flows made of a wallet's shares, smallest units; negative only if flows are missing. */
export function foldShares(flows: readonly Pick<VaultFlow, 'kind' | 'shares'>[]): bigint {
  return flows.reduce(
    (sum, { kind, shares }) => (kind === 'deposit' || kind === 'receive' ? sum + shares : sum - shares),
    0n,
  )
}
