import { join } from 'node:path'
import type { PresentedPosition } from '../../../../src/family/aave_v3/present/schema.ts'

/*
 * Calculations of the pages, for tests. The pages are compiled apart, with the types of browsers, so what tests use of them is
 * declared here.
 */

const EXPLORE = join(import.meta.dir, '../../../../src/dashboard/explore')

export interface Leg {
  readonly id: string
  readonly symbol: string
  readonly usd: number
  readonly weight: number
}

export interface Legs {
  readonly supplies: readonly Leg[]
  readonly debts: readonly Leg[]
}

export interface Steps {
  readonly prices: Readonly<Record<string, number>>
  readonly borrowed: Readonly<Record<string, number>>
}

interface WhatIf {
  whatIf(
    legs: Legs,
    steps: Steps,
  ): { readonly healthFactor: number; readonly collateral: number; readonly debt: number; readonly ltv: number }
  liquidationAt(legs: Legs, id: string): number | undefined
  computeBorrowRoom(legs: Legs): number
}

interface Withdrawals {
  formatWithdrawal(asset: {
    readonly withdrawable?: { readonly amount: string | null; readonly usd: string | null } | null
    readonly limited_by?: string | null
  }): string | undefined
}

interface LegConverters {
  aaveLegs(position: PresentedPosition): Legs
  morphoLegs(position: object): Legs | undefined
  kaminoLegs(position: object, figures: object): Legs | undefined
}

export const { whatIf, liquidationAt, computeBorrowRoom }: WhatIf = await import(join(EXPLORE, 'lending/what_if.ts'))
export const { formatWithdrawal }: Withdrawals = await import(join(EXPLORE, 'lending/withdrawal.ts'))
export const { aaveLegs, morphoLegs, kaminoLegs }: LegConverters = await import(join(EXPLORE, 'lending/legs.ts'))

/** Fields of a position that its order and the totals depend on. */
export interface ShownPosition {
  readonly token_id: string
  readonly is_active: boolean
  readonly in_range?: boolean
  readonly usd?: { readonly total: string | null; readonly uncollected_fees: string | null }
  readonly pnl?: { readonly pnl_usd_value: string } | null
  readonly withdrawable_error?: string
}

interface Sum {
  readonly usd: string
  readonly count: number
}

interface Totals {
  computeTotals(positions: readonly ShownPosition[]): Readonly<Record<string, number | Sum>>
}

interface Bounds {
  atBounds(state: {
    readonly liquidity: string
    readonly tickLower: string
    readonly tickUpper: string
    readonly token0: { readonly decimals: number }
    readonly token1: { readonly decimals: number }
  }): { readonly token0: string; readonly token1: string }
}

interface Whole {
  readonly amount: string
}

/** Fields of a flow that a fee APR depends on. */
export interface FlowRow {
  readonly type: 'increase' | 'decrease' | 'collect' | 'stake' | 'unstake' | 'reward'
  readonly custodian?: object
  readonly timestamp: number
  readonly liquidity: string
  readonly fees?: { readonly token0: Whole; readonly token1: Whole }
}

type Rate = { readonly apr: number } | { readonly reason: string }

interface Lifetime {
  readonly openedSec: number | undefined
  readonly closedSec: number | undefined
  readonly wasEmpty: boolean
}

interface FeeAprs {
  computeLifetime(flows: readonly FlowRow[], isActive: boolean): Lifetime
  rewardAprSinceOpening(input: { readonly pnl: object; readonly lifetime: Lifetime; readonly untilSec: number }): Rate
  listFlows(events: readonly FlowRow[]): readonly FlowRow[]
  feeAprOfDays(input: {
    readonly before: object
    readonly now: object
    readonly flows: readonly FlowRow[]
    readonly fromSec: number
    readonly untilSec: number
  }): Rate
}

export const { computeTotals }: Totals = await import(join(EXPLORE, 'liquidity/totals.ts'))
export const { atBounds }: Bounds = await import(join(EXPLORE, 'liquidity/bounds.ts'))
export const { computeLifetime, rewardAprSinceOpening, listFlows, feeAprOfDays }: FeeAprs = await import(
  join(EXPLORE, 'liquidity/fee_apr.ts')
)
