import { checksumAddress } from 'viem'
import type { Pair } from '../../../finance/math/pnl/flow.ts'
import { memoize } from '../../../lib/memoize.ts'
import { addLiquidityRows, type Holding } from '../../holding.ts'
import { splitOwed } from '../math/fees.ts'
import { computeHeldAmounts } from '../math/figures.ts'
import type { Position } from '../read/position.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'

/**
 * Converts positions to rows of a portfolio, without empty rows: the principal of both tokens, and what `collect` pays, as
 * fees and as principal that was withdrawn before. Where `withdrawn` does not tell them apart, both together are `owed`.
 */
export function toHoldings(
  positions: readonly Position[],
  withdrawn: readonly (Pair<bigint> | undefined)[] = [],
): Holding[] {
  const rows: Holding[] = []
  for (const [index, position] of positions.entries()) {
    const { deployment, tokenId } = position
    const { principal, owed } = computeHeldAmounts(position)
    const split = splitOwed(owed, { stored: position.owed, withdrawn: withdrawn[index] })
    const parts = { principal, ...(split ?? { owed }) }
    const ids = { family: 'uniswap-v3', manager_address: getManagerAddress(deployment), token_id: String(tokenId) }
    for (const [part, amounts] of Object.entries(parts)) {
      addLiquidityRows(rows, position, { amounts, position: { ...ids, part } })
    }
  }
  return rows
}

const getManagerAddress = memoize(({ manager }: UniswapV3Deployment) => checksumAddress(manager))
