import {
  type ManagedRoutesOptions,
  selectTargets as selectManagedTargets,
  type TargetSelection,
} from '../../liquidity/targets.ts'
import type { UniswapV4Target } from '../read/queries.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import type { UniswapV4Histories } from './position_history.ts'

/** Dependencies of the family's routes. */
export type V4RoutesOptions = ManagedRoutesOptions<PositionReader, UniswapV4Histories>

/** Returns the contract that a position is a token of. */
export const getManager = ({ positionManager }: UniswapV4Deployment) => positionManager

/** Selects the chains to read: the named one, or those with the named manager, or all. */
export function selectTargets({ targets }: PositionReader, selection: TargetSelection): UniswapV4Target[] {
  return selectManagedTargets(targets, selection, { exchange: 'Uniswap V4', getManager })
}
