import type { Block } from '../../../chain/block.ts'
import type { Endpoint } from '../../../chain/rpc/client.ts'
import type { Withdrawal } from '../math/figures.ts'
import { mayChangeWithdrawal } from '../math/hooks.ts'
import type { Position } from './position.ts'

/**
 * Executes complete withdrawals of positions at one endpoint, at the block that they were read at, in their order. Throws
 * as `Endpoint.call`.
 */
export type Simulate = (
  positions: readonly Position[],
  at: { readonly endpoint: Endpoint; readonly block: Block },
  signal: AbortSignal,
) => Promise<readonly Withdrawal[]>

/** Where nothing is, no hook is called. */
const NOTHING: Withdrawal = { paid: { amount0: 0n, amount1: 0n } }

/**
 * What complete withdrawals of those positions pay whose hooks see that, by position; nothing is asked if there are none
 * with liquidity. Throws as `Simulate`.
 */
export async function withdrawn(
  positions: readonly Position[],
  { simulate, ...at }: { readonly endpoint: Endpoint; readonly block: Block; readonly simulate: Simulate },
  signal: AbortSignal,
): Promise<ReadonlyMap<Position, Withdrawal>> {
  const found = new Map<Position, Withdrawal>()
  const seen = positions.filter(({ pool }) => mayChangeWithdrawal(pool.hooks))
  const open = seen.filter(({ liquidity }) => liquidity > 0n)
  const paid = open.length === 0 ? [] : await simulate(open, at, signal)
  for (const [index, position] of open.entries()) {
    const withdrawal = paid[index]
    if (withdrawal !== undefined) found.set(position, withdrawal)
  }
  for (const position of seen) if (position.liquidity === 0n) found.set(position, NOTHING)
  return found
}
