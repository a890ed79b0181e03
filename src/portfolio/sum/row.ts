import type { Block } from '../../chain/block.ts'
import type { AccountToken, HeldToken, Holding, HoldingExclusion, HoldingsSearch } from '../../family/holding.ts'
import type { NoPrice, PriceMark, UsdPrice } from '../../finance/price/price.ts'
import type { Decimal } from '../../lib/number/decimal.ts'

/** Kinds of rows, in the order in which rows of equal value are sorted. */
export const ROW_KINDS = ['wallet', 'liquidity', 'supplied', 'borrowed'] as const
export type RowKind = (typeof ROW_KINDS)[number]

/** Reasons for not counting a row, in order of precedence. */
export const UNCOUNTED_REASONS = [
  'spam',
  'withdrawal_reverts',
  'unlisted',
  'stale',
  'unpriced',
  'thin',
  'exceeds_liquidity',
] as const
export type UncountedReason = (typeof UNCOUNTED_REASONS)[number]

/** An amount of one token that a wallet has or owes, at the block or slot of its chain's read. */
export interface HeldAsset {
  readonly chainId: number
  readonly kind: RowKind
  readonly token: HeldToken | AccountToken
  /** Smallest units, above zero, also for a debt. */
  readonly amount: bigint
  readonly price: Pricing
  /** True if the token is on no list and in no accepted position. */
  readonly isUnlisted: boolean
  /** Any other reason against counting it. */
  readonly refused: HoldingExclusion | undefined
  /** Null for tokens in the wallet itself. */
  readonly position: Holding['position'] | null
  /** Solana: true if the account is frozen. */
  readonly frozen?: true
  /** The asset's own slot, if assets of one answer were read at several Solana slots. */
  readonly slot?: bigint
}

/** Assets and debts of a wallet on one chain, at one block or slot. */
export interface AssetsRead {
  readonly block: Pick<Block, 'chainId' | 'number'>
  readonly assets: readonly HeldAsset[]
  /** Number of tokens whose balance was read, without the native one. */
  readonly tokensAsked: number
  /** Holdings that were not read, as items of a list. */
  readonly notRead: readonly string[]
  /** Number of single-unit tokens without decimals, which are not assets; absent if they were not read. */
  readonly nfts?: number
  /** How families found positions, if there may be more. */
  readonly searches?: readonly (HoldingsSearch & { readonly family: string })[]
}

/** A price, or why there is none. */
export type Pricing = Priced | NoPrice

/** A price. */
export interface Priced {
  readonly kind: 'price'
  readonly price: UsdPrice
  /** The price of a debt, if it is another. */
  readonly debtPrice?: UsdPrice
  /** US dollars that the token's pools pay: the upper bound for the value of all its assets. */
  readonly boundUsd?: Decimal
  /** Marks of a price by pools. */
  readonly marks?: readonly PriceMark[]
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
