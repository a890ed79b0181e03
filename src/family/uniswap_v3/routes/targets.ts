import type { PnlOutcome } from '../../../finance/liquidity/position_history/pnl.ts'
import { type ManagedRoutesOptions, selectTargets as placesIn, type TargetSelection } from '../../managed_targets.ts'
import type { UniswapV3Target } from '../read/queries.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { UniswapV3Histories } from './position_history.ts'

/** What the family's endpoints are made from. */
export type RoutesOptions = ManagedRoutesOptions<PositionReader, UniswapV3Histories>

/** Profit and loss of a position whose flows nobody is to read. */
export const PENDING_PNL: PnlOutcome = { status: 'pending' }

/** The contract that a position is a token of. */
export const getManager = ({ manager }: UniswapV3Deployment) => manager

/** The chains to ask, with only one manager if the caller named it. */
export function selectTargets({ places }: PositionReader, asked: TargetSelection): UniswapV3Target[] {
  return placesIn(places, asked, { exchange: 'Uniswap V3', managerOf: getManager })
}
