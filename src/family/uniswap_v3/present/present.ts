import { checksumAddress } from 'viem'
import type { TokenAmounts } from '../../../finance/math/liquidity.ts'
import type { PnlOutcome } from '../../liquidity/position_history/pnl.ts'
import {
  formatUsdE6OrNull,
  presentAmounts,
  presentManaged,
  presentOutcome,
  presentPrices,
} from '../../liquidity/present.ts'
import { computeFigures } from '../math/figures.ts'
import type { Position } from '../read/position.ts'

/** Fields of a position that an answer includes. */
interface PresentOptions {
  /** Profit and loss; absent for the state alone, without figures. */
  readonly pnl?: PnlOutcome | undefined
  /** True in the answer about one position, to include the pool's square-root price. */
  readonly hasSqrtPrice: boolean
}

/** Presents a position, with its figures if `pnl` is given. */
export function presentPosition(position: Position, options: PresentOptions) {
  const { deployment, pool } = position
  return {
    ...presentManaged(position, {
      manager: deployment.manager,
      pool: {
        id: checksumAddress(pool.address),
        tick: pool.tick.toString(),
        feeTier: pool.fee.toString(),
        ...(options.hasSqrtPrice ? { sqrtPrice: pool.sqrtPriceX96.toString() } : {}),
      },
      code: deployment.code,
    }),
    ...(options.pnl === undefined ? {} : presentFigures(position, options.pnl)),
  }
}

function presentFigures(position: Position, pnl: PnlOutcome) {
  const { token0, token1 } = position
  const { amounts, fees, withdrawn, inRange, prices, inverse, usd } = computeFigures(position, pnl.withdrawn)
  const present = ({ amount0, amount1 }: TokenAmounts) => presentAmounts([amount0, amount1], [token0, token1])
  return {
    amounts: present(amounts),
    uncollected_fees: fees === undefined ? null : present(fees),
    withdrawn_principal: withdrawn === undefined ? null : present(withdrawn),
    in_range: inRange,
    prices: { ...prices, inverse },
    usd: {
      ...presentPrices(position),
      amounts: formatUsdE6OrNull(usd?.amountsE6),
      uncollected_fees: formatUsdE6OrNull(usd?.feesE6),
      withdrawn_principal: formatUsdE6OrNull(usd?.withdrawnE6),
      total: formatUsdE6OrNull(usd?.totalE6),
    },
    ...presentOutcome(pnl, position),
  }
}
