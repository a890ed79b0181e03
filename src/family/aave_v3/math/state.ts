/** Features of a version of the contracts. */
export interface Features {
  /** 3.2 and later: an eMode names its assets by bitmap, and one asset may be in several. */
  readonly liquidEModes: boolean
  /** 3.6 and later: an eMode can zero the LTV of one of its assets; outside eMode the reserve's own LTV counts. */
  readonly zeroLtvEModes: boolean
  /** 3.7 and later: isolated eModes replace isolation mode. */
  readonly isolatedEModes: boolean
}

/** A reserve that is active, neither paused nor frozen: only such a one lends. */
export interface Lender {
  /** Index of the reserve in the pool, which bitmaps use. */
  readonly id: number
  /** True if it lends outside eModes; before 3.6 it lends nowhere else either. */
  readonly isEnabled: boolean
  /** True if it lends against isolated collateral. Only before 3.7. */
  readonly isEnabledInIsolation: boolean
  /** True if a wallet that owes it may owe nothing else. */
  readonly isSiloed: boolean
  /** The one eMode category of the reserve before 3.2. */
  readonly legacyCategory: number
}

/** What the sentinel of a chain's sequencer refuses; nothing on a chain without one. */
export interface Sentinel {
  readonly refusesLoans: boolean
  readonly delaysLiquidations: boolean
}

/** Limits from a reserve's configuration bits. Source: `ReserveConfiguration`, the same bits in every version. */
export interface ReserveLimits {
  readonly ltvBps: bigint
  readonly liquidationThresholdBps: bigint
  readonly decimals: number
  /** Active and not paused: supplies can be taken out. */
  readonly isOpen: boolean
  readonly isPaused: boolean
  /** The one eMode category of the reserve before 3.2. */
  readonly legacyCategory: number
  /** True if a wallet that owes it may owe nothing else. */
  readonly isSiloed: boolean
  /** Hundredths of a US dollar, 0 if the reserve may back any debt. Only before 3.7. */
  readonly debtCeiling: bigint
}

/** Decodes the bits of `ReserveConfigurationMap`. */
export function decodeLimits(configuration: bigint): ReserveLimits {
  const bits = (from: bigint, count: bigint): bigint => (configuration >> from) & ((1n << count) - 1n)
  return {
    ltvBps: bits(0n, 16n),
    liquidationThresholdBps: bits(16n, 16n),
    decimals: Number(bits(48n, 8n)),
    isOpen: bits(56n, 1n) === 1n && bits(60n, 1n) === 0n,
    isPaused: bits(60n, 1n) === 1n,
    isSiloed: bits(62n, 1n) === 1n,
    legacyCategory: Number(bits(168n, 8n)),
    debtCeiling: bits(212n, 40n),
  }
}

/** An eMode category that at least one of the wallets is in. */
export interface RawCategory {
  /** Index into the requested markets. */
  readonly market: number
  readonly id: number
  readonly answered: boolean
  readonly ltvBps: bigint
  readonly liquidationThresholdBps: bigint
  readonly collateralBitmap: bigint
  readonly zeroLtvBitmap: bigint
  /** Reserves that it lends. Since 3.2. */
  readonly borrowableBitmap: bigint
  readonly isolated: boolean
  /** Market units for a whole token of every asset of the category, 0 if each has its own price. Only before 3.2. */
  readonly price: bigint
}

/** Result of `Pool.getUserAccountData`; money in market units, percentages in hundredths of a percent. */
export interface AccountData {
  readonly totalCollateral: bigint
  readonly totalDebt: bigint
  readonly availableBorrows: bigint
  readonly liquidationThresholdBps: bigint
  readonly ltvBps: bigint
  /** 10^18 is 1; 2^256 − 1 without debt. */
  readonly healthFactorWad: bigint
}

/** A wallet's holding of one reserve, token units. */
export interface RawHolding {
  /** Index of the reserve in the pool, which bitmaps use. */
  readonly reserve: number
  /** True if the wallet uses it as collateral. */
  readonly isCollateral: boolean
  readonly supplied: bigint
  readonly variableDebt: bigint
  readonly stableDebt: bigint
  /** The wallet's own rate, 0 without stable debt. */
  readonly stableRateRay: bigint
}
