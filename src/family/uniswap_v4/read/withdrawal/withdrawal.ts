import { type Address, type Hex, toFunctionSelector } from 'viem'
import { type Block, isSameBlock } from '../../../../chain/block.ts'
import { decodeLensPage } from '../../../../chain/call/cursor.ts'
import type { LensAccess } from '../../../../chain/call/lens.ts'
import type { LensPage } from '../../../../chain/call/pages.ts'
import { encodeArray, encodeCall } from '../../../../chain/call/words.ts'
import { type CallBlock, RpcRefusedError } from '../../../../chain/rpc/client.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import type { Withdrawal } from '../../math/figures.ts'
import type { UniswapV4Deployment } from '../../table.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

const WITHDRAWALS = toFunctionSelector('withdrawals(address owner, uint256[] ids, address manager)')
/** Outcome of a withdrawal that no endpoint executes. */
export const UNSUPPORTED: Withdrawal = { error: 'unsupported' }
/** Withdrawals in one call: 25 take 6 million gas with ordinary hooks, and seven times as much with the worst. */
const PAGE_SIZE = 25

/** The lens that withdraws. Its code must be at the owner's address too, so only a state override can run it. */
export const WITHDRAWAL_LENS = {
  topic: 'uniswap_v4_withdrawal',
  runtime: LENS_RUNTIME,
  modes: ['override'],
} as const

/** Positions of one owner, and the block to withdraw at; absent: the newest block. */
export interface WithdrawalQuery {
  readonly owner: Address
  readonly ids: readonly bigint[]
  readonly deployment: UniswapV4Deployment
  readonly block?: Block | undefined
}

/** Outcomes of withdrawals at one block. Positions whose hook is not called when liquidity is removed are absent. */
export interface Withdrawals {
  /** Undefined if no call was needed. */
  readonly block: Block | undefined
  readonly byId: ReadonlyMap<bigint, Withdrawal>
}

/**
 * Withdraws each position as its owner, with empty hook data, and reverts it; 25 in a call. Throws `RpcRefusedError` if
 * the endpoint does not override code or allows too little gas for one withdrawal, `UpstreamError` if an answer is of
 * another block.
 */
export async function readWithdrawals(
  { call, observeBlock }: LensAccess,
  { owner, ids, deployment, block }: WithdrawalQuery,
): Promise<Withdrawals> {
  const { positionManager, poolManager } = deployment
  // Replacing the owner's code would replace the manager itself.
  if ([positionManager, poolManager].some((each) => each.toLowerCase() === owner.toLowerCase())) {
    return { block: undefined, byId: new Map(ids.map((id) => [id, UNSUPPORTED])) }
  }
  const byId = new Map<bigint, Withdrawal>()
  let at = block
  for (let start = 0; start < ids.length; ) {
    const pageIds = ids.slice(start, start + PAGE_SIZE)
    const data = encodeCall(WITHDRAWALS, owner, encodeArray(pageIds), positionManager)
    const request = {
      data,
      block: at === undefined ? 'latest' : toCallBlock(at),
      additionalCodes: { [owner]: LENS_RUNTIME },
    } as const
    const page = decodePage(await call({ ...request, isLight: start === 0 }))
    if (at === undefined) observeBlock(page.block)
    at ??= page.block
    if (!isSameBlock(page.block, at)) throw new UpstreamError('The chain changed between two calls')
    if (page.taken === 0) throw new RpcRefusedError(0, 'The endpoint allows too little gas for one withdrawal', 'size')
    for (const [index, outcome] of page.outcomes.entries()) {
      const id = pageIds[index]
      if (id !== undefined && outcome !== undefined) byId.set(id, outcome)
    }
    start += page.taken
  }
  return { block: at, byId }
}

function toCallBlock({ hash, number }: Block): CallBlock {
  return hash === undefined ? number : { hash }
}

function decodePage(answer: Hex): LensPage & { readonly outcomes: readonly (Withdrawal | undefined)[] } {
  const { from, block, taken } = decodeLensPage(answer)
  const outcomes = Array.from({ length: taken }, (): Withdrawal | undefined => {
    const outcome = from.number(1)
    if (outcome === 0) return undefined
    if (outcome === 1) return { paid: { amount0: from.uint(32), amount1: from.uint(32) } }
    if (outcome === 2) return { error: 'reverts' }
    if (outcome === 4) return { error: 'reverts', fees: { amount0: from.uint(32), amount1: from.uint(32) } }
    if (outcome === 3) return UNSUPPORTED
    throw new UpstreamError(`Cannot decode the lens: unknown outcome ${outcome}`)
  })
  return { block, taken, outcomes }
}
