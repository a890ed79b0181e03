import type { Route } from '../../../http/route/route.ts'
import type { FamilyServices } from '../../family.ts'
import { pnlRoutes } from '../../pnl_routes.ts'
import { createPositionHistories, type PositionHistories } from '../../position_history.ts'
import { POSITION_CHARGES } from '../../position_routes.ts'
import { heldIn } from '../math/figures.ts'
import { createUniswapV3LifeReader } from '../read/life/lives.ts'
import type { Position } from '../read/position.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import { managerOf, placesToAsk, type RoutesOptions } from './places.ts'

export type UniswapV3Lives = PositionHistories<UniswapV3Deployment, Position>

/** Lives of positions over a reader of what they are. */
export function createUniswapV3Lives(
  services: Pick<FamilyServices, 'db' | 'history' | 'clock'> & { readonly reader: PositionReader },
): UniswapV3Lives {
  return createPositionHistories({ ...services, lives: createUniswapV3LifeReader(services), managerOf, heldIn })
}

/** Profit and loss of one position, and the flows that it is counted from. */
export function positionLifeRoutes({ chainIds, reader, lives }: RoutesOptions): readonly Route[] {
  return pnlRoutes({
    family: 'uniswap-v3',
    tool: 'uniswap',
    what: 'liquidity position',
    chainIds,
    charges: POSITION_CHARGES,
    find: (asked, signal) => lives().find({ ...asked, places: placesToAsk(reader(), asked) }, signal),
  })
}
