import type { Address, Hex } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { UsdAnswers } from '../../../finance/price/price.ts'
import type { RawToken } from '../../../finance/token/token.ts'

/** A collateral that a market takes. */
export interface CollateralTerms {
  readonly token: Address
  /** Part of its worth that counts against the debt, 18 decimals. */
  readonly lltvWad: bigint
  readonly oracle: Address
}

/** Terms of a market, whose hash is its id. They never change. */
export interface MarketTerms {
  readonly loanToken: Address
  readonly collaterals: readonly CollateralTerms[]
  /** Unix seconds; from the second after it on, any debt can be liquidated. */
  readonly maturitySec: bigint
  /** The terms as `abi.encode` writes them, as which they stand on the chain and go into calls. */
  readonly encoded: Hex
}

/** A wallet's stored position in a market. Credit and debt are raw units of the loan token, at par. */
export interface StoredPosition {
  /** As of `lastAccrualSec`: later losses and fees are not taken from it yet. */
  readonly credit: bigint
  /** Fee on the credit that accrues up to maturity. */
  readonly pendingFee: bigint
  readonly lastLossFactor: bigint
  readonly lastAccrualSec: bigint
  readonly debt: bigint
}

/** What of a market's state a position depends on. */
export interface MarketState {
  /** Part of all credit that was lost to bad debts, of 2^128 − 1. */
  readonly lossFactor: bigint
  /** What lenders can withdraw, all together: raw units of the loan token. */
  readonly withdrawable: bigint
}

/** A collateral that a wallet has in a market. */
export interface HeldCollateral {
  /** Place among the market's collaterals. */
  readonly index: number
  /** Raw units. */
  readonly amount: bigint
  /** Raw units of the loan token per raw unit, 36 decimals; undefined if its oracle is silent, or was not asked. */
  readonly oraclePrice: bigint | undefined
}

/** A token as read, with the answers of its price sources. */
export interface RawPricedToken {
  readonly token: RawToken
  readonly usd: UsdAnswers
}

/** One market and a wallet's position in it as read, unchecked. */
export interface RawMarket extends MarketState {
  readonly position: StoredPosition
  readonly terms: Hex
  readonly loan: RawPricedToken
  readonly collaterals: readonly (HeldCollateral & { readonly token: RawPricedToken })[]
}

/** Result for a requested market: no such market, no position of the wallet, or the market with the position. */
export type RawEntry = 'no_market' | 'no_position' | RawMarket

/** The result of one reading; the same for every mode of reading. */
export interface RawRead {
  readonly block: Block
  /** Number of requested markets with an entry, from the first on. */
  readonly taken: number
  readonly entries: readonly RawEntry[]
}
