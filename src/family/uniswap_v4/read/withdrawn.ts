import type { Address } from 'viem'
import { type Block, isSameBlock, type PinnedBlock } from '../../../chain/block.ts'
import { readByLens } from '../../../chain/call/lens.ts'
import { readBlock } from '../../../chain/read_block.ts'
import { type Endpoint, IncapableError, RpcRefusedError } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { grouped } from '../../../lib/grouped.ts'
import type { Withdrawal } from '../math/figures.ts'
import { mayChangeWithdrawal } from '../math/hooks.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import type { Position } from './position.ts'
import { readWithdrawals, WITHDRAWAL_LENS, type Withdrawals } from './withdrawal/withdrawal.ts'

/** Where nothing is, no hook is called. */
const NOTHING: Withdrawal = { paid: { amount0: 0n, amount1: 0n } }
const UNSUPPORTED: Withdrawal = { error: 'unsupported' }

/** Whose withdrawals are executed. */
interface WithdrawalsOf {
  readonly owner: Address
  readonly ids: readonly bigint[]
  readonly deployment: UniswapV4Deployment
}

/** Where withdrawals are executed. */
export interface WithdrawalPlace {
  readonly endpoint: Endpoint
  readonly chainId: number
  readonly clock: Clock
}

/** Whether a position's withdrawal must be executed to be known. */
export function needsWithdrawal({ pool, liquidity }: Position): boolean {
  return liquidity > 0n && mayChangeWithdrawal(pool.hooks)
}

/**
 * Executes withdrawals at a pinned block, or at the newest. All are `unsupported`, at no block, if the endpoint does not
 * override code. Throws as `readByLens`.
 */
export async function executeWithdrawals(
  { endpoint, chainId, clock }: WithdrawalPlace,
  { at, ...asked }: WithdrawalsOf & { readonly at: PinnedBlock | undefined },
  signal: AbortSignal,
): Promise<Withdrawals> {
  const reading = { ...WITHDRAWAL_LENS, chainId, at, clock }
  try {
    return await readByLens(endpoint, { ...reading, read: (lens) => readWithdrawals(lens, asked) }, signal)
  } catch (error) {
    if (!(error instanceof RpcRefusedError || error instanceof IncapableError)) throw error
    return { block: undefined, byId: new Map(asked.ids.map((id) => [id, UNSUPPORTED])) }
  }
}

/**
 * What complete withdrawals of those positions pay whose hooks see that, by position, at the block that they were read at;
 * nothing is asked if there are none with liquidity that is not `known`. Throws as `executeWithdrawals`, `UpstreamError` if
 * the block is gone.
 */
export async function withdrawn(
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
  for (const [owner, own] of grouped(open, (position) => position.owner)) {
    const [first] = own
    if (first === undefined) continue
    const asked = { owner, ids: own.map(({ tokenId }) => tokenId), deployment: first.deployment }
    const { byId } = await atBlock(place, { ...asked, block }, signal)
    for (const position of own) found.set(position, byId.get(position.tokenId) ?? UNSUPPORTED)
  }
  return found
}

/** Executes them at the newest block, which is most often that of the positions; else at theirs, by its hash. */
async function atBlock(
  place: WithdrawalPlace,
  { block, ...asked }: WithdrawalsOf & { readonly block: Block },
  signal: AbortSignal,
): Promise<Withdrawals> {
  const { hash } = block
  if (hash !== undefined) return await executeWithdrawals(place, { ...asked, at: { ...block, hash } }, signal)
  const newest = await executeWithdrawals(place, { ...asked, at: undefined }, signal)
  if (newest.block === undefined || isSameBlock(newest.block, block)) return newest
  const { endpoint, chainId } = place
  const header = await readBlock(endpoint, { chainId, number: block.number }, signal)
  if (!isSameBlock(header, block)) throw new UpstreamError('The chain changed before withdrawals were executed')
  return await executeWithdrawals(place, { ...asked, at: header }, signal)
}
