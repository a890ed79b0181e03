import type { Address, Hex } from 'viem'
import type { ProtocolWords } from '../protocol.ts'

/*
 * Exchanges whose manager enumerates the positions of a wallet, keeps one sum of fees and withdrawn principal, and logs
 * every flow, as Uniswap V3's `NonfungiblePositionManager` does. Its forks differ from it in what follows alone.
 */

/** One position manager of an exchange. */
export interface EnumerableDeployment {
  readonly manager: Address
  readonly factory: Address
  /** The manager has no events before this block. */
  readonly startBlock: number
  /** `protocol.code` of its positions. */
  readonly code: string
}

/** An exchange and its forks. */
export interface EnumerableExchange {
  /** Path segment and name of the family: `uniswap-v3`. */
  readonly name: string
  readonly words: ProtocolWords
  /** `EnumerablePositions` with the exchange's function of pools, and the name of its calls. */
  readonly lens: { readonly topic: string; readonly runtime: Hex }
  /** Name of the stream of its positions' flows: `uniswap_v3_flow`. */
  readonly streamName: string
  /** What names a pool beside its tokens, such as its fee, for positions that are burned. */
  readonly poolKey: {
    /** Selector of the pool's getter; it answers a number. */
    readonly getter: Hex
    /** Selector of the factory's function that returns the pool of two tokens and that number. */
    readonly getPool: Hex
    /** The largest number. */
    readonly max: bigint
  }
}
