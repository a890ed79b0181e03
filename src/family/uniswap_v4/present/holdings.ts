import { checksumAddress } from 'viem'
import type { TokenAmounts } from '../../../finance/math/liquidity.ts'
import { addLiquidityRows, type Holding, type HoldingExclusion } from '../../holding.ts'
import { computeCountedAmounts, computeHeldAmounts, computeTakenFees, type Withdrawal } from '../math/figures.ts'
import type { Position } from '../read/position.ts'

/**
 * Converts a position to rows of a portfolio, without empty ones: principal and fees of both tokens, or the amounts
 * that a withdrawal pays if the pool's hook is called by withdrawals. Behind a hook that forbids removal the fees count
 * that can be taken alone.
 */
export function toHoldings(position: Position, withdrawal: Withdrawal | undefined): Holding[] {
  const { deployment, tokenId } = position
  const { principal, fees } = computeHeldAmounts(position)
  const manager_address = checksumAddress(deployment.positionManager)
  const rows: Holding[] = []
  const add = (
    part: string,
    amounts: TokenAmounts,
    limits: Pick<Holding, 'refused' | 'withdrawable'> = { refused: undefined },
  ) => {
    const positionRef = { family: 'uniswap-v4', manager_address, token_id: String(tokenId), part }
    addLiquidityRows(rows, position, { amounts, position: positionRef, ...limits })
  }
  if (withdrawal === undefined) {
    add('principal', principal)
    add('fees', fees)
  } else if ('paid' in withdrawal) {
    add('withdrawable', computeCountedAmounts({ principal, fees }, withdrawal) ?? withdrawal.paid)
  } else {
    const { error } = withdrawal
    const amount = error === 'reverts' ? 0n : undefined
    const limits = { refused: EXCLUSIONS[error], withdrawable: { amount, limitedBy: 'hook' } } as const
    const taken = computeTakenFees({ fees }, withdrawal.fees)
    add('principal', principal, limits)
    add('fees', taken)
    add('fees', subtractAmounts(fees, taken), limits)
  }
  return rows
}

function subtractAmounts(all: TokenAmounts, part: TokenAmounts): TokenAmounts {
  return { amount0: all.amount0 - part.amount0, amount1: all.amount1 - part.amount1 }
}

const EXCLUSIONS: Readonly<Record<'reverts' | 'unsupported', HoldingExclusion>> = {
  reverts: { reason: 'withdrawal_reverts', detail: "The pool's hook does not let it be withdrawn" },
  unsupported: {
    reason: 'withdrawal_reverts',
    detail: "The pool's hook sees withdrawals, and no endpoint shows what one would pay",
  },
}
