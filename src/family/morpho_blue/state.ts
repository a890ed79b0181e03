import type { Address } from 'viem'
import type { Block } from '../../chain/block.ts'
import type { UsdAnswers } from '../../chain/price.ts'

/** What identifies a market: its id is the hash of these. */
export interface MarketParams {
  readonly loanToken: Address
  /** Zero, like the oracle and the model, in an idle market. */
  readonly collateralToken: Address
  readonly oracle: Address
  /** The interest-rate model. */
  readonly irm: Address
  /** Liquidation loan-to-value, 18 decimals. */
  readonly lltv: bigint
}

/** A market's books. Assets are raw units of the loan token. */
export interface MarketState {
  readonly totalSupplyAssets: bigint
  readonly totalSupplyShares: bigint
  readonly totalBorrowAssets: bigint
  readonly totalBorrowShares: bigint
  /** When interest was last accrued, seconds since the epoch. */
  readonly lastUpdateSec: bigint
  /** The part of the interest that the fee recipient is given, 18 decimals. */
  readonly feeWad: bigint
}

/** A wallet's books in a market. */
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
  /** What the model asks from now on, per second, 18 decimals; undefined where it does not answer. */
  readonly endRateWad: bigint | undefined
}

/** One market and one wallet in it as the chain says, unchecked. Undefined is what did not answer. */
export interface RawMarket {
  readonly params: MarketParams
  readonly market: MarketState
  readonly position: StoredPosition
  readonly feeRecipient: Address
  /** The model's average over the time since the last accrual, per second, 18 decimals; without a model undefined. */
  readonly averageRateWad: bigint | undefined
  /** Undefined where the contract cannot accrue, and without a model. */
  readonly accrued: AccruedByContract | undefined
  /** Raw units of the loan token per raw unit of the collateral, 36 decimals. */
  readonly oraclePrice: bigint | undefined
  readonly loanDecimals: bigint | undefined
  /** What the sources of the loan token's price say. */
  readonly usd: Pick<UsdAnswers, 'round' | 'aave'>
}

/** All that one reading yields, whichever way it was read. */
export interface RawRead {
  readonly block: Block
  /** Undefined where there is no such market. */
  readonly found: RawMarket | undefined
}
