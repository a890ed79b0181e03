import type { Address } from 'viem'
import type { PricedToken } from '../../../../finance/token/priced_token.ts'
import type { FigureForecast, FigureForecaster, FigureValue, WatchTarget } from '../../../watch.ts'
import type { EnumerableDeployment } from '../exchange.ts'
import { positionValue, type WatchedPosition } from '../math/watched.ts'
import type { Position } from '../read/position.ts'
import { createChangeFilter, getPositionKey, listChangedPositions } from './logs.ts'
import type { NamedPositionsRead } from './read_named.ts'

/** Reads positions by manager and id. */
type ReadNamed = (
  names: readonly Pick<Position, 'deployment' | 'tokenId'>[],
  target: WatchTarget,
  signal: AbortSignal,
) => Promise<NamedPositionsRead>

/** Pool and tokens that all positions of a pool share at a block. */
interface PoolNow extends Pick<Position, 'pool' | 'token0' | 'token1'> {}

/** Figures that depend only on the pool's price or tick. */
const BY_PRICE: ReadonlySet<string> = new Set(['in_range', 'is_active', 'distance_to_edge_percentage'])

/**
 * Creates a forecaster of positions' figures from their pools; it reads one position of each pool. It cannot see the
 * earnings of a range that the price crossed and left again within one block.
 */
export function createForecaster(options: {
  readonly deployments: ReadonlyMap<number, readonly EnumerableDeployment[]>
  readonly read: ReadNamed
}): FigureForecaster {
  const { deployments, read } = options
  const getDeployments = (chainId: number) => deployments.get(chainId) ?? []
  return {
    async readShared(memos, target, signal) {
      const samples = new Map<Address, Position>()
      for (const memo of memos as Iterable<WatchedPosition<Position> | undefined>) {
        if (memo !== undefined) samples.set(memo.position.pool.address, memo.position)
      }
      const { positions } = await read([...samples.values()], target, signal)
      return createForecast(new Map([...positions.values()].map((each) => [each.pool.address, each])))
    },
    filters: (chainId) => [createChangeFilter(getDeployments(chainId))],
    toTouchedCheck(logs, chainId) {
      const changed = listChangedPositions(logs, getDeployments(chainId))
      return ({ manager_address = '', token_id = '' }) =>
        changed.size > 0 && changed.has(getPositionKey(manager_address, token_id))
    },
  }
}

function createForecast(pools: ReadonlyMap<Address, PoolNow>): FigureForecast {
  return {
    estimate(memo, figure) {
      const watched = memo as WatchedPosition<Position> | undefined
      const now = watched === undefined ? undefined : pools.get(watched.position.pool.address)
      return watched === undefined || now === undefined ? undefined : forecast(watched, now, figure)
    },
  }
}

/** Computes a figure of an unchanged position with the current state of its pool. */
function forecast({ position, withdrawn }: WatchedPosition<Position>, now: PoolNow, figure: string): FigureValue {
  if (!BY_PRICE.has(figure) && !isComparable(position, now)) return undefined
  const moved = { ...position, pool: now.pool, token0: now.token0, token1: now.token1 }
  return positionValue({ position: moved, withdrawn }, figure)
}

/**
 * False if the price crossed an edge, because the counters there changed; or if a token was priced by a pool, because
 * that takes a read of its own.
 */
function isComparable({ pool, tickLower, tickUpper, ...was }: Position, now: PoolNow): boolean {
  const getSide = (tick: number): string => `${tick < tickLower}${tick < tickUpper}`
  const isPriced = (before: PricedToken, after: PricedToken): boolean =>
    (before.price === undefined) === (after.price === undefined)
  return (
    getSide(pool.tick) === getSide(now.pool.tick) &&
    isPriced(was.token0, now.token0) &&
    isPriced(was.token1, now.token1)
  )
}
