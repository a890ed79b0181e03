import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { FeeGrowth, TokenAmounts } from '../../../finance/math/liquidity.ts'
import type { UsdAnswers } from '../../../finance/price/price.ts'
import type { RawToken } from '../../../finance/token/token.ts'

/** One pool; tokens are indexes into the read's list of tokens. */
export interface RawPool {
  readonly manager: number
  readonly address: Address
  readonly token0: number
  readonly token1: number
  /** Hundredths of a bip. */
  readonly fee: number
  readonly sqrtPriceX96: bigint
  readonly tick: number
  readonly global: FeeGrowth
}

/** The part of a position that could not be read. */
export type BrokenPart = 'id' | 'position' | 'pool' | 'tick' | 'owner'

/** A position that exists but could not be read in full. */
export interface BrokenPosition {
  readonly manager: number
  /** 0 if the id itself could not be read. */
  readonly tokenId: bigint
  readonly part: BrokenPart
}

/** What a list needs to sort and count a position; `manager` and `pool` are indexes into the read's lists. */
export interface RawBrief {
  readonly manager: number
  readonly tokenId: bigint
  readonly pool: number
  readonly liquidity: bigint
}

/** One position. */
export interface RawPosition extends RawBrief {
  readonly owner: Address
  readonly tickLower: number
  readonly tickUpper: number
  readonly insideLast: FeeGrowth
  readonly owed: TokenAmounts
  /** Counters at both ends of its range; absent without liquidity: such a position earns nothing. */
  readonly outside: { readonly lower: FeeGrowth; readonly upper: FeeGrowth } | undefined
}

/** A token with what the sources of its price answer; nothing in a reading in brief. */
export interface RawPricedToken extends RawToken {
  readonly usd: UsdAnswers
}

/** The result of a page of a long list: its positions in brief and what is needed to find spam and unreadable ones. */
export interface RawScan {
  readonly block: Block
  /** In the order of the deployments; `balance` is undefined if the manager does not answer. */
  readonly managers: readonly { readonly balance: number | undefined }[]
  /** Entries of the wallet's list that this page covers, broken ones included. */
  readonly taken: number
  readonly tokens: readonly RawPricedToken[]
  readonly pools: readonly RawPool[]
  readonly positions: readonly RawBrief[]
  readonly broken: readonly BrokenPosition[]
}

/** The result of one reading of a chain; the same for every way of reading. */
export interface RawRead extends RawScan {
  readonly positions: readonly RawPosition[]
}
