import type { Block } from '../../../chain/block.ts'
import { outlookLending } from '../../lending/outlook.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { findLiquidationReasons } from '../math/rule.ts'
import type { HeldRead } from '../read/position.ts'
import { computePositionHealth } from './list.ts'
import { toYieldPosition } from './yield.ts'

/** Says what is to be seen to in a market, and what it earns. */
export function outlookMarket(read: HeldRead, { timestampSec }: Pick<Block, 'timestampSec'>): PositionOutlook {
  const held = read.kind === 'position' ? read.position : read.held
  const { marketId, loan, collateralToken } = held
  const health = computePositionHealth(held)
  const pair = [collateralToken, loan].flatMap((token) => token?.symbol ?? []).join('/')
  return outlookLending({
    position: { family: 'morpho-blue', market_id: marketId },
    code: 'morpho_blue',
    title: `Morpho market ${pair}`,
    healthFactor: health,
    liquidatableBecause: findLiquidationReasons(held, health),
    dueAtSec: undefined,
    nowSec: timestampSec,
    value: read.kind === 'position' ? toYieldPosition(read.position) : read.message.replace(/\.$/, ''),
  })
}
