import { checksumAddress } from 'viem'
import { type PricedToken, priceOutcomeOf } from '../../../finance/liquidity/priced_token.ts'
import type { TokenAmounts } from '../../../finance/math/liquidity.ts'
import type { Holding, Refused } from '../../holding.ts'
import { countedOf, heldIn, type Withdrawal } from '../math/figures.ts'
import type { Position } from '../read/position.ts'

/**
 * A position as rows of a portfolio: what is left of four, principal and fees of both tokens; or of two, what a withdrawal
 * pays, if its hook sees withdrawals.
 */
export function holdingsOf(position: Position, withdrawal: Withdrawal | undefined): Holding[] {
  const { principal, fees } = heldIn(position)
  const spam: Refused | undefined = position.spam === undefined ? undefined : { reason: 'spam', detail: position.spam }
  if (withdrawal !== undefined && !('error' in withdrawal)) {
    const counted = countedOf({ principal, fees }, withdrawal)
    return counted === undefined ? [] : rows(position, { part: 'withdrawable', amounts: counted, refused: spam })
  }
  const refused = spam ?? (withdrawal && REFUSED[withdrawal.error])
  return [
    ...rows(position, { part: 'principal', amounts: principal, refused }),
    ...rows(position, { part: 'fees', amounts: fees, refused }),
  ]
}

const REFUSED: Readonly<Record<'reverts' | 'unsupported', Refused>> = {
  reverts: { reason: 'withdrawal_reverts', detail: "The pool's hook does not let it be withdrawn" },
  unsupported: {
    reason: 'withdrawal_reverts',
    detail: "The pool's hook sees withdrawals, and no endpoint shows what one would pay",
  },
}

function rows(
  position: Position,
  held: {
    readonly part: 'principal' | 'fees' | 'withdrawable'
    readonly amounts: TokenAmounts
    readonly refused: Refused | undefined
  },
): Holding[] {
  const { token0, token1, deployment, tokenId } = position
  const { part, amounts, refused } = held
  const manager_address = checksumAddress(deployment.positionManager)
  const row = (token: PricedToken, amount: bigint): Holding[] =>
    amount === 0n
      ? []
      : [
          {
            kind: 'liquidity',
            token,
            amount,
            position: { family: 'uniswap-v4', manager_address, token_id: String(tokenId), part },
            price: priceOutcomeOf(token),
            ...(refused === undefined ? {} : { refused }),
          },
        ]
  return [...row(token0, amounts.amount0), ...row(token1, amounts.amount1)]
}
