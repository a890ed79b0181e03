import type { Route } from '../../../http/route/route.ts'
import type { FamilyServices } from '../../contract.ts'
import { createPositionHistories, type PositionHistories } from '../../liquidity/histories.ts'
import { POSITION_CHARGES, pnlRoutes } from '../../liquidity/routes.ts'
import { computeHeldAmounts } from '../math/figures.ts'
import type { Position } from '../read/position.ts'
import { createUniswapV3HistoryReader } from '../read/position_history/reader.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import { PROTOCOL } from './protocol.ts'
import { getManager, type RoutesOptions, selectTargets } from './targets.ts'

export type UniswapV3Histories = PositionHistories<UniswapV3Deployment, Position>

/** Creates the histories of positions over a reader of their state. */
export function createUniswapV3Histories(
  services: Pick<FamilyServices, 'db' | 'history' | 'clock'> & { readonly reader: PositionReader },
): UniswapV3Histories {
  return createPositionHistories({
    ...services,
    histories: createUniswapV3HistoryReader(services),
    getManager,
    getHeldAmounts: computeHeldAmounts,
  })
}

/** Creates the routes for profit and loss of one position, and for the flows that it is computed from. */
export function positionHistoryRoutes({ chainIds, reader, histories }: RoutesOptions): readonly Route[] {
  return pnlRoutes({
    family: 'uniswap-v3',
    operation: 'uniswap',
    protocol: PROTOCOL,
    what: 'liquidity position',
    chainIds,
    charges: POSITION_CHARGES,
    find: (request, signal) => histories().find({ ...request, targets: selectTargets(reader(), request) }, signal),
  })
}
