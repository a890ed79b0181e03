import type { PnlOutcome } from '../../liquidity/position_history/pnl.ts'
import {
  type ManagedRoutesOptions,
  selectTargets as selectManagedTargets,
  type TargetSelection,
} from '../../liquidity/targets.ts'
import type { UniswapV3Target } from '../read/queries.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { UniswapV3Histories } from './position_history.ts'

/** Services of the family's routes. */
export type RoutesOptions = ManagedRoutesOptions<PositionReader, UniswapV3Histories>

/** PnL placeholder when history is not read. */
export const PENDING_PNL: PnlOutcome = { status: 'pending' }

/** Gets the contract that a position is a token of. */
export const getManager = ({ manager }: UniswapV3Deployment) => manager

/** Selects the chains to read, with only one manager if the request names it. */
export function selectTargets({ targets }: PositionReader, selection: TargetSelection): UniswapV3Target[] {
  return selectManagedTargets(targets, selection, { exchange: 'Uniswap V3', getManager })
}
