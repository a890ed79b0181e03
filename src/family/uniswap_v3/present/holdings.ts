import { checksumAddress } from 'viem'
import { memoize } from '../../../lib/memoize.ts'
import { addLiquidityRows, type Holding } from '../../holding.ts'
import { computeHeldAmounts } from '../math/figures.ts'
import type { Position } from '../read/position.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'

/** Converts positions to rows of a portfolio: principal and collectable amounts of both tokens, without empty rows. */
export function toHoldings(positions: readonly Position[]): Holding[] {
  const rows: Holding[] = []
  for (const position of positions) {
    const { deployment, tokenId } = position
    const { principal, owed } = computeHeldAmounts(position)
    const ids = { family: 'uniswap-v3', manager_address: getManagerAddress(deployment), token_id: String(tokenId) }
    addLiquidityRows(rows, position, { amounts: principal, position: { ...ids, part: 'principal' } })
    addLiquidityRows(rows, position, { amounts: owed, position: { ...ids, part: 'fees' } })
  }
  return rows
}

const getManagerAddress = memoize(({ manager }: UniswapV3Deployment) => checksumAddress(manager))
