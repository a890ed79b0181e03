import {
  deposit,
  type FeeGrowth,
  principal,
  type TickRange,
  type TokenAmounts,
} from '../../../finance/math/liquidity.ts'
import type { ChangeAmounts } from '../../liquidity/position_history/liquidity_change.ts'
import { earned } from './figures.ts'

/** A position as its pool stores it: liquidity, and the growth of fees within its range at its last change. */
export interface Counters {
  readonly liquidity: bigint
  readonly inside: FeeGrowth
}

/** A change of a position, with its place among the logs of its block. */
interface Change extends TickRange {
  readonly logIndex: number
  readonly liquidity: bigint
}

/** A block in which one position changed: its changes, its pool's events, and the state around it. */
export interface ChangedBlock {
  /** Oldest first. */
  readonly changes: readonly Change[]
  /** Events of the pool in the block, oldest first; those without a price moved fees alone. */
  readonly poolEvents: readonly { readonly logIndex: number; readonly sqrtPriceX96: bigint | undefined }[]
  /** The pool's price before the block; undefined if it was not read. */
  readonly sqrtPriceBeforeX96: bigint | undefined
  readonly before: Counters
  /** Growth within the range after the block; undefined if it was not read. */
  readonly after: FeeGrowth | undefined
}

const NO_AMOUNTS: TokenAmounts = { amount0: 0n, amount1: 0n }

/**
 * Principal and fees of a position's changes in one block, in their order. The pool keeps fee growth at the last change
 * only: if it moved between two changes, their fees cannot be separated and the result is `moved`. `unknown` if a price
 * or a growth that is needed was not read.
 *
 * Principal rounds up if it goes in and down if it goes out; fees are ⌊(inside after − inside before) · L / 2^128⌋.
 *
 * @figure uniswap-v4/amount
 * @source v4-core `Pool.modifyLiquidity`, `Position.update`
 * @proof test/contract/family/uniswap_v4/pnl/lives_test.ts
 */
export function computeChangeAmounts(block: ChangedBlock): readonly ChangeAmounts[] | 'moved' | 'unknown' {
  const { changes, poolEvents, before, after } = block
  const [first, last] = [changes[0], changes.at(-1)]
  if (first === undefined || last === undefined) return []
  if (poolEvents.some(({ logIndex }) => first.logIndex < logIndex && logIndex < last.logIndex)) return 'moved'
  const sqrtPriceX96 = findPriceBefore(poolEvents, first) ?? block.sqrtPriceBeforeX96
  const { liquidity, inside } = before
  const fees = liquidity === 0n ? NO_AMOUNTS : after && earned({ liquidity, from: inside, to: after })
  if (sqrtPriceX96 === undefined || fees === undefined) return 'unknown'
  return changes.map((change) => ({
    principal: computePrincipal(change, sqrtPriceX96),
    fees: change === first ? fees : NO_AMOUNTS,
    sqrtPriceX96,
  }))
}

/** Finds the price after the last event with a price before a change in its block; undefined if there is none. */
export function findPriceBefore(
  poolEvents: ChangedBlock['poolEvents'],
  change: Pick<Change, 'logIndex'>,
): bigint | undefined {
  return poolEvents.findLast((each) => each.logIndex < change.logIndex && each.sqrtPriceX96 !== undefined)?.sqrtPriceX96
}

function computePrincipal({ liquidity, tickLower, tickUpper }: Change, sqrtPriceX96: bigint): TokenAmounts {
  const range = { sqrtPriceX96, tickLower, tickUpper }
  return liquidity > 0n ? deposit({ ...range, liquidity }) : principal({ ...range, liquidity: -liquidity })
}
