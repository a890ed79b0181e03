import { checksumAddress } from 'viem'
import { type PricedToken, priceOutcomeOf } from '../../../finance/liquidity/priced_token.ts'
import type { TokenAmounts } from '../../../finance/math/liquidity.ts'
import { onceEach } from '../../../lib/once_each.ts'
import type { Holding, Refused } from '../../holding.ts'
import { heldIn } from '../math/figures.ts'
import type { Position } from '../read/position.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'

/** Positions as rows of a portfolio: what is left of four each, principal and what can be collected of both tokens. */
export function holdingsOf(positions: readonly Position[]): Holding[] {
  const rows: Holding[] = []
  for (const position of positions) {
    const { principal, owed } = heldIn(position)
    addRows(rows, position, { amounts: principal, part: 'principal' })
    addRows(rows, position, { amounts: owed, part: 'fees' })
  }
  return rows
}

function addRows(
  rows: Holding[],
  { deployment, tokenId, token0, token1, spam }: Position,
  { amounts: { amount0, amount1 }, part }: { readonly amounts: TokenAmounts; readonly part: 'principal' | 'fees' },
): void {
  if (amount0 === 0n && amount1 === 0n) return
  const position = {
    family: 'uniswap-v3',
    manager_address: addressOf(deployment),
    token_id: String(tokenId),
    part,
  }
  const refused: Refused | undefined = spam === undefined ? undefined : { reason: 'spam', detail: spam }
  const add = (token: PricedToken, amount: bigint) => {
    if (amount > 0n) rows.push({ kind: 'liquidity', token, amount, position, price: priceOutcomeOf(token), refused })
  }
  add(token0, amount0)
  add(token1, amount1)
}

const addressOf = onceEach(({ manager }: UniswapV3Deployment) => checksumAddress(manager))
