import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Address } from 'viem'

/** States of real contracts of Aave V4 and what they answered there, as the file has them: integers are texts. */
export interface Vectors {
  readonly howMade: string
  readonly snapshots: readonly Snapshot[]
}

export interface Snapshot {
  readonly label: string
  readonly world: {
    readonly now: string
    readonly hubs: Readonly<Record<Address, { readonly name: string; readonly assets: readonly VectorAsset[] }>>
    readonly spokes: Readonly<Record<Address, VectorSpoke>>
  }
  readonly answers: {
    readonly assets: Readonly<Record<Address, readonly { readonly drawnIndex: string; readonly addedAssets: string }[]>>
    readonly spokes: Readonly<Record<Address, Readonly<Record<Address, VectorAnswers>>>>
  }
}

type Texts<Names extends string> = Readonly<Record<Names, string>>

interface VectorAsset
  extends Texts<
    | ('liquidity' | 'realizedFees' | 'decimals' | 'addedShares' | 'swept' | 'premiumOffsetRay' | 'drawnShares')
    | ('premiumShares' | 'liquidityFee' | 'drawnIndex' | 'drawnRate' | 'lastUpdateTimestamp' | 'deficitRay' | 'symbol')
  > {
  readonly underlying: Address
  readonly irStrategy: Address
  readonly reinvestmentController: Address
  readonly feeReceiver: Address
  readonly spokes: Readonly<Record<Address, VectorShares>>
}

interface VectorShares
  extends Texts<
    | ('drawnShares' | 'premiumShares' | 'premiumOffsetRay' | 'addedShares' | 'addCap' | 'drawCap')
    | ('riskPremiumThreshold' | 'deficitRay')
  > {
  readonly active: boolean
  readonly halted: boolean
}

export interface VectorSpoke {
  readonly name: string
  readonly oracle: Address
  readonly liq: Texts<'targetHealthFactor' | 'healthFactorForMaxBonus' | 'liquidationBonusFactor'>
  readonly reserves: readonly {
    readonly underlying: Address
    readonly hub: Address
    readonly assetId: number
    readonly decimals: number
    readonly collateralRisk: string
    readonly flags: number
    readonly dynamicConfigKey: number
    /** Null where the oracle reverted. */
    readonly price: string | null
    readonly configs: readonly Texts<'collateralFactor' | 'maxLiquidationBonus' | 'liquidationFee'>[]
  }[]
  readonly users: Readonly<
    Record<
      Address,
      {
        readonly riskPremium: string
        /** Bit 2i: borrows reserve i; 2i + 1: uses it as collateral. */
        readonly word: string
        readonly positions: Readonly<Record<number, VectorPosition>>
      }
    >
  >
}

interface VectorPosition extends Texts<'drawnShares' | 'premiumShares' | 'premiumOffsetRay' | 'suppliedShares'> {
  readonly dynamicConfigKey: number
}

export interface VectorAnswers {
  readonly account?: Texts<
    | ('riskPremium' | 'avgCollateralFactor' | 'healthFactor' | 'totalCollateralValue' | 'totalDebtValueRay')
    | ('activeCollateralCount' | 'borrowCount')
  >
  /** Why `getUserAccountData` reverted. */
  readonly accountError?: string
  readonly reserves: Readonly<
    Record<
      number,
      Texts<'supplied' | 'drawnDebt' | 'premiumDebt' | 'premiumDebtRay'> &
        Partial<Texts<'liquidationBonus' | 'liquidationBonusAt' | 'maxWithdraw' | 'maxWithdrawStop'>>
    >
  >
  readonly refresh?: {
    readonly riskPremium: VectorRefresh
    readonly dynamicConfig: VectorRefresh
  }
}

/** What a refresh left behind, or the error that it reverted with. */
type VectorRefresh = Partial<Texts<'riskPremium' | 'healthFactor' | 'error'>>

/** Reads the vectors of the repository, or those that `AAVE_V4_VECTORS` names. */
export function readVectors(): Vectors {
  const path = process.env['AAVE_V4_VECTORS'] ?? join(import.meta.dir, 'vectors.json')
  return JSON.parse(readFileSync(path, 'utf8')) as Vectors
}
