import type { Route } from '../../../http/route/route.ts'
import type { FamilyServices } from '../../family.ts'
import { pnlRoutes } from '../../pnl_routes.ts'
import { createPositionHistories, type PositionHistories } from '../../position_history.ts'
import { POSITION_CHARGES } from '../../position_routes.ts'
import { computeHeldAmounts } from '../math/figures.ts'
import type { Position } from '../read/position.ts'
import { createUniswapV4HistoryReader, isPnlImpossible } from '../read/position_history/mod.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import { getManager, selectTargets, type V4RoutesOptions } from './targets.ts'

/** Lives of the family's positions, as its routes ask for them. */
export type UniswapV4Histories = PositionHistories<UniswapV4Deployment, Position>

/** Lives of positions over a reader of what they are. */
export function createUniswapV4Histories(
  services: Pick<FamilyServices, 'db' | 'history' | 'clock'> & {
    readonly reader: Pick<PositionReader, 'past' | 'readOne'>
  },
): UniswapV4Histories {
  return createPositionHistories({
    ...services,
    lives: createUniswapV4HistoryReader(services),
    managerOf: getManager,
    heldIn(position) {
      const { principal, fees: owed } = computeHeldAmounts(position)
      return { principal, owed }
    },
  })
}

/** Profit and loss of one position, and the flows that it is counted from. */
export function positionHistoryRoutes({ chainIds, reader, lives }: V4RoutesOptions): readonly Route[] {
  return pnlRoutes({
    family: 'uniswap-v4',
    tool: 'uniswap_v4',
    what: 'Uniswap V4 position',
    chainIds,
    charges: POSITION_CHARGES,
    find: (asked, signal) => lives().find({ ...asked, places: selectTargets(reader(), asked) }, signal),
  })
}

/**
 * The life of a position that was read, or undefined if it cannot be told, whoever asks and whenever. Throws
 * `UnavailableError` until the history is complete.
 */
export async function readHistoryIfPossible(
  lives: UniswapV4Histories,
  found: Parameters<UniswapV4Histories['of']>[0],
  signal: AbortSignal,
): Promise<Awaited<ReturnType<UniswapV4Histories['of']>> | undefined> {
  try {
    return await lives.of(found, signal)
  } catch (error) {
    if (isPnlImpossible(error)) return undefined
    throw error
  }
}
