import { checksumAddress } from 'viem'
import { type PricedToken, priceOutcomeOf } from '../../../finance/liquidity/priced_token.ts'
import { onceEach } from '../../../lib/once_each.ts'
import type { Holding } from '../../holding.ts'
import { heldIn } from '../math/figures.ts'
import type { Position } from '../read/position.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'

/** A position as rows of a portfolio: what is left of four, principal and what can be collected of both tokens. */
export function holdingsOf(position: Position): Holding[] {
  const { token0, token1 } = position
  const { principal, owed } = heldIn(position)
  return [
    ...row(position, { token: token0, amount: principal.amount0, part: 'principal' }),
    ...row(position, { token: token1, amount: principal.amount1, part: 'principal' }),
    ...row(position, { token: token0, amount: owed.amount0, part: 'fees' }),
    ...row(position, { token: token1, amount: owed.amount1, part: 'fees' }),
  ]
}

function row(
  { deployment, tokenId, spam }: Position,
  held: { readonly token: PricedToken; readonly amount: bigint; readonly part: 'principal' | 'fees' },
): Holding[] {
  const { token, amount, part } = held
  if (amount === 0n) return []
  return [
    {
      kind: 'liquidity',
      token,
      amount,
      position: { family: 'uniswap-v3', manager_address: addressOf(deployment), token_id: String(tokenId), part },
      price: priceOutcomeOf(token),
      ...(spam === undefined ? {} : { refused: { reason: 'spam', detail: spam } }),
    },
  ]
}

const addressOf = onceEach(({ manager }: UniswapV3Deployment) => checksumAddress(manager))
