import { type ManagedRoutesOptions, selectTargets as placesIn, type TargetSelection } from '../../managed_targets.ts'
import type { UniswapV4Target } from '../read/queries.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import type { UniswapV4Histories } from './position_history.ts'

/** What the family's endpoints are made from. */
export type V4RoutesOptions = ManagedRoutesOptions<PositionReader, UniswapV4Histories>

/** The contract that a position is a token of. */
export const getManager = ({ positionManager }: UniswapV4Deployment) => positionManager

/** The chains to ask: one if the caller named it, and only those with the manager that he named. */
export function selectTargets({ places }: PositionReader, asked: TargetSelection): UniswapV4Target[] {
  return placesIn(places, asked, { exchange: 'Uniswap V4', managerOf: getManager })
}
