import type { ChangeAmounts } from '../../../finance/liquidity/position_history/liquidity_change.ts'
import {
  deposit,
  type FeeGrowth,
  principal,
  type TickRange,
  type TokenAmounts,
} from '../../../finance/math/liquidity.ts'
import { earned } from './fees.ts'

/** What a pool keeps about a position: its liquidity, and the growth of fees within its range at its last change. */
export interface Counters {
  readonly liquidity: bigint
  readonly inside: FeeGrowth
}

/** A change of a position among everything that its block did to its pool. */
interface Change extends TickRange {
  readonly logIndex: number
  readonly liquidity: bigint
}

/** What is known about a block in which one position changed. */
export interface ChangedBlock {
  /** Oldest first. */
  readonly changes: readonly Change[]
  /** Moves of the pool in the block, oldest first; those without a price moved fees alone. */
  readonly moves: readonly { readonly logIndex: number; readonly sqrtPriceX96: bigint | undefined }[]
  /** The pool's price before the block; undefined if nobody was asked. */
  readonly sqrtPriceBeforeX96: bigint | undefined
  readonly before: Counters
  /** Growth within the range after the block; undefined if nobody was asked. */
  readonly after: FeeGrowth | undefined
}

const NOTHING: TokenAmounts = { amount0: 0n, amount1: 0n }

/**
 * What the changes of a position in a block were worth, in their order. The pool keeps the growth at the last one only: if
 * fees moved between two of them nobody can tell what each paid, which is `moved`. `unknown` if a price or a growth that
 * is needed was not asked for.
 *
 * Principal rounds up if it goes in and down if it goes out; fees are ⌊(inside after − inside before) · L / 2^128⌋.
 *
 * @figure uniswap-v4/amount
 * @source v4-core `Pool.modifyLiquidity`, `Position.update`
 * @proof test/family/uniswap_v4/pnl/lives_test.ts
 */
export function computeChangeAmounts(block: ChangedBlock): readonly ChangeAmounts[] | 'moved' | 'unknown' {
  const { changes, moves, before, after } = block
  const [first, last] = [changes[0], changes.at(-1)]
  if (first === undefined || last === undefined) return []
  if (moves.some(({ logIndex }) => first.logIndex < logIndex && logIndex < last.logIndex)) return 'moved'
  const sqrtPriceX96 = findPriceBefore(moves, first) ?? block.sqrtPriceBeforeX96
  const { liquidity, inside } = before
  const fees = liquidity === 0n ? NOTHING : after && earned({ liquidity, from: inside, to: after })
  if (sqrtPriceX96 === undefined || fees === undefined) return 'unknown'
  return changes.map((change) => ({
    principal: principalOf(change, sqrtPriceX96),
    fees: change === first ? fees : NOTHING,
    sqrtPriceX96,
  }))
}

/** The price that the last move before a change in its block says; undefined if none does. */
export function findPriceBefore(moves: ChangedBlock['moves'], change: Pick<Change, 'logIndex'>): bigint | undefined {
  return moves.findLast((each) => each.logIndex < change.logIndex && each.sqrtPriceX96 !== undefined)?.sqrtPriceX96
}

function principalOf({ liquidity, tickLower, tickUpper }: Change, sqrtPriceX96: bigint): TokenAmounts {
  const range = { sqrtPriceX96, tickLower, tickUpper }
  return liquidity > 0n ? deposit({ ...range, liquidity }) : principal({ ...range, liquidity: -liquidity })
}
