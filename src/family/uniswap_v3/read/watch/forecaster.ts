import type { Address } from 'viem'
import type { PricedToken } from '../../../../finance/liquidity/priced_token.ts'
import type { FigureForecast, FigureForecaster, FigureValue, WatchTarget } from '../../../watch.ts'
import { createChangeFilter, getPositionKey, listChangedPositions } from '../../event/watch.ts'
import { positionValue, type WatchedPosition } from '../../math/watched.ts'
import type { UniswapV3Deployment } from '../../table/deployments.ts'
import type { Position } from '../position.ts'
import type { NamedPositionsRead } from './read_named.ts'

/** Reads positions by manager and id. */
type ReadPicked = (
  names: readonly Pick<Position, 'deployment' | 'tokenId'>[],
  place: WatchTarget,
  signal: AbortSignal,
) => Promise<NamedPositionsRead>

/** What all positions of a pool share at a block. */
interface PoolNow extends Pick<Position, 'pool' | 'token0' | 'token1'> {}

/** Figures that need only the pool's price or tick. */
const BY_PRICE: ReadonlySet<string> = new Set(['in_range', 'is_active', 'distance_to_edge_percentage'])

/**
 * Foresees figures of positions by their pools, of each of which one position is read. It cannot see what a range earned
 * if the price went through it and back in one block.
 */
export function createForecaster(options: {
  readonly deployments: ReadonlyMap<number, readonly UniswapV3Deployment[]>
  readonly read: ReadPicked
}): FigureForecaster {
  const { deployments, read } = options
  const here = (chainId: number) => deployments.get(chainId) ?? []
  return {
    async share(memos, place, signal) {
      const samples = new Map<Address, Position>()
      for (const memo of memos as Iterable<WatchedPosition<Position> | undefined>) {
        if (memo !== undefined) samples.set(memo.position.pool.address, memo.position)
      }
      const { positions } = await read([...samples.values()], place, signal)
      return foresightOf(new Map([...positions.values()].map((each) => [each.pool.address, each])))
    },
    filters: (chainId) => [createChangeFilter(here(chainId))],
    touched(logs, chainId) {
      const changed = listChangedPositions(logs, here(chainId))
      return ({ manager_address = '', token_id = '' }) =>
        changed.size > 0 && changed.has(getPositionKey(manager_address, token_id))
    },
  }
}

function foresightOf(pools: ReadonlyMap<Address, PoolNow>): FigureForecast {
  return {
    estimate(memo, figure) {
      const watched = memo as WatchedPosition<Position> | undefined
      const now = watched === undefined ? undefined : pools.get(watched.position.pool.address)
      return watched === undefined || now === undefined ? undefined : foreseen(watched, now, figure)
    },
  }
}

/** The figure of a position that nobody touched, with its pool as it is now. */
function foreseen({ position, withdrawn }: WatchedPosition<Position>, now: PoolNow, figure: string): FigureValue {
  if (!BY_PRICE.has(figure) && !isComparable(position, now)) return undefined
  const moved = { ...position, pool: now.pool, token0: now.token0, token1: now.token1 }
  return positionValue({ position: moved, withdrawn }, figure)
}

/**
 * False if the price crossed an edge, so that the counters there are others; or if a token was priced by a pool, which
 * takes a reading of its own.
 */
function isComparable({ pool, tickLower, tickUpper, ...was }: Position, now: PoolNow): boolean {
  const isSide = (tick: number): string => `${tick < tickLower}${tick < tickUpper}`
  const isPriced = (before: PricedToken, after: PricedToken): boolean =>
    (before.price === undefined) === (after.price === undefined)
  return (
    isSide(pool.tick) === isSide(now.pool.tick) && isPriced(was.token0, now.token0) && isPriced(was.token1, now.token1)
  )
}
