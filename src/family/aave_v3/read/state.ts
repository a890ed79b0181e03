import type { Address, Hex } from 'viem'
import type { Block } from '../../../chain/block.ts'

/** What a version of the contracts can do. */
export interface Features {
  /** 3.2 and later: an eMode names its assets by bitmap, and one asset may be in several. */
  readonly liquidEModes: boolean
  /** 3.6 and later: an eMode can zero the LTV of one of its assets; outside eMode the reserve's own LTV counts. */
  readonly zeroLtvEModes: boolean
  /** 3.7 and later: isolated eModes replace isolation mode. */
  readonly isolatedEModes: boolean
}

/** One market, in the order in which it was asked for. */
export interface RawMarket {
  /** False if it does not answer or does not count in US dollars. */
  readonly answered: boolean
  /** Units of one US dollar in prices and account figures. */
  readonly unit: bigint
  readonly features: Features
}

/** A reserve that at least one of the wallets holds or has switched on. */
export interface RawReserve {
  readonly market: number
  /** Its index in the pool, which bitmaps use. */
  readonly id: number
  readonly asset: Address
  /** The bits of `ReserveConfigurationMap`. */
  readonly configuration: bigint
  readonly liquidityRateRay: bigint
  readonly variableBorrowRateRay: bigint
  /** Debt against this collateral in isolation mode, hundredths of a US dollar. */
  readonly isolationDebt: bigint
  /** Market units for a whole token, undefined if the oracle fails. */
  readonly price: bigint | undefined
  /** What the pool can pay out, token units. */
  readonly withdrawable: bigint
  /** First bytes of what `symbol` returned; undefined if it failed or answered far too much. */
  readonly symbol: Hex | undefined
}

/** The tokens of a reserve, and what its asset calls itself. */
export interface RawReserveTokens {
  readonly market: number
  readonly id: number
  readonly supplyToken: Address
  /** The zero address if the reserve has none. */
  readonly stableDebtToken: Address
  readonly variableDebtToken: Address
  readonly name: Hex | undefined
}

/** An eMode category that at least one of the wallets is in. */
export interface RawCategory {
  readonly market: number
  readonly id: number
  readonly answered: boolean
  readonly ltvBps: bigint
  readonly liquidationThresholdBps: bigint
  readonly collateralBitmap: bigint
  readonly zeroLtvBitmap: bigint
  readonly isolated: boolean
  /** Market units for a whole token of every asset in it, 0 if each has its own price. Only before 3.2. */
  readonly price: bigint
}

/** What `Pool.getUserAccountData` answers; money in market units, percentages in hundredths of a percent. */
export interface AccountData {
  readonly totalCollateral: bigint
  readonly totalDebt: bigint
  readonly availableBorrows: bigint
  readonly liquidationThresholdBps: bigint
  readonly ltvBps: bigint
  /** 10^18 is 1; 2^256 − 1 without debt. */
  readonly healthFactorWad: bigint
}

/** What a wallet has of one reserve, token units. */
export interface RawHolding {
  readonly reserve: number
  /** True if the wallet uses it as collateral. */
  readonly isCollateral: boolean
  readonly supplied: bigint
  readonly variableDebt: bigint
  readonly stableDebt: bigint
  /** The wallet's own rate, 0 without stable debt. */
  readonly stableRateRay: bigint
}

/** What one wallet has in one market; `wallet` and `market` are indexes into what was asked. */
export interface RawAccount {
  readonly wallet: number
  readonly market: number
  /** 0 outside eMode. */
  readonly category: number
  /** Undefined if the pool does not answer it. */
  readonly data: AccountData | undefined
  readonly holdings: readonly RawHolding[]
}

/** The part of a wallet's account in a market that could not be read. */
export type BrokenPart = 'configuration' | 'supplied' | 'debt' | 'category'

/** A wallet whose account in a market could not be read. */
export interface BrokenAccount {
  readonly wallet: number
  readonly market: number
  readonly part: BrokenPart
}

/** The result of one reading of a chain; the same for every way of reading. */
export interface RawRead {
  readonly block: Block
  /** Wallets that this page covers, those without anything included. */
  readonly taken: number
  readonly markets: readonly RawMarket[]
  readonly reserves: readonly RawReserve[]
  readonly categories: readonly RawCategory[]
  readonly accounts: readonly RawAccount[]
  readonly broken: readonly BrokenAccount[]
}
