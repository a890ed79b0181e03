import { checksumAddress, zeroAddress } from 'viem'
import type { TokenAmounts } from '../../../finance/math/liquidity.ts'
import type { PnlOutcome } from '../../liquidity/position_history/pnl.ts'
import {
  formatUsdE6OrNull,
  presentAmounts,
  presentManaged,
  presentOutcome,
  presentPrices,
} from '../../liquidity/present.ts'
import { computeFigures, type Withdrawal } from '../math/figures.ts'
import { getHookPermissions, isDynamicFee } from '../math/hooks.ts'
import type { FullPosition, Position, V4Pool } from '../read/position.ts'

/** A position with everything that `full=true` shows. */
interface PresentableFull extends FullPosition {
  readonly pnl: PnlOutcome
}

/** Presents a position: its state, and with `full` its figures too. */
export function presentPosition(
  position: Position,
  options: { readonly sqrtPrice: boolean; readonly full?: PresentableFull | undefined },
) {
  const { deployment, pool } = position
  const { sqrtPrice, full } = options
  return {
    ...presentManaged(position, {
      manager: deployment.positionManager,
      pool: { ...presentPool(pool), ...(sqrtPrice ? { sqrtPrice: pool.sqrtPriceX96.toString() } : {}) },
      code: 'uniswap_v4',
    }),
    ...(full === undefined ? {} : presentFigures(full)),
  }
}

function presentPool(pool: V4Pool) {
  const { id, tick, fee, protocolFee, tickSpacing, hooks } = pool
  return {
    id,
    tick: tick.toString(),
    feeTier: fee.toString(),
    isDynamicFee: isDynamicFee(pool),
    protocolFee: protocolFee.toString(),
    tickSpacing: tickSpacing.toString(),
    hooks:
      hooks === zeroAddress ? null : { address: checksumAddress(hooks), permissions: [...getHookPermissions(hooks)] },
  }
}

function presentFigures({ position, withdrawal, pnl }: PresentableFull) {
  const { token0, token1 } = position
  const { amounts, fees, inRange, prices, inverse, usd } = computeFigures(position, withdrawal)
  const present = ({ amount0, amount1 }: TokenAmounts) => presentAmounts([amount0, amount1], [token0, token1])
  return {
    amounts: present(amounts),
    uncollected_fees: present(fees),
    ...(withdrawal === undefined ? {} : presentWithdrawal(withdrawal, present)),
    in_range: inRange,
    prices: { ...prices, inverse },
    usd: {
      ...presentPrices(position),
      amounts: formatUsdE6OrNull(usd?.amountsE6),
      uncollected_fees: formatUsdE6OrNull(usd?.feesE6),
      total: formatUsdE6OrNull(usd?.totalE6),
    },
    ...presentOutcome(pnl, position),
  }
}

function presentWithdrawal(withdrawal: Withdrawal, present: (paid: TokenAmounts) => ReturnType<typeof presentAmounts>) {
  return 'error' in withdrawal
    ? { withdrawable: null, withdrawable_error: withdrawal.error }
    : { withdrawable: present(withdrawal.paid), withdrawable_error: null }
}
