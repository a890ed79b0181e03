import { checksumAddress } from 'viem'
import type { Outcome } from '../../../finance/liquidity/lives/profit.ts'
import {
  millionthsOrNull,
  presentAmounts,
  presentPnl,
  presentPrices,
  presentToken,
} from '../../../finance/liquidity/present.ts'
import type { TokenAmounts } from '../../../finance/math/liquidity.ts'
import { figuresOf } from '../math/figures.ts'
import type { Position } from '../read/position.ts'

/** Which of a position's fields an answer has. */
interface PresentOptions {
  /** Its profit and loss; given for all of its figures, absent for its state alone. */
  readonly pnl?: Outcome | undefined
  /** Square-root price of the pool, only in the answer about one position. */
  readonly sqrtPrice: boolean
}

/** A position in an answer; with `pnl`, its figures too. */
export function presentPosition(position: Position, options: PresentOptions) {
  const { tokenId, chainId, deployment, owner, liquidity, pool } = position
  const wallet = checksumAddress(owner)
  return {
    token_id: tokenId.toString(),
    chain_id: chainId,
    manager_address: checksumAddress(deployment.manager),
    wallet,
    is_active: liquidity > 0n,
    position_state: {
      id: tokenId.toString(),
      owner: wallet,
      liquidity: liquidity.toString(),
      tickLower: position.tickLower.toString(),
      tickUpper: position.tickUpper.toString(),
      token0: presentToken(position.token0),
      token1: presentToken(position.token1),
      pool: {
        id: checksumAddress(pool.address),
        tick: pool.tick.toString(),
        feeTier: pool.fee.toString(),
        ...(options.sqrtPrice ? { sqrtPrice: pool.sqrtPriceX96.toString() } : {}),
      },
      chain: { id: chainId },
      protocol: { code: deployment.code },
    },
    ...(options.pnl === undefined ? {} : presentFigures(position, options.pnl)),
  }
}

function presentFigures(position: Position, pnl: Outcome) {
  const { token0, token1 } = position
  const { amounts, fees, withdrawn, inRange, prices, inverse, usd } = figuresOf(position, pnl.withdrawn)
  const present = ({ amount0, amount1 }: TokenAmounts) => presentAmounts([amount0, amount1], [token0, token1])
  return {
    amounts: present(amounts),
    uncollected_fees: fees === undefined ? null : present(fees),
    withdrawn_principal: withdrawn === undefined ? null : present(withdrawn),
    in_range: inRange,
    prices: { ...prices, inverse },
    usd: {
      ...presentPrices(position),
      amounts: millionthsOrNull(usd?.amountsE6),
      uncollected_fees: millionthsOrNull(usd?.feesE6),
      withdrawn_principal: millionthsOrNull(usd?.withdrawnE6),
      total: millionthsOrNull(usd?.totalE6),
    },
    pnl: pnl.status === 'ready' ? presentPnl(pnl.profit, position) : null,
    pnl_status: pnl.status,
  }
}
