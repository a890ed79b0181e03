import type { Block } from '../../../chain/block.ts'
import { type LensAccess, readByLens } from '../../../chain/call/lens.ts'
import { type Endpoint, LensUnsupportedError, RpcRefusedError } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { Withdrawal } from '../math/figures.ts'
import { mayChangeWithdrawal, needsWithdrawal } from '../math/hooks.ts'
import type { Position } from './position.ts'
import {
  readWithdrawals,
  UNSUPPORTED,
  WITHDRAWAL_LENS,
  type WithdrawalQuery,
  type Withdrawals,
} from './withdrawal/withdrawal.ts'

/** Withdrawal of a position without liquidity: it calls no hook and pays nothing. */
const NOTHING: Withdrawal = { paid: { amount0: 0n, amount1: 0n } }

/** The endpoint that executes withdrawals. */
interface WithdrawalTarget {
  readonly endpoint: Endpoint
  readonly chainId: number
  readonly clock: Clock
}

/**
 * Executes withdrawals at the given block, or at the newest. If the endpoint does not override code, all are
 * `unsupported` and the block is undefined. Throws as `readByLens`.
 */
export async function executeWithdrawals(
  { endpoint, chainId, clock }: WithdrawalTarget,
  query: WithdrawalQuery,
  signal: AbortSignal,
): Promise<Withdrawals> {
  const read = (lens: LensAccess) => readWithdrawals(lens, query)
  try {
    return await readByLens(endpoint, { ...WITHDRAWAL_LENS, chainId, clock, read }, signal)
  } catch (error) {
    if (!(error instanceof RpcRefusedError || error instanceof LensUnsupportedError)) throw error
    return { block: undefined, byId: new Map(query.ids.map((id) => [id, UNSUPPORTED])) }
  }
}

/**
 * Payouts of simulated full withdrawals, for positions whose hook runs on withdrawal, by position, at the block of
 * their read. Sends no request if `known` has all that have liquidity. Throws as `executeWithdrawals`.
 */
export async function readCompleteWithdrawals(
  positions: readonly Position[],
  { block, known, ...target }: WithdrawalTarget & { readonly block: Block; readonly known: Withdrawals['byId'] },
  signal: AbortSignal,
): Promise<ReadonlyMap<Position, Withdrawal>> {
  const withdrawals = new Map<Position, Withdrawal>()
  const unexecuted: Position[] = []
  for (const position of positions) {
    const withdrawal = known.get(position.tokenId)
    if (withdrawal !== undefined) withdrawals.set(position, withdrawal)
    else if (needsWithdrawal(position)) unexecuted.push(position)
    else if (mayChangeWithdrawal(position.pool.hooks)) withdrawals.set(position, NOTHING)
  }
  for (const [owner, ownPositions] of groupBy(unexecuted, (position) => position.owner)) {
    const [first] = ownPositions
    if (first === undefined) continue
    const query = { owner, ids: ownPositions.map(({ tokenId }) => tokenId), deployment: first.deployment }
    const { byId } = await executeWithdrawals(target, { ...query, block }, signal)
    for (const position of ownPositions) withdrawals.set(position, byId.get(position.tokenId) ?? UNSUPPORTED)
  }
  return withdrawals
}
