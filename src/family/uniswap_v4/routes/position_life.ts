import { zeroAddress } from 'viem'
import type { OwnPrice } from '../../../finance/liquidity/flow_price.ts'
import type { PricedToken } from '../../../finance/liquidity/priced_token.ts'
import type { PnlState } from '../../../finance/liquidity/profit.ts'
import { ifDirect } from '../../../finance/price/price.ts'
import type { Charge } from '../../../http/route/charge.ts'
import type { Route } from '../../../http/route/route.ts'
import type { FamilyServices } from '../../family.ts'
import { type AskedPosition, lifeRoutes } from '../../life_routes.ts'
import { createPositionLives, type PositionLives } from '../../position_life.ts'
import { heldIn } from '../math/figures.ts'
import { createUniswapV4LifeReaders } from '../read/life/mod.ts'
import type { Position } from '../read/position.ts'
import type { UniswapV4Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'

/** Lives of the family's positions, as its routes ask for them. */
export type UniswapV4Lives = PositionLives<UniswapV4Deployment, Position>

/** What the routes about a life cost. */
const LIFE_CHARGES = {
  pnl: { credits: 8, instead: [{ parameter: 'status', value: 'inactive', credits: 4 }] },
  events: { credits: 1 },
} satisfies Record<string, Charge>

/** Lives of positions over a reader of what they are. */
export function createUniswapV4Lives(
  services: Pick<FamilyServices, 'db' | 'history' | 'clock'> & {
    readonly reader: Pick<PositionReader, 'past' | 'readOne'>
  },
): UniswapV4Lives {
  const { reader } = services
  const readers = createUniswapV4LifeReaders(services)
  return createPositionLives({ reader, ...readers, managerOf: ({ positionManager }) => positionManager, stateOf })
}

/** Profit and loss of one position, and the flows that it is counted from. */
export function positionLifeRoutes(options: {
  readonly chainIds: readonly number[]
  readonly lives: () => UniswapV4Lives
  /** The chains to ask. Throws `CodedError`. */
  readonly placesOf: (asked: AskedPosition) => readonly UniswapV4Place[]
}): readonly Route[] {
  const { chainIds, lives, placesOf } = options
  return lifeRoutes({
    family: 'uniswap-v4',
    tool: 'uniswap_v4',
    what: 'Uniswap V4 position',
    chainIds,
    charges: LIFE_CHARGES,
    find: (asked, signal) => lives().find({ ...asked, places: placesOf(asked) }, signal),
  })
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
