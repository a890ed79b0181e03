import type { Pool } from './uniswap_v3_calls.ts'

const TICK_MAX = 887272

/** A range in ticks from where the pool was created, widened to the pool's spacing and cut at the ends of the line. */
export function rangeAround(
  pool: Pick<Pool, 'startTick' | 'tickSpacing'>,
  fromTicks: number,
  toTicks: number,
): { readonly tickLower: number; readonly tickUpper: number } {
  const lower = aligned(pool, pool.startTick + fromTicks)
  const upper = aligned(pool, pool.startTick + toTicks)
  return { tickLower: lower, tickUpper: upper > lower ? upper : lower + pool.tickSpacing }
}

/** The widest range a pool allows. */
export function fullRange({ tickSpacing }: Pick<Pool, 'tickSpacing'>): {
  readonly tickLower: number
  readonly tickUpper: number
} {
  const end = Math.floor(TICK_MAX / tickSpacing) * tickSpacing
  return { tickLower: -end, tickUpper: end }
}

function aligned({ tickSpacing }: Pick<Pool, 'tickSpacing'>, tick: number): number {
  const end = Math.floor(TICK_MAX / tickSpacing) * tickSpacing
  return Math.min(Math.max(Math.floor(tick / tickSpacing) * tickSpacing, -end), end - tickSpacing)
}
