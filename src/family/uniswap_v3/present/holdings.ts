import { checksumAddress } from 'viem'
import { memoize } from '../../../lib/memoize.ts'
import { addLiquidityRows, type Holding, type HoldingExclusion } from '../../holding.ts'
import { computeHeldAmounts } from '../math/figures.ts'
import type { Position } from '../read/position.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'

/** Positions as rows of a portfolio: what is left of four each, principal and what can be collected of both tokens. */
export function toHoldings(positions: readonly Position[]): Holding[] {
  const rows: Holding[] = []
  for (const position of positions) {
    const { deployment, tokenId, spam } = position
    const { principal, owed } = computeHeldAmounts(position)
    const refused: HoldingExclusion | undefined = spam === undefined ? undefined : { reason: 'spam', detail: spam }
    const named = { family: 'uniswap-v3', manager_address: addressOf(deployment), token_id: String(tokenId) }
    addLiquidityRows(rows, position, { amounts: principal, refused, position: { ...named, part: 'principal' } })
    addLiquidityRows(rows, position, { amounts: owed, refused, position: { ...named, part: 'fees' } })
  }
  return rows
}

const addressOf = memoize(({ manager }: UniswapV3Deployment) => checksumAddress(manager))
