import { checksumAddress } from 'viem'
import type { TokenAmounts } from '../../../finance/math/liquidity.ts'
import { addLiquidityRows, type Holding, type HoldingExclusion } from '../../holding.ts'
import { computeCountedAmounts, computeHeldAmounts, type Withdrawal } from '../math/figures.ts'
import type { Position } from '../read/position.ts'

/**
 * Converts a position to rows of a portfolio, without empty ones: principal and fees of both tokens, or the amounts
 * that a withdrawal pays if the pool's hook is called by withdrawals.
 */
export function toHoldings(position: Position, withdrawal: Withdrawal | undefined): Holding[] {
  const { deployment, tokenId } = position
  const { principal, fees } = computeHeldAmounts(position)
  const manager_address = checksumAddress(deployment.positionManager)
  const rows: Holding[] = []
  const add = (part: string, amounts: TokenAmounts, exclusion: HoldingExclusion | undefined) => {
    const positionRef = { family: 'uniswap-v4', manager_address, token_id: String(tokenId), part }
    addLiquidityRows(rows, position, { amounts, position: positionRef, refused: exclusion })
  }
  if (withdrawal !== undefined && !('error' in withdrawal)) {
    const counted = computeCountedAmounts({ principal, fees }, withdrawal)
    if (counted !== undefined) add('withdrawable', counted, undefined)
    return rows
  }
  const exclusion = withdrawal && EXCLUSIONS[withdrawal.error]
  add('principal', principal, exclusion)
  add('fees', fees, exclusion)
  return rows
}

const EXCLUSIONS: Readonly<Record<'reverts' | 'unsupported', HoldingExclusion>> = {
  reverts: { reason: 'withdrawal_reverts', detail: "The pool's hook does not let it be withdrawn" },
  unsupported: {
    reason: 'withdrawal_reverts',
    detail: "The pool's hook sees withdrawals, and no endpoint shows what one would pay",
  },
}
