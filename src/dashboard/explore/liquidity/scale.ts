import { SOLANA_CHAIN_ID } from '../../lib/catalog.ts'
import type { Position } from '../../lib/shapes.ts'

/** Geometry of position pictures, in floating point: pixels need no exact figures. */

/** Base of Uniswap V3's ticks, which are logarithms of the price. */
const TICK_BASE = 1.0001
/** Bounds beyond this tick count as unbounded: no pool reaches them. */
const TICK_FAR = 880_000
/** The same for Orca: ticks end at 443,636, and pools for full ranges only have a tick spacing of 32,896. */
const SOLANA_TICK_FAR = 427_648

interface ShownPosition {
  readonly position: Position
  readonly inverse: boolean
}

/**
 * Returns the ticks of a position's range and of the current price, for prices of the first token or, if `inverse`, of the
 * second.
 */
export function getTicks({ position: { position_state: state }, inverse }: ShownPosition) {
  const sign = inverse ? -1 : 1
  const [lower = 0, upper = 0] = [Number(state.tickLower) * sign, Number(state.tickUpper) * sign].sort((a, b) => a - b)
  return { lower, upper, current: Number(state.pool.tick) * sign }
}

interface TickRange {
  readonly tickLower: string
  readonly tickUpper: string
  readonly chain: { id: number }
}

/** True if a range reaches as far as the ticks of its chain do. */
export function isFullRange({ tickLower, tickUpper, chain }: TickRange) {
  const far = chain.id === SOLANA_CHAIN_ID ? SOLANA_TICK_FAR : TICK_FAR
  return Number(tickLower) <= -far && Number(tickUpper) >= far
}

interface ScaledRange {
  readonly lower: number
  readonly upper: number
  readonly current: number
  readonly width: number
}

/**
 * Returns a function from a tick to its x on an axis of `width`, logarithmic in the price: the range is in the middle, and
 * the current price is always on the axis.
 */
export function rangeScale({ lower, upper, current, width }: ScaledRange) {
  const span = Math.max(1, upper - lower)
  const from = Math.min(lower - span * 0.35, current - span * 0.12)
  const to = Math.max(upper + span * 0.35, current + span * 0.12)
  return (tick: number) => ((tick - from) / (to - from)) * width
}

interface PriceRange {
  readonly lower: number
  readonly upper: number
  readonly current: number
}

/** Computes how far the price may fall and rise within the range, as ratios of the current price. */
export function computePriceRoom({ lower, upper, current }: PriceRange) {
  return { down: 1 - TICK_BASE ** (lower - current), up: TICK_BASE ** (upper - current) - 1 }
}

/**
 * Computes the share of the weighted collateral that may be lost before liquidation: 0 at a health factor of 1, 1 without
 * debt.
 */
export function computeCushion(healthFactor: string) {
  if (!/^\d/.test(healthFactor)) return 1
  const factor = Number(healthFactor)
  return factor <= 1 ? 0 : 1 - 1 / factor
}
