import type { Address } from 'viem'
import vectors from './vectors.json'

type Texts<Names extends string> = Readonly<Record<Names, string>>

/** Two markets of real contracts and what they answered there, as the file has them: integers are texts. */
export interface World {
  readonly contract: string
  readonly block: { readonly number: number; readonly timestamp: string }
  readonly comet: Address
  readonly rewards: Address
  readonly base: Address
  readonly rewardToken: Address
  readonly basePrice8: string
  readonly collaterals: readonly VectorCollateral[]
  readonly parameters: Texts<
    | ('supplyKink' | 'supplyPerSecondInterestRateSlopeLow' | 'supplyPerSecondInterestRateSlopeHigh')
    | ('supplyPerSecondInterestRateBase' | 'borrowKink' | 'borrowPerSecondInterestRateSlopeLow')
    | ('borrowPerSecondInterestRateSlopeHigh' | 'borrowPerSecondInterestRateBase' | 'baseTrackingSupplySpeed')
    | ('baseTrackingBorrowSpeed' | 'baseMinForRewards' | 'trackingIndexScale' | 'baseScale' | 'baseBorrowMin')
  >
  readonly totals: Texts<Totals>
  /** The same up to the block, as the contracts stored it then, and the rates between. */
  readonly accruedNow: Texts<Totals | 'utilization' | 'supplyRate' | 'borrowRate'>
  readonly accounts: readonly VectorAccount[]
}

type Totals =
  | ('baseSupplyIndex' | 'baseBorrowIndex' | 'trackingSupplyIndex' | 'trackingBorrowIndex')
  | ('totalSupplyBase' | 'totalBorrowBase' | 'lastAccrualTime')

interface VectorCollateral extends Texts<'price8' | 'borrowCF' | 'liquidateCF' | 'liquidationFactor'> {
  readonly asset: Address
  readonly decimals: number
}

export interface VectorAccount
  extends Texts<
    | ('principal' | 'baseTrackingIndex' | 'baseTrackingAccrued' | 'assetsIn' | 'reserved' | 'supplied' | 'owed')
    | ('rewardsClaimed' | 'rewardOwed')
  > {
  readonly wallet: Address
  readonly collateral: readonly ({ readonly asset: Address } & Texts<'balance' | 'value8'>)[]
  /** By the index that was stored. */
  readonly isLiquidatableByContract: boolean
  readonly isLiquidatableAfterAccrual: boolean
  readonly isBorrowCollateralized: boolean
  /** What was paid when it was done at that time; negative if the wallet paid it. */
  readonly executed: Readonly<
    Partial<Record<'withdrawAll' | 'repayAll' | 'absorb' | 'claim', Texts<'timestamp' | 'paid'>>>
  >
}

/** The worlds of the vectors. */
export const WORLDS = toTexts(vectors.worlds) as unknown as readonly World[]

/** The file has some integers as numbers. */
function toTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toTexts)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      typeof each === 'number' && !['decimals', 'number'].includes(name) ? String(each) : toTexts(each),
    ]),
  )
}
