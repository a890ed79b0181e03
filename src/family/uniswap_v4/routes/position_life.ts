import { zeroAddress } from 'viem'
import type { OwnPrice } from '../../../finance/liquidity/lives/flow_price.ts'
import type { PnlState } from '../../../finance/liquidity/lives/profit.ts'
import type { PricedToken } from '../../../finance/liquidity/priced_token.ts'
import { ifDirect } from '../../../finance/price/price.ts'
import type { Route } from '../../../http/route/route.ts'
import type { FamilyServices } from '../../family.ts'
import { lifeRoutes } from '../../life_routes.ts'
import { createPositionLives, type PositionLives } from '../../position_life.ts'
import { heldIn } from '../math/figures.ts'
import { createUniswapV4LifeReaders, isUntellable } from '../read/life/mod.ts'
import type { Position } from '../read/position.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import { CHARGES } from './credits.ts'
import { managerOf, placesToAsk, type V4RoutesOptions } from './places.ts'

/** Lives of the family's positions, as its routes ask for them. */
export type UniswapV4Lives = PositionLives<UniswapV4Deployment, Position>

/** Lives of positions over a reader of what they are. */
export function createUniswapV4Lives(
  services: Pick<FamilyServices, 'db' | 'history' | 'clock'> & {
    readonly reader: Pick<PositionReader, 'past' | 'readOne'>
  },
): UniswapV4Lives {
  const { reader } = services
  const readers = createUniswapV4LifeReaders(services)
  return createPositionLives({ reader, ...readers, managerOf, stateOf })
}

/** Profit and loss of one position, and the flows that it is counted from. */
export function positionLifeRoutes({ chainIds, reader, lives }: V4RoutesOptions): readonly Route[] {
  return lifeRoutes({
    family: 'uniswap-v4',
    tool: 'uniswap_v4',
    what: 'Uniswap V4 position',
    chainIds,
    charges: CHARGES,
    find: (asked, signal) => lives().find({ ...asked, places: placesToAsk(reader(), asked) }, signal),
  })
}

/**
 * The life of a position that was read, or undefined if it cannot be told, whoever asks and whenever. Throws
 * `UnavailableError` until the history is complete.
 */
export async function lifeIfTold(
  lives: UniswapV4Lives,
  found: Parameters<UniswapV4Lives['of']>[0],
  signal: AbortSignal,
): Promise<Awaited<ReturnType<UniswapV4Lives['of']>> | undefined> {
  try {
    return await lives.of(found, signal)
  } catch (error) {
    if (isUntellable(error)) return undefined
    throw error
  }
}

/** A position as profit and loss counts it. */
function stateOf(position: Position, timestampSec: bigint): PnlState {
  const { principal, fees } = heldIn(position)
  const { token0, token1, liquidity, pool } = position
  return {
    liquidity,
    timestampSec,
    sqrtPriceX96: pool.sqrtPriceX96,
    principal: [principal.amount0, principal.amount1],
    owed: [fees.amount0, fees.amount1],
    own: [ownPriceOf(token0), ownPriceOf(token1)],
  }
}

/** As in the past: wrappers and pools price nothing here, but for the native token, which costs what its wrapper costs. */
function ownPriceOf({ address, price }: PricedToken): OwnPrice {
  if (address === zeroAddress && price?.source === 'wrapper') return { ...price, source: 'wrapper' }
  return ifDirect(price) ?? { because: 'no source of its price is configured or answers' }
}
