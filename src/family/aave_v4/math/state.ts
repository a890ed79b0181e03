import type { Address } from 'viem'
import type { RawToken } from '../../../finance/token/token.ts'

/** How a reserve counts, by a key of its configuration. */
export interface Configuration {
  /** Hundredths of a percent. */
  readonly collateralFactorBps: bigint
  /** Hundredths of a percent; 10,000 is none. */
  readonly liquidationBonusBps: bigint
}

/** A spoke's terms. */
export interface SpokeTerms {
  /** 0 if it tells none. */
  readonly revision: number
  readonly liquidation: LiquidationTerms | undefined
  /** True if any of its reserves lends. */
  readonly lends: boolean
}

export interface LiquidationTerms {
  /**
   * Health factor to which a liquidation restores an account, 18 decimals.
   *
   * @figure aave-v4/targetHealthFactor
   * @source Aave V4 `Spoke.getLiquidationConfig`
   * @proof test/contract/family/aave_v4/vectors_test.ts
   */
  readonly targetHealthFactorWad: bigint
  /** Health factor from which down the bonus is greatest, 18 decimals. */
  readonly greatestBonusAtWad: bigint
  /** Least bonus as a part of the greatest, hundredths of a percent. */
  readonly leastBonusFactorBps: bigint
}

/** What a hub keeps of a reserve's asset, interest included, and of it for the spoke. */
export interface HubAsset {
  readonly revision: number
  /** Token units that it can pay out. */
  readonly liquidity: bigint
  readonly addedShares: bigint
  readonly drawnShares: bigint
  readonly premiumShares: bigint
  /** Part of the interest that suppliers do not get, hundredths of a percent. */
  readonly feeBps: bigint
  /** Yearly, ray. */
  readonly drawnRateRay: bigint
  /** Token units of a drawn share, ray. */
  readonly drawnIndexRay: bigint
  /** Token units behind all added shares. */
  readonly addedAssets: bigint
  readonly spoke: {
    readonly drawnShares: bigint
    readonly premiumShares: bigint
    /** Premium shares may be so much of the drawn ones, hundredths of a percent; 2^24 − 1 is no limit. */
    readonly premiumThresholdBps: bigint
    readonly isActive: boolean
    readonly isHalted: boolean
  }
}

/** A reserve of a spoke. */
export interface RawReserve {
  /** Index of the spoke in the request. */
  readonly spoke: number
  readonly id: number
  readonly hub: Address
  readonly assetId: number
  readonly decimals: number
  /** Hundredths of a percent. */
  readonly collateralRiskBps: bigint
  readonly isPaused: boolean
  readonly latestKey: number
  readonly latest: Configuration
  /** US dollars of a whole token, 8 decimals; undefined if the oracle has none. */
  readonly price: bigint | undefined
  /** Undefined if the hub does not answer, or the spoke about `latest`. */
  readonly asset: HubAsset | undefined
  readonly token: RawToken
}

/** What a wallet has in one reserve. */
export interface RawHolding {
  readonly reserveId: number
  /** Flags of the wallet, whether or not it supplies or owes. */
  readonly isCollateral: boolean
  readonly isBorrowing: boolean
  readonly drawnShares: bigint
  readonly premiumShares: bigint
  readonly premiumOffsetRay: bigint
  readonly suppliedShares: bigint
  /** The wallet's own key of the configuration. */
  readonly key: number
  readonly own: Configuration
  /** Amounts with interest, token units. */
  readonly supplied: bigint
  readonly drawn: bigint
  readonly premium: bigint
  /** False if the spoke did not return its amounts or configuration. */
  readonly hasAnswered: boolean
}

/** `getUserAccountData`: values in 10^-26 US dollars, the debt also in ray. */
export interface AccountData {
  /** After a refresh, hundredths of a percent. */
  readonly riskPremiumBps: bigint
  readonly collateralFactorWad: bigint
  readonly healthFactorWad: bigint
  readonly collateralValue: bigint
  readonly debtValueRay: bigint
}
