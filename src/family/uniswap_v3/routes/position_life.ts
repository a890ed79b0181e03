import type { PnlState } from '../../../finance/liquidity/lives/profit.ts'
import type { TimedLives } from '../../../finance/liquidity/lives/timed_lives.ts'
import { ifDirect } from '../../../finance/price/price.ts'
import type { Route } from '../../../http/route/route.ts'
import { lifeRoutes } from '../../life_routes.ts'
import { createPositionLives, type PositionLives } from '../../position_life.ts'
import { figuresOf } from '../math/figures.ts'
import type { UniswapV3LifeQuestion, UniswapV3LifeReader } from '../read/life/lives.ts'
import type { Position } from '../read/position.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import { CHARGES } from './credits.ts'
import { managerOf, placesToAsk, type RoutesOptions } from './places.ts'

export type UniswapV3Lives = PositionLives<UniswapV3Deployment, Position>

/** Lives of positions over a reader of what they are. */
export function createUniswapV3Lives(services: {
  readonly reader: PositionReader
  readonly lives: UniswapV3LifeReader
  readonly timedLives: TimedLives<UniswapV3LifeQuestion>
}): UniswapV3Lives {
  return createPositionLives({ ...services, managerOf, stateOf })
}

/** Profit and loss of one position, and the flows that it is counted from. */
export function positionLifeRoutes({ chainIds, reader, lives }: RoutesOptions): readonly Route[] {
  return lifeRoutes({
    family: 'uniswap-v3',
    tool: 'uniswap',
    what: 'liquidity position',
    chainIds,
    charges: CHARGES,
    find: (asked, signal) => lives().find({ ...asked, places: placesToAsk(reader(), asked) }, signal),
  })
}

/** A position as profit and loss counts it. */
function stateOf(position: Position, timestampSec: bigint): PnlState {
  const { amounts, owed } = figuresOf(position)
  const { token0, token1, liquidity, pool } = position
  const unpriced = { because: 'no source of its price is configured or answers' }
  return {
    liquidity,
    timestampSec,
    sqrtPriceX96: pool.sqrtPriceX96,
    principal: [amounts.amount0, amounts.amount1],
    owed: [owed.amount0, owed.amount1],
    // As in the past: wrappers and pools price nothing here.
    own: [ifDirect(token0.price) ?? unpriced, ifDirect(token1.price) ?? unpriced],
  }
}
