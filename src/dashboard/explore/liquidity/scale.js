import { SOLANA_CHAIN_ID } from '../../lib/catalog.js'

/**
 * Positions in pictures. Only here figures become floating point: a pixel needs no more.
 */

/** Ticks of Uniswap V3 are logarithms of the price to this base. */
const TICK_BASE = 1.0001
/** Ticks beyond which a bound is as good as none: no pool gets there. */
const TICK_FAR = 880_000
/** The same of Orca, whose ticks end at 443,636; its pools of full ranges alone have 32,896 between two. */
const SOLANA_TICK_FAR = 427_648

/**
 * Ticks of a position's range and of the current price, as prices of the first token or, if `inverse`, of the second.
 * @param {{ position: import('../../lib/shapes.d.ts').Position, inverse: boolean }} shown
 */
export function getTicks({ position: { position_state: state }, inverse }) {
  const sign = inverse ? -1 : 1
  const [lower = 0, upper = 0] = [Number(state.tickLower) * sign, Number(state.tickUpper) * sign].sort((a, b) => a - b)
  return { lower, upper, current: Number(state.pool.tick) * sign }
}

/** @param {{ tickLower: string, tickUpper: string, chain: { id: number } }} range */
export function isFullRange({ tickLower, tickUpper, chain }) {
  const far = chain.id === SOLANA_CHAIN_ID ? SOLANA_TICK_FAR : TICK_FAR
  return Number(tickLower) <= -far && Number(tickUpper) >= far
}

/**
 * Where the bounds of a range and the current price stand on a line of `width`, in logarithms of the price, the range
 * in the middle of it and the current price always on it.
 * @param {{ lower: number, upper: number, current: number, width: number }} ticks
 */
export function rangeScale({ lower, upper, current, width }) {
  const span = Math.max(1, upper - lower)
  const from = Math.min(lower - span * 0.35, current - span * 0.12)
  const to = Math.max(upper + span * 0.35, current + span * 0.12)
  return (/** @type {number} */ tick) => ((tick - from) / (to - from)) * width
}

/**
 * How far the price may move until it leaves the range, as a ratio of itself: below and above.
 * @param {{ lower: number, upper: number, current: number }} ticks
 */
export function computePriceRoom({ lower, upper, current }) {
  return { down: 1 - TICK_BASE ** (lower - current), up: TICK_BASE ** (upper - current) - 1 }
}

/**
 * Which part of the weighted collateral may be lost before liquidation: 0 at a health factor of 1, 1 without debt.
 * @param {string} healthFactor
 */
export function computeCushion(healthFactor) {
  if (!/^\d/.test(healthFactor)) return 1
  const factor = Number(healthFactor)
  return factor <= 1 ? 0 : 1 - 1 / factor
}
