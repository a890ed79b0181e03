import { outlookMarkets } from '../../lending/outlook.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { getHealthFactor } from '../math/account.ts'
import { findLiquidationReasons } from '../math/rule.ts'
import type { ChainRead } from '../read/position.ts'
import { toLending } from './present.ts'

/** Says what is to be seen to in each market, and what it earns. */
export function outlookPools(read: ChainRead): PositionOutlook[] {
  const nameMarket = (market: string) => `Aave V3 market ${market}`
  return outlookMarkets(read, { family: 'aave-v3', nameMarket, getHealthFactor, findLiquidationReasons, toLending })
}
