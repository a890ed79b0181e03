import type { Block } from '../../chain/block.ts'
import type { AccountToken, HeldToken, Holding, HoldingExclusion, HoldingsSearch } from '../../family/holding.ts'
import type { NoPrice, UsdPrice } from '../../finance/price/price.ts'
import type { Decimal } from '../../lib/number/decimal.ts'

/** What a row is of, in the order in which rows of one value stand. */
export const ROW_KINDS = ['wallet', 'liquidity', 'supplied', 'borrowed'] as const
export type RowKind = (typeof ROW_KINDS)[number]

/** Why a row is not counted; if several apply, the first. */
export const UNCOUNTED_REASONS = [
  'spam',
  'withdrawal_reverts',
  'unlisted',
  'stale',
  'unpriced',
  'thin',
  'young',
  'moved',
  'exceeds_liquidity',
] as const
export type UncountedReason = (typeof UNCOUNTED_REASONS)[number]

/** Some of one token that a wallet has or owes somewhere, at the block or slot of its chain's reading. */
export interface HeldAsset {
  readonly chainId: number
  readonly kind: RowKind
  readonly token: HeldToken | AccountToken
  /** Smallest units, above zero; of a debt too. */
  readonly amount: bigint
  readonly price: Pricing
  /** True if no list has the token, and no position that is not refused. */
  readonly isUnlisted: boolean
  /** What is known against it besides. */
  readonly refused: HoldingExclusion | undefined
  /** Null in the wallet itself. */
  readonly position: Holding['position'] | null
  /** True if nobody may move it, on Solana. */
  readonly frozen?: true
  /** Its own, if assets of one answer are of several slots of Solana. */
  readonly slot?: bigint
}

/** All that a wallet has and owes on one chain, at one block or slot. */
export interface AssetsRead {
  readonly block: Pick<Block, 'chainId' | 'number'>
  readonly assets: readonly HeldAsset[]
  /** How many tokens were asked for a balance, the native one apart. */
  readonly tokensAsked: number
  /** What is missing, in words for a list. */
  readonly notRead: readonly string[]
  /** How many tokens of one unit without decimals it has, which are not assets; absent if nobody looked. */
  readonly nfts?: number
  /** How families found positions, if there may be others. */
  readonly searches?: readonly (HoldingsSearch & { readonly family: string })[]
}

/** A price, or why there is none. */
export type Pricing = Priced | NoPrice

/** A price. */
export interface Priced {
  readonly kind: 'price'
  readonly price: UsdPrice
  /** US dollars of the tokens in the pool that the price is from: all rows of the token may be worth no more. */
  readonly liquidityUsd?: Decimal
}

/** An asset and whether it is counted. */
export interface Row extends Pick<HeldAsset, 'chainId' | 'kind' | 'token' | 'amount' | 'position'> {
  readonly frozen: HeldAsset['frozen'] | undefined
  readonly slot: HeldAsset['slot'] | undefined
  readonly price: UsdPrice | undefined
  readonly verdict: Verdict
}

/** Whether a row is counted. */
export type Verdict =
  | { readonly counted: true; readonly value: Decimal }
  | { readonly counted: false; readonly reason: UncountedReason; readonly detail: string }
