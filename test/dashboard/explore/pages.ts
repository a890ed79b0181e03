import { join } from 'node:path'
import type { PresentedPosition } from '../../../src/family/aave_v3/present/schema.ts'

/*
 * What the pages count, for tests. They are plain JavaScript, which this compiler does not read: their types are here.
 */

const EXPLORE = join(import.meta.dir, '../../../src/dashboard/explore')

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
  roomOf(legs: Legs): number
}

interface LegsOf {
  aaveLegs(position: PresentedPosition): Legs
  morphoLegs(position: object): Legs | undefined
  kaminoLegs(position: object, figures: object): Legs | undefined
}

export const { whatIf, liquidationAt, roomOf }: WhatIf = await import(join(EXPLORE, 'lending/what_if.js'))
export const { aaveLegs, morphoLegs, kaminoLegs }: LegsOf = await import(join(EXPLORE, 'lending/legs.js'))
