import type { UsdAnswers } from '../../../finance/price/price.ts'
import type { RawToken } from '../../../finance/token/token.ts'

/** What a market stored at its last accrual. Principals are amounts ÷ index; indices have 15 decimals. */
export interface MarketTotals {
  readonly baseSupplyIndex: bigint
  readonly baseBorrowIndex: bigint
  readonly trackingSupplyIndex: bigint
  readonly trackingBorrowIndex: bigint
  readonly totalSupplyBase: bigint
  readonly totalBorrowBase: bigint
  readonly lastAccrualSec: bigint
  readonly pauseFlags: number
}

/** A market's constants, which an upgrade of its implementation changes, and its rates by the market itself. */
export interface MarketTerms {
  /** 10^decimals of the base token. */
  readonly baseScale: bigint
  /** Per second, 18 decimals. */
  readonly supplyRateWad: bigint
  readonly borrowRateWad: bigint
  /** Rewards a second to all suppliers and to all borrowers, in units of `trackingIndexScale`. */
  readonly supplySpeed: bigint
  readonly borrowSpeed: bigint
  readonly trackingIndexScale: bigint
  /** Below this total principal nothing is given to a side. */
  readonly minForRewards: bigint
}

/** A token and what its price sources answer. */
interface PricedRawToken {
  readonly token: RawToken
  readonly usd: UsdAnswers
}

/** How a market's rewards are paid. */
export interface RawReward extends PricedRawToken {
  readonly rescaleFactor: bigint
  /** True if what is accrued is multiplied by that factor, false if it is divided. */
  readonly isUpscaled: boolean
  readonly multiplierWad: bigint
  /** Tokens that are there to pay. */
  readonly funds: bigint
}

/** A market, as it is stored. */
export interface RawMarket extends PricedRawToken {
  /** Index in the request. */
  readonly market: number
  readonly totals: MarketTotals
  readonly terms: MarketTerms
  /** By the market's own feed, 8 decimals, in dollars or in the base token; undefined if it has none. */
  readonly price: bigint | undefined
  /** Base tokens that are there to pay out. */
  readonly idle: bigint
  /** Undefined if it gives none, unknown if its rewards contract does not answer. */
  readonly reward: RawReward | 'unknown' | undefined
}

/** A collateral of a market. */
export interface RawCollateral extends PricedRawToken {
  readonly market: number
  readonly index: number
  /** By the market's own feed, in the unit of the base token's; undefined if it has none. */
  readonly price: bigint | undefined
  /** 10^decimals. */
  readonly scale: bigint
  /** Parts of the worth, 18 decimals, that can be borrowed, and above which the debt can be liquidated. */
  readonly borrowFactorWad: bigint
  readonly liquidateFactorWad: bigint
}

/** A wallet's account in a market, as it is stored. */
export interface RawAccount {
  /** Indexes in the request. */
  readonly wallet: number
  readonly market: number
  /** Negative if it owes. */
  readonly principal: bigint
  readonly trackingIndex: bigint
  readonly trackingAccrued: bigint
  /** Rewards that were paid; undefined if the contract does not tell. */
  readonly claimed: bigint | undefined
  /** Collaterals by their index, none of amount zero. */
  readonly collaterals: readonly { readonly index: number; readonly amount: bigint }[]
}
