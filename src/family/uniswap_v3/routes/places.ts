import type { PnlOutcome } from '../../../finance/liquidity/position_history/pnl.ts'
import { type ManagedRoutesOptions, selectTargets as placesIn, type TargetSelection } from '../../managed_targets.ts'
import type { UniswapV3Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { UniswapV3Lives } from './position_life.ts'

/** What the family's endpoints are made from. */
export type RoutesOptions = ManagedRoutesOptions<PositionReader, UniswapV3Lives>

/** Profit and loss of a position whose flows nobody is to read. */
export const UNTOLD: PnlOutcome = { status: 'pending' }

/** The contract that a position is a token of. */
export const managerOf = ({ manager }: UniswapV3Deployment) => manager

/** The chains to ask, with only one manager if the caller named it. */
export function placesToAsk({ places }: PositionReader, asked: TargetSelection): UniswapV3Place[] {
  return placesIn(places, asked, { exchange: 'Uniswap V3', managerOf })
}
