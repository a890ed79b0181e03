import { type ManagedRoutesOptions, selectTargets as placesIn, type TargetSelection } from '../../managed_targets.ts'
import type { UniswapV4Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import type { UniswapV4Lives } from './position_life.ts'

/** What the family's endpoints are made from. */
export type V4RoutesOptions = ManagedRoutesOptions<PositionReader, UniswapV4Lives>

/** The contract that a position is a token of. */
export const managerOf = ({ positionManager }: UniswapV4Deployment) => positionManager

/** The chains to ask: one if the caller named it, and only those with the manager that he named. */
export function placesToAsk({ places }: PositionReader, asked: TargetSelection): UniswapV4Place[] {
  return placesIn(places, asked, { exchange: 'Uniswap V4', managerOf })
}
