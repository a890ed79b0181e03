import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../chain/block.ts'
import type { Endpoint } from '../chain/rpc/client.ts'
import type { FinanceClient } from '../finance/chain.ts'
import type { UsdPriceOutcome } from '../finance/price/price.ts'
import type { Token } from '../finance/token/token.ts'

/** Some of one token that a wallet has, or owes, in a position of a family. */
export interface Holding {
  readonly kind: 'liquidity' | 'supplied' | 'borrowed'
  readonly token: HeldToken
  /** Smallest units, above zero; of a debt too. */
  readonly amount: bigint
  /** Where it is, as answers show it: `{ family: 'aave-v3', market_id: 'main' }`. */
  readonly position: { readonly family: string; readonly [field: string]: string }
  /** By the family's own oracle if it has one to be trusted, else by the chain's sources of prices; or why there is none. */
  readonly price: UsdPriceOutcome
  /** Why it must not be counted, as far as the family alone can say. */
  readonly refused?: Refused
}

/** A token as a row shows it; undefined decimals make it unpriced. */
export type HeldToken = Pick<Token, 'address' | 'symbol' | 'name' | 'decimals'>

/** Why a holding is not counted, and the same in a sentence without a full stop. */
export interface Refused {
  readonly reason: 'spam' | 'withdrawal_reverts' | 'exceeds_liquidity'
  readonly detail: string
}

/** All that a family holds for a wallet on one chain, at one block. */
export interface Holdings {
  readonly block: Block
  /** In any order; none is of amount zero. */
  readonly rows: readonly Holding[]
  /** How many positions the wallet has, by the family's own count. If they are more than `positionsMax`, there are no rows. */
  readonly positions: number
  /** The family's own tokens that stand for what is in `rows`: they are no assets of the wallet. Checksummed. */
  readonly ownTokens: readonly Address[]
  /** What is missing from `rows`, in words for a list: `2 positions of uniswap-v3 that cannot be decoded`. */
  readonly notRead: readonly string[]
}

/** Where and when a wallet's holdings are asked for. */
export interface HoldingsPlace {
  readonly client: FinanceClient
  /** The block to read at; absent: the newest. */
  readonly block?: PinnedBlock
}

/** What one endpoint is asked. */
export interface HoldingsRequest {
  readonly endpoint: Endpoint
  /** The block to read at; absent: the newest. It may be given though the place has none. */
  readonly block?: PinnedBlock | undefined
  /** Most positions that are read. */
  readonly positionsMax: number
}

/**
 * Asks one endpoint for the wallet's holdings. The first call of a lens leaves before anything is awaited that takes a
 * turn of the event loop, so that it shares its `eth_call` with those of the other families. Throws as
 * `Endpoint.call`.
 */
export type AskHoldings = (request: HoldingsRequest, signal: AbortSignal) => Promise<Holdings>

/** Reads what wallets hold in a family. */
export interface HoldingsReader {
  /** Chains that have the family. */
  readonly chainIds: ReadonlySet<number>
  /**
   * Learns whatever must be known before the chain is asked in one call: which contracts stood at the block, what a
   * history says. Undefined if nothing of the family stood there. Throws `UnavailableError` until that is known.
   */
  open(wallet: Address, place: HoldingsPlace, signal: AbortSignal): Promise<AskHoldings | undefined>
}
