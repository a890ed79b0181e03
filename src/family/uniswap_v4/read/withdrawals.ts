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

/** Where nothing is, no hook is called. */
const NOTHING: Withdrawal = { paid: { amount0: 0n, amount1: 0n } }

/** Where withdrawals are executed. */
interface WithdrawalPlace {
  readonly endpoint: Endpoint
  readonly chainId: number
  readonly clock: Clock
}

/**
 * Executes withdrawals at a block that was read, or at the newest. All are `unsupported`, at no block, if the endpoint
 * does not override code. Throws as `readByLens`.
 */
export async function executeWithdrawals(
  { endpoint, chainId, clock }: WithdrawalPlace,
  asked: WithdrawalQuery,
  signal: AbortSignal,
): Promise<Withdrawals> {
  const read = (lens: LensAccess) => readWithdrawals(lens, asked)
  try {
    return await readByLens(endpoint, { ...WITHDRAWAL_LENS, chainId, clock, read }, signal)
  } catch (error) {
    if (!(error instanceof RpcRefusedError || error instanceof LensUnsupportedError)) throw error
    return { block: undefined, byId: new Map(asked.ids.map((id) => [id, UNSUPPORTED])) }
  }
}

/**
 * What complete withdrawals of those positions pay whose hooks see that, by position, at the block that they were read at;
 * nothing is asked if there are none with liquidity that is not `known`. Throws as `executeWithdrawals`.
 */
export async function readCompleteWithdrawals(
  positions: readonly Position[],
  { block, known, ...place }: WithdrawalPlace & { readonly block: Block; readonly known: Withdrawals['byId'] },
  signal: AbortSignal,
): Promise<ReadonlyMap<Position, Withdrawal>> {
  const found = new Map<Position, Withdrawal>()
  const open: Position[] = []
  for (const position of positions) {
    const withdrawal = known.get(position.tokenId)
    if (withdrawal !== undefined) found.set(position, withdrawal)
    else if (needsWithdrawal(position)) open.push(position)
    else if (mayChangeWithdrawal(position.pool.hooks)) found.set(position, NOTHING)
  }
  for (const [owner, own] of groupBy(open, (position) => position.owner)) {
    const [first] = own
    if (first === undefined) continue
    const asked = { owner, ids: own.map(({ tokenId }) => tokenId), deployment: first.deployment }
    const { byId } = await executeWithdrawals(place, { ...asked, block }, signal)
    for (const position of own) found.set(position, byId.get(position.tokenId) ?? UNSUPPORTED)
  }
  return found
}
