import type { Route } from '../../../http/route/route.ts'
import type { FamilyServices } from '../../contract.ts'
import { createPositionHistories, type PositionHistories } from '../../liquidity/histories.ts'
import { POSITION_CHARGES, pnlRoutes } from '../../liquidity/routes.ts'
import { computeHeldAmounts } from '../math/figures.ts'
import type { Position } from '../read/position.ts'
import { createUniswapV4HistoryReader, isPnlImpossible } from '../read/position_history/mod.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import { PROTOCOL } from './protocol.ts'
import { getManager, selectTargets, type V4RoutesOptions } from './targets.ts'

/** Histories of the family's positions, as its routes read them. */
export type UniswapV4Histories = PositionHistories<UniswapV4Deployment, Position>

/** Creates histories over a reader of positions. */
export function createUniswapV4Histories(
  services: Pick<FamilyServices, 'db' | 'history' | 'clock'> & {
    readonly reader: Pick<PositionReader, 'past' | 'readOne'>
  },
): UniswapV4Histories {
  return createPositionHistories({
    ...services,
    histories: createUniswapV4HistoryReader(services),
    getManager,
    getHeldAmounts(position) {
      const { principal, fees: owed } = computeHeldAmounts(position)
      return { principal, owed }
    },
  })
}

/** Creates the routes of one position's profit and loss and of the flows that it is computed from. */
export function positionHistoryRoutes({ chainIds, reader, histories }: V4RoutesOptions): readonly Route[] {
  return pnlRoutes({
    family: 'uniswap-v4',
    operation: 'uniswap_v4',
    protocol: PROTOCOL,
    what: 'Uniswap V4 position',
    chainIds,
    charges: POSITION_CHARGES,
    find: (query, signal) => histories().find({ ...query, targets: selectTargets(reader(), query) }, signal),
  })
}

/**
 * Reads the history of a position that was read, or undefined if its profit and loss can never be computed. Throws
 * `UnavailableError` until the history is complete.
 */
export async function readHistoryIfPossible(
  histories: UniswapV4Histories,
  match: Parameters<UniswapV4Histories['read']>[0],
  signal: AbortSignal,
): Promise<Awaited<ReturnType<UniswapV4Histories['read']>> | undefined> {
  try {
    return await histories.read(match, signal)
  } catch (error) {
    if (isPnlImpossible(error)) return undefined
    throw error
  }
}
