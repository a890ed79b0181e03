import type { Hex } from 'viem'

/** A log as nodes answer it. */
export interface RpcLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
  readonly blockNumber: Hex
  readonly blockHash: Hex
  readonly transactionHash: Hex
  readonly transactionIndex: Hex
  readonly logIndex: Hex
  /** Many nodes leave it out. */
  readonly blockTimestamp?: Hex
}
