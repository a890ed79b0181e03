import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { UsdAnswers } from '../../../finance/price/price.ts'
import type { RawToken } from '../../../finance/token/token.ts'

/** Parameters of a market, whose hash is its id. */
export interface MarketParams {
  readonly loanToken: Address
  /** The zero address in an idle market, like the oracle and the model. */
  readonly collateralToken: Address
  readonly oracle: Address
  /** The interest-rate model. */
  readonly irm: Address
  /**
   * Liquidation loan-to-value that the market was created with, from the contract, 18 decimals.
   *
   * @figure morpho-blue/lltv
   * @source Morpho.sol `idToMarketParams`
   * @proof test/contract/family/morpho_blue/list/list_test.ts
   */
  readonly lltv: bigint
}

/** The stored state of a market. Assets are raw units of the loan token. */
export interface MarketState {
  readonly totalSupplyAssets: bigint
  readonly totalSupplyShares: bigint
  readonly totalBorrowAssets: bigint
  readonly totalBorrowShares: bigint
  /** Time of the last accrual, seconds since the epoch. */
  readonly lastUpdateSec: bigint
  /** Share of the interest for the fee recipient, 18 decimals. */
  readonly feeWad: bigint
}

/** The stored position of a wallet in a market. */
export interface StoredPosition {
  readonly supplyShares: bigint
  readonly borrowShares: bigint
  /** Raw units of the collateral token. */
  readonly collateral: bigint
}

/** A market and a wallet's position after the contract itself has accrued, inside the read. */
export interface AccruedByContract {
  readonly market: MarketState
  readonly position: StoredPosition
  /** The model's borrow rate from now on, per second, 18 decimals; undefined if it does not answer. */
  readonly endRateWad: bigint | undefined
}

/** One market and a wallet's position as read, unchecked. Calls that failed are undefined. */
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
  /** The zero address in an idle market. */
  readonly collateralToken: RawToken
  /** Answers of the tokens' price sources. */
  readonly loanUsd: UsdAnswers
  readonly collateralUsd: UsdAnswers
}

/** Result for a requested market: no such market, no position of the wallet, or the market with the position. */
export type RawEntry = 'no_market' | 'no_position' | RawMarket

/** The result of one reading; the same for every mode of reading. */
export interface RawRead {
  readonly block: Block
  readonly feeRecipient: Address
  /** Number of requested markets with an entry, from the first on. */
  readonly taken: number
  readonly entries: readonly RawEntry[]
}
