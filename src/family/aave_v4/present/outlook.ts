import { outlookMarkets } from '../../lending/outlook.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { findLiquidationReasons, getHealthFactor } from '../math/account.ts'
import type { ChainRead } from '../read/position.ts'
import { toLending } from './present.ts'

/** Says what is to be seen to in each spoke, and what it earns. */
export function outlookSpokes(read: ChainRead): PositionOutlook[] {
  const nameMarket = (market: string) => `Aave V4 spoke ${market}`
  return outlookMarkets(read, { family: 'aave-v4', nameMarket, getHealthFactor, findLiquidationReasons, toLending })
}
