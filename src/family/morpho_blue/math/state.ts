import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { UsdAnswers } from '../../../finance/price/price.ts'
import type { RawToken } from '../../../finance/token/token.ts'

/** What identifies a market: its id is the hash of these. */
export interface MarketParams {
  readonly loanToken: Address
  /** Zero, like the oracle and the model, in an idle market. */
  readonly collateralToken: Address
  readonly oracle: Address
  /** The interest-rate model. */
  readonly irm: Address
  /**
   * Liquidation loan-to-value that the market was made with: of the contract, 18 decimals.
   *
   * @figure morpho-blue/lltv
   * @source Morpho.sol `idToMarketParams`
   * @proof test/family/morpho_blue/list/list_test.ts
   */
  readonly lltv: bigint
}

/** What Morpho stores of a market. Assets are raw units of the loan token. */
export interface MarketState {
  readonly totalSupplyAssets: bigint
  readonly totalSupplyShares: bigint
  readonly totalBorrowAssets: bigint
  readonly totalBorrowShares: bigint
  /** When interest was last accrued, seconds since the epoch. */
  readonly lastUpdateSec: bigint
  /** The part of the interest that the fee recipient gets, 18 decimals. */
  readonly feeWad: bigint
}

/** What Morpho stores of a wallet in a market. */
export interface StoredPosition {
  readonly supplyShares: bigint
  readonly borrowShares: bigint
  /** Raw units of the collateral token. */
  readonly collateral: bigint
}

/** A market and a wallet in it after the contract itself has accrued, inside the read. */
export interface AccruedByContract {
  readonly market: MarketState
  readonly position: StoredPosition
  /** The model's borrow rate from now on, per second, 18 decimals; undefined if it does not answer. */
  readonly endRateWad: bigint | undefined
}

/** One market and one wallet in it as the chain answers, unchecked. What did not answer is undefined. */
export interface RawMarket {
  readonly params: MarketParams
  readonly market: MarketState
  readonly position: StoredPosition
  /** The model's average rate since the last accrual, per second, 18 decimals; undefined without a model. */
  readonly averageRateWad: bigint | undefined
  /** Undefined if the contract cannot accrue or the market has no model. */
  readonly accrued: AccruedByContract | undefined
  /** Raw units of the loan token per raw unit of the collateral, 36 decimals. */
  readonly oraclePrice: bigint | undefined
  readonly loan: RawToken
  /** Of the zero address in an idle market. */
  readonly collateralToken: RawToken
  /** What the sources of the tokens' prices say. */
  readonly loanUsd: UsdAnswers
  readonly collateralUsd: UsdAnswers
}

/** A market that was asked for: Morpho does not have it, the wallet has nothing in it, or what it has. */
export type RawEntry = 'no_market' | 'no_position' | RawMarket

/** The result of one reading; the same for every way of reading. */
export interface RawRead {
  readonly block: Block
  readonly feeRecipient: Address
  /** How many of the markets it answers, from the first on. */
  readonly taken: number
  readonly entries: readonly RawEntry[]
}
